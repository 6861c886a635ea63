/**
 * Builds reports that do not depend on any value, and compares real reports with them.
 *
 * What a fake costs or saves is in one number per report: how many times likelier the report is from a
 * person with value v than from the fake. `evidence` lists the extreme ones.
 */

import { must, NOT_CANONICAL } from "../errors.js";
import { cell, divideUp, FULL, minus, over, plus, type Ratio, times } from "../exact.js";
import type { Mechanism, Part } from "../mechanisms/mechanism.js";
import type { Direct, Unary } from "../mechanisms/shapes.js";
import { below, type Halves, type Row, wordOf } from "../randomness/words.js";

/**
 * How much likelier than from the fake: a report that two values can send, from the one and from the other.
 */
export type Evidence = readonly [first: Ratio, second: Ratio];

/** A mechanism whose loss is zero: its report does not depend on the value. */
export interface Fake {
  /** The mechanism whose reports it imitates. */
  readonly part: Mechanism;
  readonly words: number;
  /** How far the bias of `below` may move a fake's probability from the one in `evidence`, as a factor. */
  readonly slack: Ratio;
  encode(row: Row): Part | Promise<Part>;
  /**
   * The extreme pairs over all reports and all pairs of values; a value compared with itself is there too.
   */
  readonly evidence: readonly Evidence[];
  /** Where people are asked again: the fake of the first answer, and the evidence of so many reports. */
  readonly first?: Fake;
  after?(reports: number): Weight;
}

/** What a fake costs or saves. */
export type Weight = Pick<Fake, "evidence" | "slack">;

export const NONE: Ratio = [1n, 1n];

/** A public guess of how frequent each value is, in words out of 2^64; no value is left out. */
export interface Prior {
  readonly k: number;
  /** The smallest and the largest weight: ratios to a fake are largest and smallest there. */
  readonly extremes: readonly bigint[];
  /** The value that a row's first word draws. */
  draw(words: Halves): number;
}

/** All values alike, but for the words left over: the law of `below`. */
export const uniform = (k: number): Prior => ({ k, extremes: cell(k), draw: (words) => below(words, 0, k) });

export const prior = (weights: readonly bigint[]): Prior => {
  const k = weights.length;
  const ends = new BigUint64Array(k);
  let [sum, least, most, isUniform] = [0n, FULL, 0n, true];
  for (const [v, weight] of weights.entries()) {
    if (weight < least) least = weight;
    if (weight > most) most = weight;
    sum += weight;
    ends[v] = sum;
    isUniform &&= sum === divideUp(FULL * BigInt(v + 1), BigInt(k));
  }
  must(k > 1 && sum === FULL, "prior", () => "a prior's weights are positive and sum to 2^64");
  must(!isUniform, "canonical", () => `the plan ${NOT_CANONICAL}: a prior is uniform`);
  const draw = (words: Halves): number => {
    const word = wordOf(words, 0);
    let [low, high] = [0, k - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] as bigint) <= word) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { k, extremes: [least, most], draw };
};

/**
 * A value drawn from a prior and sent as it is, among direct reports: as published, and open to a good
 * attacker.
 */
export const guessed = (part: Direct, believed: Prior): Fake => ({
  part,
  words: 1,
  slack: NONE,
  encode: ({ fresh }) => believed.draw(fresh),
  evidence: believed.extremes.flatMap((weight) => directEvidence(part, [weight, FULL])),
});

/** A value drawn from a prior and put through the mechanism, as if a person had it. */
export const imitated = (part: Direct | Unary, believed: Prior): Fake => {
  const fake = {
    part,
    words: 1 + part.words,
    encode: (row: Row) => part.encode(believed.draw(row.fresh), row.from(1)) as Part,
  };
  const shares = believed.extremes.map((weight): Ratio => [weight, FULL]);
  if ("keep" in part) {
    const evidence = shares.flatMap((share) => directEvidence(part, imitatedChance(part, share)));
    return { ...fake, evidence, slack: [FULL, FULL - 4n * BigInt(part.k)] };
  }
  return { ...fake, evidence: imitatedBits(part.up, over(NONE, part.down), shares), slack: NONE };
};

/** How likely a report of a value with this share in the prior is. */
export const imitatedChance = ({ k, keep }: Direct, share: Ratio): Ratio => {
  const q: Ratio = [FULL - keep, FULL * BigInt(k - 1)];
  return plus(q, times(share, minus([keep, FULL], q)));
};

/**
 * A set bit speaks for its value by `more`, a clear one by `less`. A fake is an average of both, by the
 * prior's share of the values whose bits are set: at least one value's, at most all but one's.
 */
export const imitatedBits = (more: Ratio, less: Ratio, shares: readonly Ratio[]): Evidence[] =>
  [...shares, ...shares.map((share) => minus(NONE, share))].flatMap((covered) => {
    const average = plus(less, times(minus(more, less), covered));
    return bothWays(over(more, average), over(less, average));
  });

/** All bits clear, put through unary encoding: a person with no value at all. */
export const blank = (part: Unary): Fake => ({
  part,
  words: part.words,
  slack: NONE,
  encode: ({ fresh }) => part.flip([], fresh),
  evidence: bothWays(part.up, over(NONE, part.down)),
});

const directEvidence = ({ k, keep }: Direct, fake: Ratio): Evidence[] => {
  const [fewest, most] = cell(k - 1).map((words) => over([(FULL - keep) * words, FULL * FULL], fake)) as [
    Ratio,
    Ratio,
  ];
  return [...bothWays(over([keep, FULL], fake), fewest), [most, fewest]];
};

export const bothWays = (high: Ratio, low: Ratio): Evidence[] => [
  [high, low],
  [low, high],
  [high, high],
  [low, low],
];
