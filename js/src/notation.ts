/** How mechanisms, fakes, shares and domains are written in a plan: integers and text, strict to read. */

import { Categories, type Domain, Range } from "./domain.js";
import { must } from "./errors.js";
import { blank, type Fake, guessed, imitated, prior, uniform } from "./fakes.js";
import type { Mechanism } from "./mechanism.js";
import { hashedMemoized, memoized } from "./memoized.js";
import { faked, type Share, sample, split } from "./records.js";
import { type Direct, direct, hadamard, hashed, subset, type Unary, unary } from "./shapes.js";
import { checkedBoolean, checkedFields, checkedInteger, checkedKind, checkedList, checkedString, threshold } from "./strict.js";

/** Kinds of mechanisms and domains that only some plans have. */
export type More = Readonly<Pick<typeof import("./rare_kinds.js"), "mechanisms" | "domains">>;

const SIZES = ["k", "size", "g"];
const THRESHOLDS = ["keep", "one", "zero"];
const ROUNDS = ["direct", "unary"];

// biome-ignore lint/suspicious/noExplicitAny: each is called with just the fields that its row names, checked one by one
type Make = (...numbers: any[]) => Mechanism;

const MECHANISMS: Record<string, readonly [Make, ...string[]]> = {
  direct: [direct, "k", "keep"],
  unary: [unary, "k", "one", "zero"],
  subset: [subset, "k", "size", "keep"],
  hashed: [hashed, "k", "g", "keep"],
  hadamard: [hadamard, "k", "keep"],
  memoized: [memoized, "first", "second"],
  "hashed-memoized": [hashedMemoized, "k", "buckets"],
};

const mechanism = (data: unknown, kinds: readonly string[], more?: More["mechanisms"]): Mechanism => {
  const kind = checkedKind(data, "a mechanism", kinds);
  if (more?.[kind]) return more[kind](data);
  const [make, ...names] = MECHANISMS[kind] as (typeof MECHANISMS)[string];
  const fields = checkedFields(data, `a ${kind} mechanism`, ["kind", ...names]);
  return make(
    ...names.map((name) => {
      const value = fields[name];
      if (SIZES.includes(name)) return checkedInteger(value, name);
      return THRESHOLDS.includes(name) ? threshold(value) : mechanism(value, name === "buckets" ? ["memoized"] : ROUNDS);
    }),
  );
};

const FAKES: Record<string, readonly string[]> = { guessed: ["direct"], imitated: ROUNDS, blank: ["unary"] };

const fake = (data: unknown): Fake => {
  const kind = checkedKind(data, "a fake", Object.keys(FAKES));
  const isBlank = kind === "blank";
  const fields = checkedFields(data, `a ${kind} fake`, ["kind", "part", ...(isBlank ? [] : ["prior"])]);
  const part = mechanism(fields.part, FAKES[kind] as string[]);
  if (isBlank) return blank(part as Unary);
  const believed = fields.prior === "uniform" ? uniform(part.k) : prior(checkedList(fields.prior, "prior").map(threshold));
  must(believed.k === part.k, () => `a prior has ${believed.k} weights, its mechanism ${part.k} values`);
  return kind === "guessed" ? guessed(part as Direct, believed) : imitated(part as Direct | Unary, believed);
};

/** A share for so many attributes. */
export const share = (data: unknown, attributes: number, more?: More["mechanisms"]): Share => {
  const kind = checkedKind(data, "a share", ["single", "split", "sample", "faked"]);
  const inside = kind === "faked" ? "fakes" : "parts";
  const fields = checkedFields(data, `a ${kind} share`, ["kind", inside, ...(kind === "sample" ? ["drawn"] : [])]);
  const members = checkedList(fields[inside], inside);
  must(members.length === attributes, () => `there are ${attributes} attributes, but mechanisms for ${members.length}`);
  if (kind === "faked") return faked(members.map(fake));
  const parts = members.map((member) => mechanism(member, Object.keys({ ...MECHANISMS, ...more }), more));
  if (kind === "sample") return sample(parts, checkedInteger(fields.drawn, "drawn"));
  must((kind === "single") === (attributes === 1), () => "a single share has one attribute, a split share more");
  return split(parts);
};

/** What an attribute's values are. */
export const domain = (data: unknown, more?: More["domains"]): Domain => {
  const kind = checkedKind(data, "a domain", ["categories", "range", ...Object.keys({ ...more })]);
  if (more?.[kind]) return more[kind](data);
  if (kind === "categories") {
    const { labels } = checkedFields(data, "categories", ["kind", "labels"]);
    return new Categories(checkedList(labels, "labels").map((label) => checkedString(label, "a label")));
  }
  const numbers = ["low", "step", "bins", "digits"];
  const fields = checkedFields(data, "a range", ["kind", ...numbers, "open_low", "open_high"]);
  const [low, step, bins, digits] = numbers.map((name) => checkedInteger(fields[name], name)) as [
    number,
    number,
    number,
    number,
  ];
  return new Range(low, step, bins, digits, checkedBoolean(fields.open_low), checkedBoolean(fields.open_high));
};
