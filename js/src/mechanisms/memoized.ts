/**
 * Builds mechanisms for repeated collections: a permanent first answer, and a fresh second round at every
 * collection.
 *
 * What repeated reports give away is not one number.
 */

import { must } from "../errors.js";
import { FULL, type Loss, largest, logUp, over, powerUp, type Ratio, smaller, times } from "../exact.js";
import { below, type Row } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedKind } from "../strict.js";
import { keptBits, keptValue } from "./carried.js";
import { directChanges, MOST_ROUNDS, unaryChanges } from "./changes.js";
import type { HashedPart, Mechanism, Nobody } from "./mechanism.js";
import { countFunctions, poolBucket, pooled } from "./pooled.js";
import type { Repeated, TwoRounds } from "./repeated.js";
import { readRound } from "./shape_json.js";
import { bucketOf, type Direct, guessBit, hashed, hashFunction, nobodyAmong, type Unary } from "./shapes.js";

type Words = Uint32Array<ArrayBuffer>;

/** A permanent answer by `first`, and at each collection a fresh report of it by `second`. */
export interface Memoized extends Repeated<number | readonly number[]> {
  readonly first: Direct | Unary;
  readonly second: Direct | Unary;
}

export const memoized = (first: Direct | Unary, second: Direct | Unary): Memoized => {
  const { k } = first;
  must(
    "keep" in first === "keep" in second && k === second.k,
    "shape",
    () => "both rounds must have the same shape and size",
  );
  const both = "keep" in first ? directRounds(first, second as Direct) : unaryRounds(first, second as Unary);
  return {
    k,
    words: first.words + second.words,
    ratio: both.after(1),
    codec: second.codec as Memoized["codec"],
    ...both.guesses,
    first,
    second,
    ...both.fakes,
    forever: first.ratio,
    rounds: both,
    encode: async (value, row) => {
      const { fresh } = row.from(first.words);
      return row.firsts.length
        ? both.carry(value, row, fresh)
        : both.encode(value, await row.recall(first.words, value), fresh);
    },
    losses: (rounds) => {
      const forever = logUp(first.ratio);
      return [
        logUp(both.after(1)),
        logUp(smaller(both.after(rounds), first.ratio)),
        forever,
        changing(both, rounds),
        forever * BigInt(Math.min(rounds, k)),
      ];
    },
  };
};

/** The loss of values that change; plans ask about many attributes alike, so it is kept. */
const changing = (both: Rounds, rounds: number): Loss => {
  if (rounds === 1) return logUp(both.after(1));
  const few = Math.min(rounds, MOST_ROUNDS);
  const name = `${both.name} ${few}`;
  const loss = known.get(name) ?? both.changes(few);
  known.set(name, loss);
  return loss + logUp(both.fresh) * BigInt((rounds - few) * both.parts);
};

const known = new Map<string, Loss>();

interface Rounds extends TwoRounds {
  /** What tells these rounds from others. */
  readonly name: string;
  /** The loss of a few reports of values that change. */
  changes(rounds: number): Loss;
  /** At least the largest ratio after this many reports of an unchanged value. */
  after(reports: number): Ratio;
  /** How often an attacker is right, by one report and by all, where the ratios say less. */
  readonly guesses?: Pick<Memoized, "guess" | "always">;
  /** What fakes need of them. */
  readonly fakes: Pick<Memoized, "nobody" | "buckets">;
  encode(value: number, kept: Words, fresh: Words): number | number[];
  /** Both rounds of a value whose first answer comes from the words of several plans. */
  carry(value: number, row: Row, fresh: Words): Promise<number | number[]>;
}

const directRounds = (first: Direct, second: Direct): Rounds => ({
  name: `${first.k} ${first.keep} ${second.keep}`,
  first: [first.k, first.keep],
  alike: `${first.k} ${first.keep} ${second.keep}`,
  changes: (rounds) => directChanges(first, second, rounds),
  after(reports) {
    return this.given(...this.speak(reports), reports);
  },
  speak: (reports) => {
    const ratio = powerUp(second.ratio, reports);
    return [ratio, ratio];
  },
  given: ([r, s], _, reports) => {
    // both ratios are upper bounds that count the bias of `below`; the chain (a r + k - 1) / (a + r + k -
    // 2) grows with both
    const k = BigInt(first.k);
    const [a, b] = first.ratio;
    const chain: Ratio = [a * r + (k - 1n) * b * s, a * s + r * b + (k - 2n) * b * s];
    return times(chain, [FULL, FULL - 4n * k * BigInt(reports + 1)]);
  },
  fresh: second.ratio,
  parts: 1,
  k: first.k,
  fakes: { buckets: { k: first.k, keep: first.keep, again: second.keep } },
  encode: (value, kept, fresh) => second.pick(first.pick(value, kept), fresh),
  carry: async (value, row, fresh) => second.pick(await keptValue(value, row), fresh),
});

const unaryRounds = (first: Unary, second: Unary): Rounds => {
  /**
   * How much likelier for the true value, after reports that speak so much for a kept bit that is set
   * against a clear one.
   */
  const after = ([set, clear]: Ratio): Ratio => [
    first.one * set + (FULL - first.one) * clear,
    first.zero * set + (FULL - first.zero) * clear,
  ];
  const set = (kept: bigint): bigint => kept * second.one + (FULL - kept) * second.zero;
  return {
    name: `${first.k} ${first.one} ${first.zero} ${second.one} ${second.zero}`,
    guesses: {
      guess: guessBit(first.k, set(first.one), set(first.zero), FULL * FULL),
      ...(first.guess && { always: first.guess.chance }),
    },
    first: [2, FULL - first.zero],
    alike: `${first.one} ${first.zero} ${second.one} ${second.zero}`,
    changes: (rounds) => unaryChanges(first, second, rounds),
    after(reports) {
      return this.given(...this.speak(reports), reports);
    },
    speak: (reports) => [powerUp(second.up, reports), powerUp(second.down, reports)],
    // all of them set for the one value, and clear for the other; this grows with both powers
    given: (rise, [clear, set]) => over(after(rise), after([set, clear])),
    fresh: largest([second.up, second.down]),
    parts: first.k,
    k: first.k,
    fakes: {
      nobody: {
        ...(first.nobody as Nobody<readonly number[]>),
        words: first.words + second.words,
        encode: async (row) =>
          second.flip(first.flip([], await row.recall(first.words)), row.from(first.words).fresh),
      },
    },
    encode: (value, kept, fresh) => second.flip(first.flip([value], kept), fresh),
    carry: async (value, row, fresh) => second.flip(await keptBits(first, value, row), fresh),
  };
};

/** How a kept word gives a hash function: the bucket of a value, and the part that says function and bucket. */
interface Hashing<P extends HashedPart | number> {
  readonly once: Mechanism<P>;
  hash(words: Words, value: number): number;
  part(words: Words, bucket: number): P;
}

/** A permanent hash function, and two rounds on the bucket: what is kept is per bucket, not per value. */
const memoizedBuckets = <P extends HashedPart | number>(
  buckets: Memoized,
  hashing: (g: number, keep: bigint) => Hashing<P>,
): Repeated<P> => {
  const { first } = buckets;
  must("keep" in first, "shape", () => "the rounds on a bucket are direct ones");
  const second = buckets.second as Direct;
  const { once, hash, part } = hashing(first.k, first.keep);
  return {
    ...once, // the same reports, made otherwise
    words: 1 + buckets.words,
    ratio: buckets.ratio,
    forever: buckets.forever,
    losses: buckets.losses,
    rounds: buckets.rounds as TwoRounds,
    encode: async (value, row) => {
      const words = await row.recall(1);
      return part(words, (await buckets.encode(hash(words, value), row.from(1))) as number);
    },
    nobody: {
      ...nobodyAmong(first.k, first.keep, async (row) => {
        const kept = await row.recall(2);
        return part(kept, second.pick(below(kept, 1, first.k), row.from(2).fresh));
      }),
      words: 2 + second.words,
    },
    ...(buckets.buckets && { buckets: buckets.buckets }),
  };
};

/** Two rounds on the bucket of a function that each device draws (LOLOHA). */
export const hashedMemoized = (k: number, buckets: Memoized): Repeated<HashedPart> =>
  memoizedBuckets(buckets, (g, keep) => ({
    once: hashed(k, g, keep),
    hash: (words, value) => bucketOf(...hashFunction(words), value, g),
    part: (words, bucket) => {
      const [a, b] = hashFunction(words);
      return { a, b, bucket };
    },
  }));

/** Two rounds on the bucket of a function of a public pool. */
export const pooledMemoized = (k: number, buckets: Memoized): Repeated<number> =>
  memoizedBuckets(buckets, (g, keep) => {
    const functions = countFunctions(k, g);
    return {
      once: pooled(k, g, keep),
      hash: (words, value) => poolBucket(below(words, 0, functions), value, g),
      part: (words, bucket) => below(words, 0, functions) * g + bucket,
    };
  });

/** Reads two rounds of one shape from a plan. */
export const readMemoized = (data: unknown): Memoized => {
  const { first, second } = checkedFields(data, "a memoized mechanism", ["kind", "first", "second"]);
  return memoized(readRound(first), readRound(second));
};

/** Reads a permanent hash function, and two rounds on the bucket, from a plan. */
const readBuckets =
  (kind: string, make: (k: number, buckets: Memoized) => unknown) =>
  (data: unknown): Mechanism => {
    const { k, buckets } = checkedFields(data, `a ${kind} mechanism`, ["kind", "k", "buckets"]);
    checkedKind(buckets, "a mechanism", ["memoized"]);
    return make(checkedInteger(k, "k"), readMemoized(buckets)) as Mechanism;
  };

export const readHashedMemoized = readBuckets("hashed-memoized", hashedMemoized);
export const readPooledMemoized = readBuckets("pooled-memoized", pooledMemoized);
