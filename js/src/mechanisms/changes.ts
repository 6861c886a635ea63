/**
 * Bounds what the reports of a person whose values change give away: exactly for values where that is
 * feasible, else from above.
 *
 * `deniable/rounds/changes.py` computes the same numbers, and says why they bound the loss.
 */

import { FULL, isAbove, type Loss, largest, logUp, type Ratio, times } from "../exact.js";
import type { Direct, Unary } from "./shapes.js";

/** Further rounds add the loss of a fresh report of what is kept. */
export const MOST_ROUNDS = 12;
const MOST_STEPS = 8000;

type Counts = readonly number[];

const product = (numbers: readonly bigint[]): bigint => numbers.reduce((all, number) => all * number, 1n);
const sum = (numbers: readonly bigint[]): bigint => numbers.reduce((all, number) => all + number, 0n);
const upTo = (most: number): number[] => Array.from({ length: most + 1 }, (_, i) => i);

/** The loss of at most MOST_ROUNDS reports of one value each. */
export const directChanges = (first: Direct, second: Direct, rounds: number): Loss => {
  const { k } = first;
  const others = BigInt(k - 1);
  const [near, far, steps] = [second.keep * others, FULL - second.keep, BigInt(rounds)];
  const unit = FULL * others * far ** steps;
  const gains = upTo(rounds).map((c) => near ** BigInt(c) * far ** BigInt(rounds - c) - far ** steps);
  const truth = gains.map((gain) => first.keep * others * gain);
  const other = gains.map((gain) => (FULL - first.keep) * gain);
  const at = (table: readonly bigint[], i: number): bigint => table[i] as bigint;

  /** Everybody has at each time the value that is reported. */
  const likeliest = (counts: Counts): bigint => product(counts.map((count) => unit + at(truth, count)));
  /** The reports of one value, which is itself reported: its own weigh more. */
  const row = (counts: Counts, i: number): bigint => {
    const count = counts[i] as number;
    return unit + sum(counts.map((each) => at(other, each))) + at(truth, count) - at(other, count);
  };
  /** Divided evenly among values that are not reported; `used` of them have any. */
  const even = (counts: Counts, rows: number, used: number): bigint =>
    product(
      upTo(used - 1).map(
        (i) => unit + sum(counts.map((count) => at(other, Math.ceil(Math.max(count - i, 0) / rows)))),
      ),
    );
  const ratio = (counts: Counts, least: bigint, rows: number): Ratio => [
    likeliest(counts) * unit ** BigInt(Math.max(rows - counts.length, 0)),
    least * unit ** BigInt(Math.max(counts.length - rows, 0)),
  ];
  const bound = (counts: Counts): Ratio => {
    const used = Math.min(k, counts[0] as number);
    return ratio(counts, even(counts, k, used), used);
  };
  /** The least likelihood over all divisions among values, value by value. */
  const exact = (counts: Counts): Ratio => {
    const [rows, rest] = [freeRows(counts, k), k - counts.length];
    let products = new Map([[counts.join(), { left: counts, least: 1n }]]);
    for (let i = 0; i < rows; i++) {
      const lower: typeof products = new Map();
      for (const { left, least } of products.values()) {
        for (const taken of parts(left)) {
          const next = left.map((count, s) => count - (taken[s] as number));
          const [name, value] = [next.join(), least * row(taken, i)];
          const before = lower.get(name);
          if (!before || value < before.least) lower.set(name, { left: next, least: value });
        }
      }
      products = lower;
    }
    const used = rest ? Math.min(rest, counts[0] as number) : 1;
    const ended = [...products.values()].map(
      ({ left, least }) => least * (rest ? even(left, rest, used) : row(left, rows)),
    );
    return ratio(counts, lowest(ended), rows + used);
  };

  let [best, loose]: [Ratio, Ratio] = [
    [1n, 1n],
    [1n, 1n],
  ];
  const bounds = partitions(rounds, k, rounds).map((counts) => [bound(counts), counts] as const);
  for (const [most, counts] of bounds.sort(([a], [b]) => Number(isAbove(b, a)) - Number(isAbove(a, b)))) {
    if (!isAbove(most, best)) break;
    if (counts.length + (counts[0] as number) <= k) best = most;
    else if (countSteps(counts, k) <= MOST_STEPS) best = largest([best, exact(counts)]);
    else loose = largest([loose, most]);
  }
  return logUp(times(largest([best, loose]), [FULL, FULL - 4n * BigInt(k * rounds)]));
};

/** All that are reported can have any counts; but the last of all k takes the rest. */
const freeRows = (counts: Counts, k: number): number => counts.length - Number(counts.length === k);

const countSteps = (counts: Counts, k: number): number => {
  const [first, later] = [1, 2].map((ways) =>
    counts.reduce((all, count) => all * (ways === 1 ? count + 1 : ((count + 1) * (count + 2)) / 2), 1),
  ) as [number, number];
  return first + (freeRows(counts, k) - 1) * later;
};

/** All counts that are at most these. */
const parts = (counts: Counts): Counts[] =>
  counts.reduce<Counts[]>(
    (lists, count) => lists.flatMap((list) => upTo(count).map((taken) => [...list, taken])),
    [[]],
  );

/** All ways to write a number as a sum of so many positive numbers at most, in descending order. */
const partitions = (total: number, most: number, top: number): Counts[] => {
  if (!total) return [[]];
  const firsts = most ? upTo(Math.min(total, top)).slice(1) : [];
  return firsts.flatMap((part) => partitions(total - part, most - 1, part).map((rest) => [part, ...rest]));
};

const lowest = (numbers: readonly bigint[]): bigint => numbers.reduce((a, b) => (b - a < 0n ? b : a));
const highest = (numbers: readonly bigint[]): bigint => numbers.reduce((a, b) => (b - a > 0n ? b : a));

/** Likelihoods of the reports of one bit, by ones and zeros. */
type Bits = readonly (readonly bigint[])[];
type Pick = (numbers: readonly bigint[]) => bigint;

/** A bound of the loss of at most MOST_ROUNDS reports of a bit for each value. */
export const unaryChanges = (first: Unary, second: Unary, rounds: number): Loss => {
  const { k } = first;
  const chances = (threshold: bigint): Bits =>
    table(rounds, (ones, zeros) => {
      const [o, z] = [BigInt(ones), BigInt(zeros)];
      const set = threshold * second.one ** o * (FULL - second.one) ** z;
      return set + (FULL - threshold) * second.zero ** o * (FULL - second.zero) ** z;
    });
  const [neutral, truth] = [chances(first.zero), chances(first.one)];
  const rows = Math.min(k - 1, rounds);
  const [most, least] = [highest, lowest].map((pick) => {
    const apart = divide(neutral, rows, pick);
    const totals = upTo(rounds).map((ones) => [ones, rounds - ones] as const);
    const without = totals.map(([ones, zeros]) => FULL * (apart[ones]?.[zeros] as bigint));
    const within = totals.map(([ones, zeros]) => pick(splits(truth, apart, ones, zeros).slice(1)));
    return [without, within] as const;
  }) as [readonly [bigint[], bigint[]], readonly [bigint[], bigint[]]];
  const loss = (up: 0 | 1, down: 0 | 1): Loss =>
    logUp(largest(upTo(rounds).map((i): Ratio => [most[up][i] as bigint, least[down][i] as bigint])));
  const [none, gained, lost, both] = [loss(0, 0), loss(1, 0), loss(0, 1), loss(1, 1)];
  const sequences = Math.min(k, rounds);
  const losses: Loss[] = [];
  for (let b = 0; b <= sequences; b++) {
    const fewest = b ? 0 : 1;
    for (let i = fewest; i <= sequences - b; i++) {
      for (let j = fewest; j <= Math.min(sequences, k - i) - b; j++) {
        losses.push(BigInt(i) * gained + BigInt(j) * lost + BigInt(b) * both + BigInt(k - i - j - b) * none);
      }
    }
  }
  return highest(losses);
};

const table = (total: number, entry: (ones: number, zeros: number) => bigint): Bits =>
  upTo(total).map((ones) => upTo(total - ones).map((zeros) => entry(ones, zeros)));

/** The largest or the least likelihood of ones and zeros that are divided among so many values. */
const divide = (chances: Bits, rows: number, pick: Pick): Bits => {
  if (rows === 1) return chances;
  const both = (a: Bits, b: Bits): Bits =>
    table(chances.length - 1, (ones, zeros) => pick(splits(a, b, ones, zeros)));
  const half = divide(chances, rows >> 1, pick);
  const whole = both(half, half);
  return rows & 1 ? both(chances, whole) : whole;
};

/** The likelihoods of all ways to divide ones and zeros in two; the first has none. */
const splits = (taken: Bits, rest: Bits, ones: number, zeros: number): bigint[] =>
  upTo(ones).flatMap((o) =>
    upTo(zeros).map((z) => (taken[o]?.[z] as bigint) * (rest[ones - o]?.[zeros - z] as bigint)),
  );
