/** What all mechanisms share: the contract, and how parts of a report are written and read. */

import { must, shown, sound } from "./errors.js";
import { isWhole, type Ratio, wholeNumber } from "./exact.js";
import { type Row, type Threshold, threshold } from "./words.js";

/** What a report says about one attribute, as it is in JSON. */
export type Part = number | readonly number[] | HashedPart | BitFlipPart;

export interface HashedPart {
  readonly a: number;
  readonly b: number;
  readonly bucket: number;
}

export interface BitFlipPart {
  readonly about: readonly number[];
  readonly set: readonly number[];
}

/** How a part is written. */
export interface Codec<P extends Part = Part> {
  /** In bytes. */
  readonly size: number;
  write(part: P, bytes: Uint8Array, at: number): void;
  /** Back from `write`, and still to be checked. */
  read(bytes: Uint8Array, at: number): unknown;
  /** A part that was read, or that is in JSON; what is not canonical is refused. */
  check(data: unknown): P;
}

/** A mechanism whose report supports a set of values. */
export interface Encoder<P extends Part = Part> {
  /** The number of values; they are 0 to k - 1. */
  readonly k: number;
  /** How many 64-bit words one report takes. */
  readonly words: number;
  /** At least the largest ratio of two values' probabilities of one report: e^loss, with the bias of `below` counted. */
  readonly ratio: Ratio;
  readonly codec: Codec<P>;
  /** The report of a value that is known to be in the domain. */
  encode(value: number, row: Row): P | Promise<P>;
  /** Whether a report supports a value, where it does not just name those that it supports. */
  supports?(part: P, value: number): boolean;
  /** The value that a report stands for, where it names none; it may lie beyond all of them. */
  stands?(part: P): number;
  /** How often an attacker is right at most, and about what, where that is known better than by the ratio. */
  readonly guess?: Guess;
}

export interface Guess {
  readonly chance: Ratio;
  /** Among so many that are equally likely. */
  readonly among: number;
  /** What is guessed, where it is not the value. */
  readonly what?: string;
}

export const checkedK = (k: number, most: number): number => wholeNumber("k, the number of values,", k, 2, most);

/** A threshold strictly between 0 and 2^64. */
export const checkedThreshold = (whole: bigint): Threshold => {
  must(whole > 0n && !(whole >> 64n), () => `a threshold is from 1 to 2^64 - 1, got ${whole}`);
  return threshold(whole);
};

/** An integer from 0 to bound - 1, in 1, 2 or 4 bytes. */
export const integer = (bound: number): Codec<number> => {
  const size = bound <= 1 << 8 ? 1 : bound <= 1 << 16 ? 2 : 4;
  return {
    size,
    write: (part, bytes, at) => writeInteger(part, size, bytes, at),
    read: (bytes, at) => readInteger(size, bytes, at),
    check: (data) => checkedInteger(data, 0, bound),
  };
};

/** So many values below k, strictly ascending. */
export const ascending = (count: number, k: number): Codec<readonly number[]> => {
  const { size, write, read } = integer(k);
  return {
    size: count * size,
    write: (part, bytes, at) => {
      for (const [i, value] of part.entries()) write(value, bytes, at + i * size);
    },
    read: (bytes, at) => Array.from({ length: count }, (_, i) => read(bytes, at + i * size)),
    check: (data) => checkedValues(data, k, count),
  };
};

/** Any of k values, strictly ascending: one bit for each, the lowest of a byte first. */
export const bits = (k: number): Codec<readonly number[]> => {
  const size = Math.ceil(k / 8);
  return {
    size,
    write: (part, bytes, at) => {
      for (const value of part) bytes[at + (value >> 3)] = (bytes[at + (value >> 3)] as number) | (1 << (value & 7));
    },
    read: (bytes, at) => {
      const found: number[] = [];
      for (let i = 0; i < 8 * size; i++) if (((bytes[at + (i >> 3)] as number) >> (i & 7)) & 1) found.push(i);
      return found;
    },
    check: (data) => checkedValues(data, k),
  };
};

export const writeInteger = (value: number, width: number, bytes: Uint8Array, at: number): void => {
  for (let i = 0; i < width; i++) bytes[at + i] = value >>> (8 * i);
};

export const readInteger = (width: number, bytes: Uint8Array, at: number): number => {
  let value = 0;
  for (let i = width; i--; ) value = 256 * value + (bytes[at + i] as number);
  return value;
};

/** An integer from low to high - 1. */
export const checkedInteger = (data: unknown, low: number, high: number): number => {
  sound(isWhole(data, low, high - 1), "malformed", () => `${shown(data)} must be an integer from ${low} to ${high - 1}`);
  return data as number;
};

/** Strictly ascending values below k; so many of them, where that is given. */
const checkedValues = (data: unknown, k: number, count?: number): readonly number[] => {
  sound(Array.isArray(data), "malformed", () => "there must be a list of values");
  for (const value of data) checkedInteger(value, 0, k);
  sound(data.length === (count ?? data.length), "size", () => `there must be ${count} values, got ${data.length}`);
  const ascends = data.every((value, i) => !i || value > data[i - 1]);
  sound(ascends, "form", () => "values must ascend: any other order can show the truth");
  return data;
};

/** An object with just these fields, in the order of the alphabet. */
export const checkedFields = (data: unknown, wanted: string): Readonly<Record<string, unknown>> => {
  const found = isObject(data) && Object.keys(data).sort().join() === wanted;
  sound(found, "malformed", () => `there must be an object with the fields ${wanted}`);
  return data as Readonly<Record<string, unknown>>;
};

export const isObject = (data: unknown): data is Readonly<Record<string, unknown>> =>
  typeof data === "object" && data !== null && !Array.isArray(data);

/** What a text of JSON says; undefined where it is none. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
