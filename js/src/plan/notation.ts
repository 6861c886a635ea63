/** Reads mechanisms, record mechanisms and domains from a plan: integers and text, strictly. */

import { Categories, type Domain, Range } from "../domains/domain.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { direct, hadamard, hashed, packedSubset, subset, unary } from "../mechanisms/shapes.js";
import {
  type PartReaders,
  RECORDS,
  type RecordKind,
  type RecordMechanism,
  single,
} from "../records/records.js";
import {
  checkedBoolean,
  checkedFields,
  checkedInteger,
  checkedKind,
  checkedList,
  checkedString,
  type Fields,
  threshold,
} from "../strict.js";
import type { RareKinds as AllRareKinds } from "./rare_kinds.js";

/** Kinds that only some plans have. */
export type RareKinds = Readonly<Pick<AllRareKinds, "mechanisms" | "domains" | "records" | "counted">>;

const SIZES = ["k", "size", "g"];

// biome-ignore lint/suspicious/noExplicitAny: each is called with just the checked fields of its row
type Make = (...numbers: any[]) => Mechanism;

const MECHANISMS: Record<string, readonly [Make, ...string[]]> = {
  direct: [direct, "k", "keep"],
  unary: [unary, "k", "one", "zero"],
  subset: [subset, "k", "size", "keep"],
  "packed-subset": [packedSubset, "k", "size", "keep"],
  hashed: [hashed, "k", "g", "keep"],
  hadamard: [hadamard, "k", "keep"],
};

/** The mechanism for one attribute, of one of these kinds. */
export const mechanism = (
  data: unknown,
  kinds: readonly string[],
  rare?: RareKinds["mechanisms"],
): Mechanism => {
  const kind = checkedKind(data, "a mechanism", kinds);
  if (rare?.[kind]) return rare[kind](data);
  const [make, ...names] = MECHANISMS[kind] as (typeof MECHANISMS)[string];
  const fields = checkedFields(data, `a ${kind} mechanism`, ["kind", ...names]);
  return make(
    ...names.map((name) =>
      SIZES.includes(name) ? checkedInteger(fields[name], name) : threshold(fields[name]),
    ),
  );
};

/** The mechanism for the records of a plan. */
export const recordMechanism = (data: unknown, rare?: RareKinds): RecordMechanism => {
  const kinds = { ...RECORDS, ...rare?.records };
  const [all, ones] = [Object.keys(kinds), Object.keys({ ...MECHANISMS, ...rare?.mechanisms })];
  const nested = all.filter((kind) => kinds[kind]?.isPart);
  const record = (given: unknown): RecordMechanism => {
    const kind = checkedKind(given, "a record mechanism", all);
    const { fields, read } = kinds[kind] as RecordKind;
    const what = `a ${kind} mechanism`;
    return read(fields ? checkedFields(given, what, ["kind", ...fields]) : (given as Fields), readers);
  };
  const readers: PartReaders = {
    mechanism: (given) => mechanism(given, ones, rare?.mechanisms),
    part: (given) => {
      const kind = checkedKind(given, "a part of a split", [...ones, ...nested]);
      return nested.includes(kind) ? record(given) : single(readers.mechanism(given));
    },
  };
  return record(data);
};

/** Whether a canonical text has a kind or a field that is loaded on demand. */
export const hasRareKind = (text: string): boolean => {
  const common = Object.keys({ ...MECHANISMS, ...RECORDS, categories: 0, range: 0 });
  for (const [, kind] of text.matchAll(/"kind":"([^"]*)"|"(?:weights|unit|only_if|several|answers|known)":/g))
    if (!common.includes(kind as string)) return true;
  return false;
};

/** What an attribute's values are. */
export const domain = (data: unknown, rare?: RareKinds): Domain => {
  const kind = checkedKind(data, "a domain", ["categories", "range", ...Object.keys({ ...rare?.domains })]);
  if (rare?.domains[kind]) return rare.domains[kind](data, rare);
  if (kind === "categories") {
    const { labels } = checkedFields(data, "categories", ["kind", "labels"]);
    return new Categories(checkedList(labels, "labels").map((label) => checkedString(label, "a label")));
  }
  const numbers = ["low", "step", "bins", "digits"];
  const hasUnit = rare && "unit" in Object(data);
  const names = ["kind", ...numbers, "open_low", "open_high", ...(hasUnit ? ["unit"] : [])];
  const fields = checkedFields(data, "a range", names);
  const [low, step, bins, digits] = numbers.map((name) => checkedInteger(fields[name], name)) as [
    number,
    number,
    number,
    number,
  ];
  const ends = [checkedBoolean(fields.open_low), checkedBoolean(fields.open_high)] as const;
  const range = new Range(low, step, bins, digits, ...ends);
  return hasUnit ? rare.counted(fields, range) : range;
};
