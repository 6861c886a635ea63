/** Writes the parts of a report as bytes and reads them back; whatever is not canonical is refused. */

import { shown, sound } from "../errors.js";
import { isWhole } from "../exact.js";
import { isObject } from "../strict.js";
import type { Codec } from "./mechanism.js";

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

/**
 * Any of k values, strictly ascending, as many as `count` where that is given: one bit for each, the lowest of
 * a byte first.
 */
export const bits = (k: number, count?: number): Codec<readonly number[]> => {
  const size = Math.ceil(k / 8);
  return {
    size,
    write: (part, bytes, at) => {
      for (const value of part)
        bytes[at + (value >> 3)] = (bytes[at + (value >> 3)] as number) | (1 << (value & 7));
    },
    read: (bytes, at) => {
      const values: number[] = [];
      for (let i = 0; i < 8 * size; i++)
        if (((bytes[at + (i >> 3)] as number) >> (i & 7)) & 1) values.push(i);
      return values;
    },
    check: (data) => checkedValues(data, k, count),
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
  const text = (): string => `${shown(data)} must be an integer from ${low} to ${high - 1}`;
  sound(Number.isInteger(data), "malformed", text);
  sound(isWhole(data, low, high - 1), "form", text);
  return data as number;
};

/** Strictly ascending values below k; as many as `count`, where that is given. */
const checkedValues = (data: unknown, k: number, count?: number): readonly number[] => {
  sound(Array.isArray(data), "malformed", () => "there must be a list of values");
  for (const value of data) checkedInteger(value, 0, k);
  sound(
    data.length === (count ?? data.length),
    "size",
    () => `there must be ${count} values, got ${data.length}`,
  );
  const ascends = data.every((value, i) => !i || value > data[i - 1]);
  sound(ascends, "form", () => "values must ascend: any other order can show the truth");
  return data;
};

/** An object with just these fields, in the order of the alphabet. */
export const checkedFields = (data: unknown, wanted: string): Readonly<Record<string, unknown>> => {
  const isRight = isObject(data) && Object.keys(data).sort().join() === wanted;
  sound(isRight, "malformed", () => `there must be an object with the fields ${wanted}`);
  return data as Readonly<Record<string, unknown>>;
};
