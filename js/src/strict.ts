/** Reads documents strictly: integers and text, only the fields that belong there, one way to write them. */

import { must, shown } from "./errors.js";

export type Fields = Readonly<Record<string, unknown>>;

const DEEPEST = 16;

/** Sorted keys, no spaces: equal documents have equal text. */
export const canonical = (data: unknown, depth = 0): string => {
  must(depth < DEEPEST || Object(data) !== data, "json", () => `a plan is nested at most ${DEEPEST} deep`);
  if (Array.isArray(data)) return `[${data.map((item) => canonical(item, depth + 1))}]`;
  must(
    typeof data !== "number" || Number.isSafeInteger(data),
    "integer",
    () => `a plan has integers below 2^53 only, got ${data}`,
  );
  if (!isObject(data)) return quoted(data);
  const names = Object.keys(data).sort(byCodePoint);
  return `{${names.map((name) => `${quoted(name)}:${canonical(data[name], depth + 1)}`)}}`;
};

const quoted = (data: unknown): string => {
  must(
    typeof data !== "string" || !/\p{Cs}/u.test(data),
    "json",
    () => "a plan has text that cannot be written: half of a pair of surrogates",
  );
  return JSON.stringify(data);
};

/** The order of text by code points, where JavaScript's own is by halves of surrogate pairs. */
export const byCodePoint = (first: string, second: string): number => {
  const [a, b] = [first, second].map((text) => Array.from(text, (sign) => sign.codePointAt(0) as number)) as [
    number[],
    number[],
  ];
  const i = a.findIndex((code, at) => code !== b[at]);
  return i < 0 ? a.length - b.length : (a[i] as number) - (b[i] ?? -1);
};

export const checkedKind = (data: unknown, what: string, allowed: readonly string[]): string => {
  const kind = isObject(data) && data.kind;
  must(
    allowed.includes(kind as string),
    "kind",
    () => `${shown(kind)} is not ${what} that can be here (${allowed.join(", ")})`,
  );
  return kind as string;
};

/** An object with just these fields. */
export const checkedFields = (data: unknown, what: string, wanted: readonly string[]): Fields => {
  must(isObject(data), "type", () => `${what} must be an object with the fields ${wanted.join(", ")}`);
  for (const name of Object.keys(data)) {
    const text = (): string => `${shown(name)} is not a field of ${what} (${wanted.join(", ")})`;
    must(wanted.includes(name), "fields", text);
  }
  for (const name of wanted)
    must(Object.hasOwn(data, name), "fields", () => `${what} has no field ${shown(name)}`);
  return data;
};

export const checkedList = (data: unknown, what: string): readonly unknown[] => {
  must(Array.isArray(data), "type", () => `${what} must be a list`);
  return data;
};

export const checkedString = (data: unknown, what: string): string => {
  must(typeof data === "string", "type", () => `${what} must be text, got ${shown(data)}`);
  return data;
};

/** An integer, which the text was found to hold exactly. */
export const checkedInteger = (data: unknown, what: string): number => {
  must(Number.isSafeInteger(data), "type", () => `${what} must be an integer, got ${shown(data)}`);
  return data as number;
};

export const checkedBoolean = (data: unknown): boolean => {
  must(typeof data === "boolean", "type", () => `an open end is true or false, got ${shown(data)}`);
  return data;
};

export const threshold = (data: unknown): bigint => {
  const isDecimal = typeof data === "string" && /^[1-9][0-9]{0,19}$/.test(data);
  must(isDecimal, "threshold", () => `a threshold is decimal digits as text, got ${shown(data)}`);
  const words = BigInt(data as string);
  must(!(words >> 64n), "threshold", () => `a threshold is below 2^64, got ${words}`);
  return words;
};

export const isObject = (data: unknown): data is Readonly<Record<string, unknown>> =>
  typeof data === "object" && data !== null && !Array.isArray(data);

/** What a text of JSON says; undefined where it is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
