/** Loads what only some plans have, in groups: a plan with a number needs no code for maps. */

import { must } from "../errors.js";
import type { RareKinds } from "./rare_kinds.js";

/** What a canonical text has where a group is needed, and the group. */
const GROUPS: readonly (readonly [needed: RegExp, load: () => Promise<Partial<RareKinds>>])[] = [
  [/"kind":"((planar-)?geometric|grid)"|"metric":/, () => import("./distance_kinds.js")],
  [/"maps":/, () => import("./map_kinds.js")],
  [/"kind":"(duchi|piecewise|hybrid|number)"/, () => import("./number_kinds.js")],
  [/"kind":"(bit-flip|(hashed-)?memoized)/, () => import("./kept_kinds.js")],
  [/"kind":"pooled"/, () => import("../mechanisms/pooled.js")],
  [/"kind":"(linear|text|code)"/, () => import("./text_kinds.js")],
  [/"kind":"square-wave"/, () => import("./wave_kinds.js")],
  [/"kind":"faked"/, () => import("./faked_kinds.js")],
  [/"weights":/, () => import("../records/weighted.js")],
  [
    /"(only_if|several|answers)":|"unit":"(whole|month|year)"|"kind":"(product|coarse)"/,
    () => import("./asked_kinds.js"),
  ],
  [/"kind":"(product|coarse)"/, () => import("./view_kinds.js")],
  [/"kind":"product"|"known":/, () => import("./table_kinds.js")],
];

/** The kinds that occur in a canonical text; all others are refused as unknown. */
export const loadRareKinds = async (text: string): Promise<RareKinds> => {
  const needed = GROUPS.filter(([sign]) => sign.test(text));
  const groups = await Promise.all(needed.map(([, load]) => load()));
  const join = (field: "records" | "mechanisms" | "domains") =>
    Object.assign({}, ...groups.map((one) => one[field]));
  return {
    ...UNNEEDED,
    ...Object.assign({}, ...groups),
    records: join("records"),
    mechanisms: join("mechanisms"),
    domains: join("domains"),
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
