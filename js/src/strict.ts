/** Reads documents strictly: integers and text, only the fields that belong there, one way to write them. */

import { must, shown } from "./errors.js";
import { isWhole } from "./exact.js";

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
  const [a, b] = [one, other].map((text) => Array.from(text, (sign) => sign.codePointAt(0) as number)) as [
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
    () => `${shown(kind)} is not ${what} that can be here (${allowed.join(", ")})`,
  );
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
