/**
 * Builds reports that do not depend on any value, and compares real reports with them.
 *
 * What a fake costs or saves is in one number per report: how many times likelier the report is from a
 * person with value v than from the fake. `evidence` lists the extreme ones.
 *
 * Where people are asked again, a fake keeps a first answer as a person does, and each collection gets a fresh
 * report of it. After several reports, the extreme sequences are constant: `deniable/records/fakes.py` says why.
 */

import { must, NOT_CANONICAL } from "../errors.js";
import { cell, divideUp, FULL, minus, over, plus, powerUp, type Ratio, times } from "../exact.js";
import type { Buckets, Mechanism, Nobody, Part } from "../mechanisms/mechanism.js";
import type { Memoized } from "../mechanisms/memoized.js";
import { isRepeated } from "../mechanisms/repeated.js";
import type { Direct, Unary } from "../mechanisms/shapes.js";
import { below, type Halves, type Row, wordOf } from "../randomness/words.js";

/**
 * How much likelier than from the fake: a report that two values can send, from the one and from the other.
 */
export type Evidence = readonly [first: Ratio, second: Ratio];

/** What a fake costs or saves. */
export interface Weight {
  /**
   * The extreme pairs over all reports and all pairs of values; a value compared with itself is there too.
   */
  readonly evidence: readonly Evidence[];
  /** How far the bias of `below` may move a fake's probability from the one in `evidence`, as a factor. */
  readonly slack: Ratio;
}

/** What a fake costs or saves, where a first answer may be kept. */
interface Weights {
  /** That of the first answer, which any number of reports shows at most. */
  readonly first: Weight;
  /** That of so many reports of it. */
  after(reports: number): Weight;
}

/** A mechanism whose loss is zero: its report does not depend on the value. */
export interface Fake extends Weight, Weights {
  /** The mechanism whose reports it imitates. */
  readonly part: Mechanism;
  readonly words: number;
  encode(row: Row): Part | Promise<Part>;
}

const NONE: Ratio = [1n, 1n];

/** A public guess of how frequent each value is, in words out of 2^64; no value is left out. */
export interface Prior {
  readonly k: number;
  /** The smallest and the largest weight: ratios to a fake are largest and smallest there. */
  readonly extremes: readonly [least: bigint, most: bigint];
  /** The weight of each value. */
  weights(): BigUint64Array;
  /** The value that a row's first word draws. */
  draw(words: Halves): number;
}

/** All values alike, but for the words left over: the law of `below`. */
export const uniform = (k: number): Prior => ({
  k,
  extremes: cell(k),
  weights: () => {
    const end = (v: number): bigint => divideUp(FULL * BigInt(v), BigInt(k));
    return BigUint64Array.from({ length: k }, (_, v) => end(v + 1) - end(v));
  },
  draw: (words) => below(words, 0, k),
});

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
  return { k, extremes: [least, most], weights: () => BigUint64Array.from(weights), draw };
};

/**
 * A value drawn from a prior and sent as it is, among direct reports: as published, and open to a good
 * attacker.
 */
export const guessed = (part: Direct | Memoized, believed: Prior): Fake => {
  must("keep" in part || "keep" in part.first, "shape", () => "a guessed fake goes with reports of values");
  const chances = believed.extremes.map(ofAll);
  const weights = weighValues(part.buckets as Buckets, chances, 0);
  if (!isRepeated(part)) return fakeOf(part, 1, weights, ({ fresh }) => believed.draw(fresh));
  const second = (part as Memoized).second as Direct;
  return fakeOf(part, 1 + second.words, weights, async (row) =>
    second.pick(believed.draw(await row.recall(1)), row.from(1).fresh),
  );
};

/** A value drawn from a prior and put through the mechanism, as if a person had it. */
export const imitated = (part: Mechanism, believed: Prior): Fake => {
  const { buckets, nobody } = part;
  const [least, most] = believed.extremes;
  const usual = nobody ? [least, FULL - least] : [least, most]; // of reports that are values
  const shares = (part.cover?.(believed.weights()) ?? usual).map(ofAll);
  const weights = buckets
    ? weighValues(buckets, shares.map(imitatedChance(buckets)), buckets.k)
    : weighSets(part, nobody as Nobody, shares);
  return fakeOf(part, 1 + part.words, weights, async (row) =>
    part.encode(believed.draw(isRepeated(part) ? await row.recall(1) : row.fresh), row.from(1)),
  );
};

/** The report of nobody: a uniform set, column or bucket, or bits of which none is true. */
export const blank = (part: Mechanism): Fake => {
  const { buckets, nobody } = part;
  must(nobody, "shape", () => "a blank fake goes with reports of sets of values");
  const weights = buckets
    ? weighValues(buckets, cell(buckets.k).map(ofAll), 0)
    : weighSets(part, nobody as Nobody);
  return fakeOf(part, (nobody as Nobody).words, weights, (row) => (nobody as Nobody).encode(row));
};

const fakeOf = (part: Mechanism, words: number, weights: Weights, encode: Fake["encode"]): Fake => ({
  part,
  words,
  encode,
  ...weights,
  ...weights.after(1),
});

const ofAll = (weight: bigint): Ratio => [weight, FULL];

/** How much the bias of draws below so many may move a sum of ratios: `deniable/records/fakes.py` says why. */
const slackOf = (cells: bigint): Ratio => [FULL, FULL - 4n * cells];

/** How likely a report of a value, or of a bucket of values, with this share in the prior is. */
const imitatedChance =
  ({ k, keep }: Buckets) =>
  (share: Ratio): Ratio => {
    const q: Ratio = [FULL - keep, FULL * BigInt(k - 1)];
    return plus(q, times(share, minus([keep, FULL], q)));
  };

/** From how likely the fake's answer is each extreme, and among how many cells a draw of its own chooses. */
const weighValues = ({ k, keep, again }: Buckets, chances: readonly Ratio[], cells: number): Weights => {
  const first = {
    evidence: chances.flatMap((chance) => directEvidence(k, keep, chance)),
    slack: slackOf(BigInt(cells)),
  };
  const many = BigInt(k);
  const after = (reports: number): Weight => {
    if (again === undefined) return first;
    const odds = powerUp([again * (many - 1n), FULL - again], reports);
    if (!odds[1]) return first; // infinite: what is kept is known
    const gain = minus(odds, NONE);
    const raised = (chance: Ratio): Ratio => plus(NONE, times(gain, chance));
    const [truth, other] = [raised([keep, FULL]), raised([FULL - keep, FULL * (many - 1n)])];
    const evidence = chances.flatMap((chance) =>
      bothWays(over(truth, raised(chance)), over(other, raised(chance))),
    );
    return { evidence, slack: slackOf(many * BigInt(reports + 1)) };
  };
  return { first, after };
};

const directEvidence = (k: number, keep: bigint, fake: Ratio): Evidence[] => {
  const [fewest, most] = cell(k - 1).map((words) => over([(FULL - keep) * words, FULL * FULL], fake)) as [
    Ratio,
    Ratio,
  ];
  return [...bothWays(over([keep, FULL], fake), fewest), [most, fewest]];
};

/**
 * From the extreme shares of a prior that a report supports: a fake is an average of what a report says of
 * these values and of others. Without shares it is nobody's.
 */
const weighSets = (part: Mechanism, nobody: Nobody, shares?: readonly Ratio[]): Weights => {
  const weigh = (more: Ratio, less: Ratio): Evidence[] => {
    if (nobody.isAboutOne) return [...bothWays(more, NONE), ...bothWays(NONE, less)];
    return shares
      ? shares.flatMap((share) => {
          const average = plus(less, times(minus(more, less), share));
          return bothWays(over(more, average), over(less, average));
        })
      : bothWays(more, less);
  };
  const first = { evidence: weigh(nobody.more, nobody.less), slack: slackOf(BigInt(nobody.cells)) };
  const after = (reports: number): Weight => {
    if (!("second" in part)) return first;
    const { first: kept, second } = part as unknown as { first: Unary; second: Unary };
    const ones = powerUp(second.up, reports);
    const [n, d] = powerUp(second.down, reports);
    if (!ones[1] || !d) return first;
    /** How much likelier for the true value, if a kept bit that is set is so much likelier than a clear one. */
    const speak = ([set, clear]: Ratio): Ratio => [
      kept.one * set + (FULL - kept.one) * clear,
      kept.zero * set + (FULL - kept.zero) * clear,
    ];
    return { evidence: weigh(speak(ones), speak([d, n])), slack: NONE };
  };
  return { first, after };
};

const bothWays = (high: Ratio, low: Ratio): Evidence[] => [
  [high, low],
  [low, high],
  [high, high],
  [low, low],
];
