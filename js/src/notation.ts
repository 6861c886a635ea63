/** How mechanisms, fakes, shares and domains are written in a plan: integers and text, strict to read. */

import { Categories, type Domain, Range } from "./domain.js";
import { must, shown } from "./errors.js";
import { isWhole } from "./exact.js";
import { blank, type Fake, guessed, imitated, prior, uniform } from "./fakes.js";
import { hashedMemoized, memoized } from "./repeat.js";
import { type Encoder, isObject } from "./shape.js";
import { type Direct, direct, hadamard, hashed, subset, type Unary, unary } from "./shapes.js";
import { faked, type Share, sample, split } from "./share.js";

/** Kinds of mechanisms and domains that only some plans have. */
export type More = Readonly<Pick<typeof import("./more.js"), "mechanisms" | "domains">>;

export type Fields = Readonly<Record<string, unknown>>;

const DEEPEST = 16;

/** Sorted keys, no spaces: equal documents have equal text. */
export const canonical = (data: unknown, depth = 0): string => {
  must(depth < DEEPEST, () => "a plan is nested less deeply");
  if (Array.isArray(data)) return `[${data.map((one) => canonical(one, depth + 1))}]`;
  must(typeof data !== "number" || Number.isInteger(data), () => `a plan has integers only, got ${data}`);
  if (!isObject(data)) return JSON.stringify(data);
  const names = Object.keys(data).sort(byCodePoint);
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(data[name], depth + 1)}`)}}`;
};

/** The order of text by code points, where JavaScript's own is by halves of surrogate pairs. */
export const byCodePoint = (one: string, other: string): number => {
  const [a, b] = [one, other].map((text) => Array.from(text, (sign) => sign.codePointAt(0) as number)) as [number[], number[]];
  const i = a.findIndex((code, at) => code !== b[at]);
  return i < 0 ? a.length - b.length : (a[i] as number) - (b[i] ?? -1);
};

const SIZES = ["k", "size", "g"];
const THRESHOLDS = ["keep", "one", "zero"];
const ROUNDS = ["direct", "unary"];

// biome-ignore lint/suspicious/noExplicitAny: each is called with just the fields that its row names, checked one by one
type Make = (...numbers: any[]) => Encoder;

const MECHANISMS: Record<string, readonly [Make, ...string[]]> = {
  direct: [direct, "k", "keep"],
  unary: [unary, "k", "one", "zero"],
  subset: [subset, "k", "size", "keep"],
  hashed: [hashed, "k", "g", "keep"],
  hadamard: [hadamard, "k", "keep"],
  memoized: [memoized, "first", "second"],
  "hashed-memoized": [hashedMemoized, "k", "buckets"],
};

const mechanism = (data: unknown, kinds: readonly string[], more?: More["mechanisms"]): Encoder => {
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

export const checkedKind = (data: unknown, what: string, allowed: readonly string[]): string => {
  const kind = isObject(data) && data.kind;
  must(allowed.includes(kind as string), () => `${shown(kind)} is not ${what} that can be here (${allowed.join(", ")})`);
  return kind as string;
};

/** An object with just these fields. */
export const checkedFields = (data: unknown, what: string, wanted: readonly string[]): Fields => {
  must(isObject(data), () => `${what} must be an object with the fields ${wanted.join(", ")}`);
  for (const name of Object.keys(data)) {
    must(wanted.includes(name), () => `${shown(name)} is not a field of ${what} (${wanted.join(", ")})`);
  }
  for (const name of wanted) must(Object.hasOwn(data, name), () => `${what} has no field ${shown(name)}`);
  return data;
};

export const checkedList = (data: unknown, what: string): readonly unknown[] => {
  must(Array.isArray(data), () => `${what} must be a list`);
  return data;
};

export const checkedString = (data: unknown, what: string): string => {
  must(typeof data === "string", () => `${what} must be text, got ${shown(data)}`);
  return data;
};

/** An integer that every language holds exactly. */
export const checkedInteger = (data: unknown, what: string): number => {
  must(isWhole(data, -(2 ** 53), 2 ** 53), () => `${what} must be an integer up to 2^53, got ${shown(data)}`);
  return data as number;
};

export const checkedBoolean = (data: unknown): boolean => {
  must(typeof data === "boolean", () => `an open end is true or false, got ${shown(data)}`);
  return data;
};

export const threshold = (data: unknown): bigint => {
  const isDecimal = typeof data === "string" && /^[1-9][0-9]{0,19}$/.test(data);
  must(isDecimal, () => `a threshold is decimal digits as text, got ${shown(data)}`);
  return BigInt(data as string);
};
