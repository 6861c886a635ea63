/** Loads what only some plans have, in groups: a plan with a number needs no code for maps. */

import { must } from "./errors.js";

type RareKinds = typeof import("./rare_kinds.js");

const DISTANCES = /"kind":"((planar-)?geometric|grid)"|"metric":/;
const MAPS = /"maps":/;
const NUMBERS = /"kind":"(duchi|piecewise|hybrid|number)"/;
const KEPT = /"kind":"(bit-flip|(hashed-)?memoized)/;
const POOLED = /"kind":"pooled"/;
const FAKED = /"kind":"faked"|"weights":/;
const TABLES = /"kind":"product"|"known":/;
const QUESTIONS = /"(only_if|several|answers)":|"unit":"(whole|month|year)"|"kind":"product"/;

/** The kinds that occur in a canonical text; all others are refused as unknown. */
export const loadRareKinds = async (text: string): Promise<RareKinds> => {
  const [distances, maps, numbers, kept, pool, faked, questions, tables] = await Promise.all([
    DISTANCES.test(text) ? import("./distance_kinds.js") : null,
    MAPS.test(text) ? import("./map_kinds.js") : null,
    NUMBERS.test(text) ? import("./number_kinds.js") : null,
    KEPT.test(text) ? import("./kept_kinds.js") : null,
    POOLED.test(text) ? import("./pooled.js") : null,
    FAKED.test(text) ? import("./faked_kinds.js") : null,
    QUESTIONS.test(text) ? import("./asked_kinds.js") : null,
    TABLES.test(text) ? import("./table_kinds.js") : null,
  ]);
  return {
    ...UNNEEDED,
    ...distances,
    ...maps,
    ...faked,
    ...questions,
    ...tables,
    mechanisms: {
      ...distances?.mechanisms,
      ...numbers?.mechanisms,
      ...kept?.mechanisms,
      ...pool?.mechanisms,
    },
    domains: { ...distances?.domains, ...numbers?.domains, ...tables?.domains },
  };
};

const refuse = (): never => {
  must(false, "type", () => "the plan has a field that nothing in it needs");
};

/** What stands for a part that the plan does not need. */
const UNNEEDED = {
  records: {},
  readMaps: refuse,
  statedMetric: refuse,
  verifiedMetric: () => undefined, // nothing with distances was read
  boundGuess: refuse,
  boundRelated: refuse,
  counted: refuse,
  guessFactor: refuse,
  readKnown: refuse,
  checkTables: () => undefined, // no table was read
  checkQuestions: refuse,
  encodeAnswers: refuse,
};
