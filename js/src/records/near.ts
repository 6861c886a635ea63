/**
 * Reports a set of options, or all yes/no answers, that is probably near the truth: one word says whether it is,
 * and the next picks one of all near reports, or of all far ones.
 */

import { must } from "../errors.js";
import { cell, FULL, type Ratio, wholeNumber } from "../exact.js";
import { integer } from "../mechanisms/codecs.js";
import { checkedThreshold, type Mechanism } from "../mechanisms/mechanism.js";
import { below, type Code, chance, type Halves, threshold as toThreshold } from "../randomness/words.js";
import { checkedFields, checkedInteger, threshold } from "../strict.js";
import type { RecordMechanism } from "./records.js";

const MOST_OPTIONS = 100;
const MOST_ANSWERS = 31;
const MOST_REPORTS = 2 ** 32;
const [YES, NO] = [0, 1];

/** All reports that agree with the truth in so many places. */
interface Agreeing {
  readonly places: number;
  readonly reports: number;
}

/** What near sets and near bits are drawn by. */
interface Draw {
  readonly agreeing: readonly Agreeing[];
  /** In how many places a near report agrees, at least. */
  readonly least: number;
  /** How many words of 2^64 make a near report. */
  readonly keep: bigint;
}

/** How many reports are near, and how many are far. */
const sizesOf = ({ agreeing, least }: Draw): readonly [near: number, far: number] => {
  const count = (isNear: boolean): number =>
    agreeing.reduce((sum, { places, reports }) => sum + (places >= least === isNear ? reports : 0), 0);
  return [count(true), count(false)];
};

/** The ratio of a near report to a far one; what is not likelier near is refused. */
const checkedRatio = (draw: Draw): Ratio => {
  const { keep } = draw;
  checkedThreshold(keep);
  const [near, far] = sizesOf(draw);
  must(near + far < MOST_REPORTS, "near", () => `one word picks one of ${MOST_REPORTS - 1} reports at most`);
  must(near > 0 && far > 0, "near", () => "some reports are near, and some are far");
  const [fewestNear, mostNear] = cell(near);
  const [fewestFar, mostFar] = cell(far);
  must(keep * fewestNear > (FULL - keep) * mostFar, "likelier", () => "a near report must be likelier");
  return [keep * mostNear, (FULL - keep) * fewestFar];
};

/** The mean number of places in which a report agrees, as a fraction. */
const meanPlaces = (draw: Draw): Ratio => {
  const [near, far] = sizesOf(draw).map(BigInt) as [bigint, bigint];
  const { agreeing, least, keep } = draw;
  const sum = agreeing.reduce(
    (total, { places, reports }) =>
      total + BigInt(places) * BigInt(reports) * (places >= least ? keep * far : (FULL - keep) * near),
    0n,
  );
  return [sum, near * far * FULL];
};

/** The places in which a report agrees, and its rank among all that agree in as many. */
const drawReport = (draw: Draw, words: Halves): readonly [places: number, rank: number] => {
  const isNear = chance(words, 0, toThreshold(draw.keep));
  let rank = below(words, 1, sizesOf(draw)[isNear ? 0 : 1]);
  for (const { places, reports } of draw.agreeing) {
    if (places >= draw.least !== isNear) continue;
    if (rank < reports) return [places, rank];
    rank -= reports;
  }
  throw new RangeError("a rank is below the number of reports");
};

/** The subset of n things that has this rank in the order of a dictionary. */
const pickSubset = (n: number, size: number, rank: number): number[] => {
  const picked: number[] = [];
  for (let [thing, rest] = [0, rank]; picked.length < size; thing++) {
    const following = choose(n - thing - 1, size - picked.length - 1);
    if (rest < following) picked.push(thing);
    else rest -= following;
  }
  return picked;
};

/** How many subsets of a size there are; exact below 2^53. */
const choose = (n: number, size: number): number => {
  let count = 1;
  for (let i = 1; i <= Math.min(size, n - size); i++) count = (count * (n - i + 1)) / i;
  return size <= n ? Math.round(count) : 0;
};

/**
 * What a near report says of one answer: yes with probability one / 2^64 of people with a yes, and zero / 2^64
 * of others. Its ratio is that of the whole report, which one draw decides.
 */
const tick = (one: bigint, zero: bigint, ratio: Ratio): Mechanism<number> => {
  const [ones, zeros] = [checkedThreshold(one), checkedThreshold(zero)];
  must(zero < one, "likelier", () => `thresholds must have zero < one, got ${zero} and ${one}`);
  return {
    k: 2,
    words: 1,
    ratio,
    codec: integer(2),
    guess: { chance: [FULL + one - zero, 2n * FULL], among: 2 },
    encode: (value, { fresh }) => (chance(fresh, 0, value === YES ? ones : zeros) ? YES : NO),
  };
};

/** A record mechanism of so many yes/no answers, all of which one draw decides. */
const together = (
  size: number,
  part: Mechanism<number>,
  limits: Pick<RecordMechanism["groups"][number], "marked" | "allowed">,
  mark: (isYes: readonly boolean[], words: Halves) => ReadonlySet<number>,
): RecordMechanism => {
  const mechanisms = Array<Mechanism>(size).fill(part);
  return {
    mechanisms,
    groups: [{ size, named: 0, real: size, ...limits }],
    words: 2,
    ratios: mechanisms.map(({ ratio }) => ratio),
    loss: (of) => of(part),
    encode: async (values: readonly Code[], row) => {
      const { fresh } = await row.noise(0, 2, Uint8Array.from(values, Number));
      const marks = mark(
        values.map((value) => value === YES),
        fresh,
      );
      return values.map((_, j) => (marks.has(j) ? YES : NO));
    },
  };
};

/** A fraction of 2^64, rounded to the nearest threshold, and to an even one between two. */
const rounded = ([n, d]: Ratio): bigint => {
  const [whole, rest] = [(FULL * n) / d, 2n * ((FULL * n) % d)];
  return whole + BigInt(rest > d || (rest === d && whole % 2n === 1n));
};

/** Some options, of which a person has chosen some: a near report has at least so many chosen ones. */
export const readNearSets = (data: unknown): RecordMechanism => {
  const names = ["options", "chosen", "spare", "size", "least"] as const;
  const fields = checkedFields(data, "a near-sets mechanism", ["kind", ...names, "keep"]);
  const [options, chosen, spare, size, least] = names.map((name) => checkedInteger(fields[name], name)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  wholeNumber("near", "options", options, 2, MOST_OPTIONS);
  wholeNumber("near", "chosen", chosen, 1, options - (spare ? 0 : 1));
  wholeNumber("near", "spare", spare, 0, chosen);
  const places = options + spare;
  wholeNumber("near", "size", size, 1, places - 1);
  wholeNumber("near", "least", least, 1, Math.min(chosen, size));
  const others = places - chosen;
  const agreeing = Array.from({ length: Math.min(chosen, size) + 1 }, (_, i) => ({
    places: i,
    reports: choose(chosen, i) * choose(others, size - i),
  })).filter(({ reports }) => reports > 0);
  const draw = { agreeing, least, keep: threshold(fields.keep) };
  const ratio = checkedRatio(draw);
  const [n, d] = meanPlaces(draw);
  const part = tick(
    rounded([n, d * BigInt(chosen)]),
    rounded([BigInt(size) * d - n, d * BigInt(others)]),
    ratio,
  );
  const marked = [Math.max(size - spare, 0), size] as const;
  return together(options, part, { marked, allowed: [chosen - spare, chosen] }, (isYes, words) => {
    const lacking = chosen - isYes.filter(Boolean).length;
    const isChosen = [...isYes, ...Array.from({ length: spare }, (_, i) => i < lacking)];
    const [has, lacks] = [true, false].map((side) =>
      [...isChosen.keys()].filter((j) => isChosen[j] === side),
    ) as [number[], number[]];
    const [hits, rank] = drawReport(draw, words);
    const inside = choose(others, size - hits);
    const picked = [
      ...pickSubset(chosen, hits, Math.floor(rank / inside)).map((i) => has[i] as number),
      ...pickSubset(others, size - hits, rank % inside).map((i) => lacks[i] as number),
    ];
    return new Set(picked);
  });
};

/** All yes/no answers: a near report agrees with the truth in at least so many of them. */
export const readNearBits = (data: unknown): RecordMechanism => {
  const fields = checkedFields(data, "a near-bits mechanism", ["kind", "answers", "least", "keep"]);
  const answers = wholeNumber("near", "answers", checkedInteger(fields.answers, "answers"), 2, MOST_ANSWERS);
  const least = wholeNumber("near", "least", checkedInteger(fields.least, "least"), 1, answers);
  const agreeing = Array.from({ length: answers + 1 }, (_, i) => ({
    places: i,
    reports: choose(answers, i),
  }));
  const draw = { agreeing, least, keep: threshold(fields.keep) };
  const ratio = checkedRatio(draw);
  const [n, d] = meanPlaces(draw);
  const isTrue = rounded([n, d * BigInt(answers)]);
  return together(answers, tick(isTrue, FULL - isTrue, ratio), {}, (isYes, words) => {
    const [hits, rank] = drawReport(draw, words);
    const agrees = new Set(pickSubset(answers, hits, rank));
    return new Set(isYes.flatMap((said, j) => (said === agrees.has(j) ? [j] : [])));
  });
};
