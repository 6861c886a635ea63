/**
 * Builds the set-valued shapes: what a report looks like, and how words become one. Thresholds are out of
 * 2^64.
 */

import { must } from "../errors.js";
import { cell, FULL, over, PRIME, powerUp, type Ratio, times, wholeNumber } from "../exact.js";
import {
  below,
  chance,
  type Halves,
  type Row,
  sampled,
  type Threshold,
  threshold,
} from "../randomness/words.js";
import {
  ascending,
  bits,
  checkedFields,
  checkedInteger,
  integer,
  readInteger,
  writeInteger,
} from "./codecs.js";
import {
  type Codec,
  checkedK,
  checkedThreshold,
  type Guess,
  type HashedPart,
  type Mechanism,
  type Nobody,
  type Part,
} from "./mechanism.js";

/** The report is a value: the true one with probability keep / 2^64, else one of the others. */
export interface Direct extends Mechanism<number> {
  readonly keep: bigint;
  /** The report of a value from these words. */
  pick(value: number, words: Halves): number;
}

export const direct = (k: number, keep: bigint): Direct => {
  checkedK(k, 1 << 24);
  const kept = checkedKeep(keep, k);
  const pick = (value: number, words: Halves): number => keepOrOther(value, words, k, kept);
  const encode: Direct["encode"] = (value, row) => pick(value, row.fresh);
  const buckets = { k, keep };
  return { k, words: 2, ratio: keepRatio(keep, k), codec: integer(k), keep, pick, encode, buckets };
};

/**
 * The report is k bits: the true value's is 1 with probability one / 2^64, each other's with zero / 2^64.
 *
 * The coins of 64 values fall together: word 64 g + l gives binary digit l (the first one first) of the
 * numbers that are compared with the thresholds of values 64 g to 64 g + 63, one per bit position.
 */
export interface Unary extends Mechanism<readonly number[]> {
  readonly one: bigint;
  readonly zero: bigint;
  /** How much likelier a bit is set for the true value. */
  readonly up: Ratio;
  /** How much likelier a bit is clear for another value. */
  readonly down: Ratio;
  /** Coins for k bits of which these are true. */
  flip(truth: readonly number[], words: Halves): number[];
  /**
   * Other bits in place of those of a value that are kept, by chances out of 2^128: of other values, for a bit that
   * was clear or set, then of the value. Coins have 128 digits: words of the value + 2^20 decide what is open after 64.
   */
  redraw(
    value: number,
    kept: readonly number[],
    chances: readonly bigint[],
    recall: (value: number) => Promise<Halves>,
  ): Promise<number[]>;
}

export const unary = (k: number, one: bigint, zero: bigint): Unary => {
  checkedK(k, 1 << 20);
  const [ones, zeros] = [checkedThreshold(one), checkedThreshold(zero)];
  must(zero < one, "likelier", () => `thresholds must have zero < one, got ${zero} and ${one}`);
  const up: Ratio = [one, zero];
  const down: Ratio = [FULL - zero, FULL - one];
  const width = 64 * Math.ceil(k / 64);
  const flip: Unary["flip"] = (truth, words) =>
    [...lanesOf(truth, k).entries()].flatMap(([lane, truths]) => {
      const [result] = coins(
        halfOf(lane, words),
        (digit) => (digit(ones) & truths) | (digit(zeros) & ~truths),
      );
      return placesOf(result, lane, k);
    });
  const redraw: Unary["redraw"] = async (value, kept, chances, recall) => {
    const [truth, bits] = [lanesOf([value], k), lanesOf(kept, k)];
    const [early, late] = [64n, 0n].map((shift) => chances.map((part) => threshold((part >> shift) % FULL)));
    const words = await recall(value);
    let more: Halves | null = null;
    const drawn: number[] = [];
    for (const [lane, truths] of truth.entries()) {
      const set = bits[lane] as number;
      const masks = [~truths & ~set, ~truths & set, truths & ~set, truths & set];
      const limit = (thresholds: readonly Threshold[]) => (digit: (threshold: Threshold) => number) =>
        masks.reduce((all, mask, i) => all | (mask & digit(thresholds[i] as Threshold)), 0);
      let [result, undecided] = coins(halfOf(lane, words), limit(early as Threshold[]));
      if (undecided) {
        more ??= await recall(value + LATE);
        result |= coins(halfOf(lane, more), limit(late as Threshold[]), undecided)[0];
      }
      drawn.push(...placesOf(result, lane, k));
    }
    return drawn;
  };
  return {
    k,
    words: width,
    ratio: times(up, down),
    codec: bits(k),
    guess: guessBit(k, one, zero, FULL),
    one,
    zero,
    up,
    down,
    flip,
    redraw,
    encode: (value, row) => flip([value], row.fresh),
    nobody: {
      words: width,
      more: up,
      less: over([1n, 1n], down),
      cells: 0,
      encode: ({ fresh }) => flip([], fresh),
    },
  };
};

/**
 * How often the value of a bit that is set is the true one: any of them is as likely. The bits are set with
 * probabilities one / full and zero / full. It is (p - (p - q) (1 - q)^(k - 1)) / (q k), rounded up.
 */
export const guessBit = (k: number, one: bigint, zero: bigint, full: bigint): Guess => {
  const [n, d] = powerUp([full, full - zero], k - 1); // of 1 / (1 - q)
  return { chance: [one * n - (one - zero) * d, zero * n * BigInt(k)], among: k };
};

/** What is added to a value for the words of the last 64 digits of its bits. */
const LATE = 1 << 20;

/** Bits of k values, 32 at a time. */
const lanesOf = (values: readonly number[], k: number): Int32Array => {
  const lanes = new Int32Array(Math.ceil(k / 32));
  for (const value of values) lanes[value >> 5] = (lanes[value >> 5] as number) | (1 << (value & 31));
  return lanes;
};

/** The places, below k, of the bits of a lane that are set. */
const placesOf = (bits: number, lane: number, k: number): number[] => {
  const places: number[] = [];
  for (let i = 0; i < 32 && 32 * lane + i < k; i++) if ((bits >> i) & 1) places.push(32 * lane + i);
  return places;
};

/** The words of a lane: every other half from here on. */
const halfOf = (lane: number, words: Halves): Halves => words.subarray(128 * (lane >> 1) + (lane & 1));

/** Coins for 32 values, each stopped as soon as it has fallen: those that are set, and those that are open. */
function coins(
  words: Halves,
  limit: (digit: (threshold: Threshold) => number) => number,
  open = -1,
): readonly [result: number, undecided: number] {
  let [undecided, result, level] = [open, 0, 0];
  const digit = (threshold: Threshold): number =>
    -(((threshold[level >> 5] as number) >>> (31 - (level & 31))) & 1);
  for (; level < 64 && undecided; level++) {
    const digits = limit(digit);
    const word = words[2 * level] as number;
    result |= undecided & digits & ~word;
    undecided &= ~(digits ^ word);
  }
  return [result, undecided];
}

/**
 * The report is a set of `size` values in ascending order: the true one is a member with probability keep /
 * 2^64.
 */
export const subset = (k: number, size: number, keep: bigint): Mechanism<readonly number[]> => {
  checkedK(k, 1 << 16);
  wholeNumber("size", "size of a set", size, 1, k - 1);
  const kept = checkedThreshold(keep);
  const [many, members] = [BigInt(k), BigInt(size)];
  must(keep * many > FULL * members, "likelier", () => `keep must be above 2^64 * size / k, got ${keep}`);
  return {
    k,
    words: 1 + size,
    // each of at most 2 size draws is off by at most (k - 1) / 2^64 of itself: a bound, a hair above the
    // truth
    ratio: [keep * (many - members) * FULL, (FULL - keep) * members * (FULL - 2n * members * (many - 1n))],
    codec: ascending(size, k),
    guess: { chance: [keep, FULL * members], among: k }, // any member is as likely
    encode: (value, { fresh }) => {
      const isKept = chance(fresh, 0, kept);
      const others = sampled(fresh.subarray(2), size - Number(isKept), k - 1);
      return [...others.map((other) => other + Number(other >= value)), ...(isKept ? [value] : [])].sort(
        (a, b) => a - b,
      );
    },
    nobody: {
      words: size,
      more: [keep * many, FULL * members],
      less: [(FULL - keep) * many, FULL * (many - members)],
      cells: size * k,
      encode: ({ fresh }) => sampled(fresh, size, k).sort((a, b) => a - b),
    },
    cover: (weights) => {
      const ordered = weights.slice().sort();
      return [addUp(ordered.subarray(0, size)), addUp(ordered.subarray(k - size))];
    },
  };
};

const addUp = (weights: BigUint64Array): bigint => weights.reduce((sum, weight) => sum + weight, 0n);

/** A report of a subset as k bits: those of the members are set. */
export const packedSubset: typeof subset = (k, size, keep) => ({
  ...subset(k, size, keep),
  codec: bits(k, size),
});

/**
 * The report is a random hash function (a, b) and a bucket: the true value's with probability keep / 2^64.
 *
 * The function is drawn without looking at the value, so it costs no privacy; the loss is that of the bucket.
 */
export const hashed = (k: number, g: number, keep: bigint): Mechanism<HashedPart> => {
  checkedK(k, PRIME - 1);
  wholeNumber("g", "g, the number of buckets,", g, 2, PRIME - 1);
  const kept = checkedKeep(keep, g);
  const inside = integer(g);
  const codec: Codec<HashedPart> = {
    size: 8 + inside.size,
    write: ({ a, b, bucket }, bytes, at) => {
      writeInteger(a, 4, bytes, at);
      writeInteger(b, 4, bytes, at + 4);
      inside.write(bucket, bytes, at + 8);
    },
    read: (bytes, at) => ({
      a: readInteger(4, bytes, at),
      b: readInteger(4, bytes, at + 4),
      bucket: inside.read(bytes, at + 8),
    }),
    check: (data) => {
      const { a, b, bucket } = checkedFields(data, "a,b,bucket");
      return { a: checkedInteger(a, 1, PRIME), b: checkedInteger(b, 0, PRIME), bucket: inside.check(bucket) };
    },
  };
  return {
    k,
    words: 3,
    ratio: keepRatio(keep, g),
    codec,
    encode: (value, { fresh }) => {
      const [a, b] = hashFunction(fresh);
      return { a, b, bucket: keepOrOther(bucketOf(a, b, value, g), fresh.subarray(2), g, kept) };
    },
    supports: ({ a, b, bucket }, value) => bucketOf(a, b, value, g) === bucket,
    nobody: nobodyAmong(g, keep, ({ fresh }) => {
      const [a, b] = hashFunction(fresh);
      return { a, b, bucket: below(fresh, 1, g) };
    }),
    buckets: { k: g, keep },
  };
};

/**
 * The report is a column of a Hadamard matrix, uniform in the half that agrees with the value's row, or
 * else not.
 *
 * Report y supports v where (v + 1) and y have an even number of common bits.
 */
export const hadamard = (k: number, keep: bigint): Mechanism<number> => {
  checkedK(k, (1 << 20) - 1);
  const kept = checkedKeep(keep, 2);
  const unused = Math.clz32(k);
  return {
    k,
    words: 2,
    ratio: [keep, FULL - keep],
    codec: integer(2 ** (32 - unused)),
    // every column agrees with some row, but for one of the four that two values have
    guess: { chance: k > 2 ? [2n * keep, BigInt(k) * FULL] : [2n * keep + FULL, 4n * FULL], among: k },
    encode: (value, { fresh }) => {
      const [line, column] = [value + 1, (fresh[3] as number) >>> unused];
      return agree(line, column) === chance(fresh, 0, kept) ? column : column ^ (line & -line);
    },
    supports: (part, value) => agree(value + 1, part),
    nobody: {
      words: 1,
      more: [2n * keep, FULL],
      less: [2n * (FULL - keep), FULL],
      cells: 0,
      encode: ({ fresh }) => (fresh[1] as number) >>> unused,
    },
    cover: (weights) => coveredByColumns(weights, 2 ** (32 - unused)),
  };
};

/** A function as in any report, and a uniform bucket, from two words. */
export const nobodyAmong = <P extends Part>(
  g: number,
  keep: bigint,
  encode: (row: Row) => P | Promise<P>,
): Nobody<P> => {
  const buckets = BigInt(g);
  return {
    words: 2,
    more: [keep * buckets, FULL],
    less: [(FULL - keep) * buckets, FULL * (buckets - 1n)],
    cells: g,
    encode,
  };
};

/**
 * The least and the largest weight of the rows that a column agrees with, of columns that agree with some and
 * not with all. The high and the low halves of weights are transformed apart: numbers hold their sums exactly.
 */
const coveredByColumns = (weights: BigUint64Array, columns: number): [bigint, bigint] => {
  const [high, low, rows] = [0, 1, 2].map(() => new Float64Array(columns)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (const [v, weight] of weights.entries()) {
    high[v + 1] = Number(weight >> 32n);
    low[v + 1] = Number(weight & 0xffff_ffffn);
    rows[v + 1] = 1;
  }
  for (const cells of [high, low, rows]) transform(cells);
  let [least, largest] = [FULL, -FULL];
  let [leastNear, largestNear] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let y = 0; y < columns; y++) {
    if (Math.abs(rows[y] as number) === weights.length) continue;
    const near = (high[y] as number) * 2 ** 32 + (low[y] as number); // off by less than 2^12
    if (near > leastNear + 2 ** 16 && near < largestNear - 2 ** 16) continue;
    const sum = (BigInt(high[y] as number) << 32n) + BigInt(low[y] as number);
    if (sum < least) [least, leastNear] = [sum, near];
    if (sum > largest) [largest, largestNear] = [sum, near];
  }
  return [(FULL + least) / 2n, (FULL + largest) / 2n];
};

/** Sums of cells[y] * (-1)^(common bits of x and y), for every x, in place. */
const transform = (cells: Float64Array): void => {
  for (let span = 1; span < cells.length; span *= 2)
    for (let start = 0; start < cells.length; start += 2 * span)
      for (let x = start; x < start + span; x++) {
        const [a, b] = [cells[x] as number, cells[x + span] as number];
        [cells[x], cells[x + span]] = [a + b, a - b];
      }
};

/** A hash function (a, b) from the first word. */
export const hashFunction = ([low, high]: Halves): [number, number] => [
  (((high as number) >>> 1) % (PRIME - 1)) + 1,
  ((((high as number) & 1) * 2 ** 30) | ((low as number) >>> 2)) % PRIME,
];

/**
 * The bucket of a value: ((a (v + 1) + b) mod P) mod g, in two steps that floating-point numbers hold
 * exactly.
 */
export const bucketOf = (a: number, b: number, value: number, g: number): number =>
  (((((a >>> 16) * (value + 1)) % PRIME) * 65_536 + (a & 65_535) * (value + 1) + b) % PRIME) % g;

/** The value itself, or one of the k - 1 others, from two words. */
export const keepOrOther = (value: number, words: Halves, k: number, keep: Threshold): number => {
  if (chance(words, 0, keep)) return value;
  const other = below(words, 1, k - 1);
  return other + Number(other >= value);
};

/** A value is kept, or drawn by another from the rarest cell of `below`. */
const keepRatio = (keep: bigint, k: number): Ratio => [keep * FULL, (FULL - keep) * cell(k - 1)[0]];

const checkedKeep = (keep: bigint, k: number): Threshold => {
  const isLikelier = keep * FULL > (FULL - keep) * cell(k - 1)[1];
  must(isLikelier, "likelier", () => `keep must be above 2^64 / ${k}, got ${keep}`);
  return checkedThreshold(keep);
};

/** Whether two numbers have an even number of common bits. */
const agree = (a: number, b: number): boolean => {
  let odd = false;
  for (let common = a & b; common; common &= common - 1) odd = !odd;
  return !odd;
};
