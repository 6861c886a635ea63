/** Loads what only some plans have, in groups: a plan with a number needs no code for maps. */

import { must } from "./errors.js";
import type { RareKinds } from "./rare_kinds.js";

const DISTANCES = /"kind":"((planar-)?geometric|grid)"|"metric":/;
const MAPS = /"maps":/;
const NUMBERS = /"kind":"(duchi|piecewise|hybrid|number)"/;
const KEPT = /"kind":"(bit-flip|(hashed-)?memoized)/;
const HASHED = /"kind":"(pooled|linear|text|code)"/;
const FAKED = /"kind":"faked"/;
const WEIGHTED = /"weights":/;
const TABLES = /"kind":"(product|coarse)"|"known":/;
const QUESTIONS = /"(only_if|several|answers)":|"unit":"(whole|month|year)"|"kind":"(product|coarse)"/;

/** The kinds that occur in a canonical text; all others are refused as unknown. */
export const loadRareKinds = async (text: string): Promise<RareKinds> => {
  const [distances, maps, numbers, kept, hashes, faked, weights, questions, tables] = await Promise.all([
    DISTANCES.test(text) ? import("./distance_kinds.js") : null,
    MAPS.test(text) ? import("./map_kinds.js") : null,
    NUMBERS.test(text) ? import("./number_kinds.js") : null,
    KEPT.test(text) ? import("./kept_kinds.js") : null,
    HASHED.test(text) ? import("./hash_kinds.js") : null,
    FAKED.test(text) ? import("./faked_kinds.js") : null,
    WEIGHTED.test(text) ? import("./weighted.js") : null,
    QUESTIONS.test(text) ? import("./asked_kinds.js") : null,
    TABLES.test(text) ? import("./table_kinds.js") : null,
  ]);
  return {
    ...UNNEEDED,
    ...distances,
    ...maps,
    ...questions,
    ...tables,
    records: { ...faked?.records, ...weights?.records },
    mechanisms: {
      ...distances?.mechanisms,
      ...numbers?.mechanisms,
      ...kept?.mechanisms,
      ...hashes?.mechanisms,
    },
    domains: { ...distances?.domains, ...numbers?.domains, ...tables?.domains, ...hashes?.domains },
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
  guessFactor: () => undefined, // no table was read
  readKnown: refuse,
  checkTables: () => undefined, // no table was read
  checkQuestions: refuse,
  encodeAnswers: refuse,
};
