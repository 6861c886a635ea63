/** Builds the shape that hashes values of many bits, which nobody lists, by a random matrix of bits. */

import { sound } from "../errors.js";
import { cell, FULL, wholeNumber } from "../exact.js";
import { fromHexadecimal, hexadecimal } from "../hexadecimal.js";
import { type Code, type Halves, wordOf } from "../randomness/words.js";
import { checkedFields, checkedInteger, isObject, threshold } from "../strict.js";
import { integer } from "./codecs.js";
import type { Codec, LinearPart, Mechanism } from "./mechanism.js";
import { direct } from "./shapes.js";

const MOST_BITS = 62;
const MOST_ROWS = 8;
const SPARE = 13; // leading bits beside as many as rows, in which the rows of a matrix are independent
const HASH_WORDS = 4; // two draws of a matrix; the bucket takes the words after them

/**
 * The report is a random matrix and a bucket of 2^rows: the true value's with probability keep / 2^64.
 *
 * Row j of the matrix is the bits of `matrix` from the j-th on, so one number is all of it. It is drawn without
 * looking at the value, so it costs no privacy; the loss is that of the bucket.
 */
export const linear = (bits: number, rows: number, keep: bigint): Mechanism<LinearPart> => {
  wholeNumber("bits", "bits of a value", bits, 1, MOST_BITS);
  wholeNumber("rows", "rows of a matrix", rows, 1, Math.min(MOST_ROWS, bits));
  const g = 2 ** rows;
  const buckets = direct(g, keep);
  const width = bits + rows - 1;
  const hash = (matrix: bigint, value: Code): number => {
    let bucket = 0;
    for (let j = 0; j < rows; j++) bucket |= parity(BigInt(value) & (matrix >> BigInt(j))) << j;
    return bucket;
  };
  const isAllowed = (matrix: bigint): boolean => isFair(matrix, bits, rows);
  const draw = (words: Halves): bigint => {
    for (const c of [0, 2]) {
      const matrix = BigInt.asUintN(width, wordOf(words, c) | (wordOf(words, c + 1) << 64n));
      if (isAllowed(matrix)) return matrix;
    }
    return 1n << BigInt(bits - 1);
  };
  return {
    k: 2 ** bits,
    words: HASH_WORDS + buckets.words,
    ratio: buckets.ratio,
    isUnlisted: true,
    codec: linearCodec(width, g, isAllowed),
    // of two values that the matrix separates: their own buckets, or any other
    guess: {
      chance: [2n * keep * FULL + BigInt(g - 2) * (FULL - keep) * cell(g - 1)[1], 2n * FULL * FULL],
      among: 2,
      what: " which of two answers it is",
    },
    encode: (value: Code, { fresh }) => {
      const matrix = draw(fresh);
      const bucket = buckets.pick(hash(matrix, value), fresh.subarray(2 * HASH_WORDS));
      return { bits: written(matrix, width), bucket };
    },
    say: ({ bits, bucket }) => ({ supports: [], hash: { bits, bucket, buckets: g } }),
  };
};

/** The bytes of a matrix, the lowest bits first, and the bucket. */
const linearCodec = (width: number, g: number, isAllowed: (matrix: bigint) => boolean): Codec<LinearPart> => {
  const size = Math.ceil(width / 8);
  const inside = integer(g);
  return {
    size: size + inside.size,
    write: ({ bits, bucket }, bytes, at) => {
      bytes.set(fromHexadecimal(bits), at);
      inside.write(bucket, bytes, at + size);
    },
    read: (bytes, at) => ({
      bits: hexadecimal(bytes.subarray(at, at + size)),
      bucket: inside.read(bytes, at + size),
    }),
    check: (data) => {
      const isPart = isObject(data) && Object.keys(data).sort().join() === "bits,bucket";
      sound(isPart, "malformed", () => "there must be an object with the fields bits,bucket");
      const { bits, bucket } = data;
      const isHexadecimal = typeof bits === "string" && /^[0-9a-f]*$/.test(bits) && bits.length === 2 * size;
      sound(isHexadecimal, "malformed", () => `bits have ${2 * size} digits of lower-case hexadecimal`);
      const matrix = matrixOf(bits);
      sound(!(matrix >> BigInt(width)), "form", () => `a matrix has ${width} bits, and no others`);
      sound(isAllowed(matrix), "form", () => "the rows of a matrix must be independent in the leading bits");
      return { bits, bucket: inside.check(bucket) };
    },
  };
};

/** Reads a mechanism for values of many bits from a plan. */
export const readLinear = (data: unknown): Mechanism => {
  const { bits, rows, keep } = checkedFields(data, "a linear mechanism", ["kind", "bits", "rows", "keep"]);
  const made = linear(checkedInteger(bits, "bits"), checkedInteger(rows, "rows"), threshold(keep));
  return made as unknown as Mechanism;
};

/** A number from its bytes in hexadecimal, the lowest first. */
const matrixOf = (text: string): bigint => BigInt(`0x${(text.match(/../g) ?? []).reverse().join("")}`);

/** The bytes of a number in hexadecimal, the lowest first. */
const written = (matrix: bigint, width: number): string => {
  const digits = matrix.toString(16).padStart(2 * Math.ceil(width / 8), "0");
  return (digits.match(/../g) ?? []).reverse().join("");
};

/** Whether a number has an odd number of bits, as 1 or 0. */
const parity = (value: bigint): number => {
  let odd = 0;
  for (let rest = value; rest; rest &= rest - 1n) odd ^= 1;
  return odd;
};

/**
 * Whether, cut to the leading bits, no row is a sum of others.
 *
 * Then each bucket has equally many of all values. Short texts end in zeros, and no bucket has all of them.
 */
const isFair = (matrix: bigint, bits: number, rows: number): boolean => {
  const reduced: bigint[] = [];
  const below = BigInt(Math.max(0, bits - rows - SPARE));
  for (let j = 0; j < rows; j++) {
    let row = BigInt.asUintN(bits, matrix >> BigInt(j)) >> below;
    for (const earlier of reduced) if ((row ^ earlier) < row) row ^= earlier;
    if (!row) return false;
    reduced.push(row);
    reduced.sort((a, b) => (a < b ? 1 : -1)); // the one with the highest bit first
  }
  return true;
};
