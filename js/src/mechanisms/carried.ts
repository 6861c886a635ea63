/**
 * Keeps a value where plans add answers or change what any number of reports loses.
 *
 * A root answer is kept at the largest odds so far. Answers that are added may take it over, larger odds look at
 * the truth again, and a plan with smaller odds reports the root answer made worse.
 */

import { divideUp, FULL, isAbove, minus, over, plus, type Ratio, times } from "../exact.js";
import { chance, type Halves, type Row, threshold, wordOf } from "../randomness/words.js";
import { keepOrOther, type Unary, unary } from "./shapes.js";

const MOST = 1 << 16; // the odds of a kept value, and how many values there are
const ONE: Ratio = [1n, 1n];
const NONE: Ratio = [0n, 1n];

/** A first round: its number of values, and its threshold; of bits, those of one that is not true. */
export type First = readonly [k: number, keep: bigint];
/** The values removed from those of the plan before, too. */
type Changed = readonly [...First, removed: readonly number[]];

/** What becomes of root answers at a plan. */
export interface Step {
  readonly k: number;
  /** How much likelier a root answer is the value than any other, at this plan and at the one before. */
  readonly odds: Ratio;
  readonly before: Ratio;
  /** The threshold by which the plan's answer is the root answer; null where it always is. */
  readonly stay: bigint | null;
  /** The threshold by which each answer that was added takes over a root answer. */
  readonly share: bigint;
  /** The numbers of values that only the plan before has. */
  readonly removed: readonly number[];
}

/** A root answer that an added one took over: of so many values, and how much likelier it is the true one. */
interface Covered {
  readonly answer: number;
  readonly k: number;
  readonly odds: Ratio;
}

interface Root {
  readonly answer: number;
  readonly covered: readonly Covered[];
}

const whole = (number: number): Ratio => [BigInt(number), 1n];

const oddsOf = (k: number, keep: bigint): Ratio => [keep * BigInt(k - 1), FULL - keep];

const keepOf = ([n, d]: Ratio, k: number): bigint => (FULL * n) / (n + BigInt(k - 1) * d);

/** Whether kept answers of a first round can become others: its thresholds are not too coarse. */
export const isFine = (k: number, keep: bigint): boolean =>
  k <= MOST && !isAbove(oddsOf(k, keep), whole(MOST));

/** The chance of each other answer where an answer of these odds is made worse, to the target. */
export const findMove = (odds: Ratio, target: Ratio, k: number): Ratio =>
  over(minus(odds, target), times(minus(odds, ONE), plus(target, whole(k - 1))));

/** The chance of each other answer to be that of a plan in place of the root answer. */
export const moveOf = ({ stay, k }: Step): Ratio =>
  stay === null ? NONE : [FULL - stay, FULL * BigInt(k - 1)];

/** Whether root answers are raised at a plan. */
export const raises = ({ odds, before }: Step): boolean => isAbove(odds, before);

/** What becomes of root answers by these first rounds. */
export const listSteps = (firsts: readonly Changed[]): readonly Step[] => {
  const steps: Step[] = [];
  for (const [k, keep, removed] of firsts) {
    const stated = oddsOf(k, keep);
    let before = steps.at(-1)?.odds ?? stated;
    if (keep === keepOf(before, k)) before = stated; // the odds of a longer list differ by rounding
    const isWorse = isAbove(before, stated);
    const odds = isWorse ? before : stated;
    const [n, d] = minus(ONE, times(findMove(before, stated, k), whole(k - 1)));
    const share = divideUp(FULL * odds[1], odds[0] + BigInt(k - 1) * odds[1]);
    steps.push({ k, odds, before, stay: isWorse ? (FULL * n) / d : null, share, removed });
  }
  return steps;
};

/** The first answer to a value, with the words of the plans that have had it. */
export const keptValue = async (value: number, row: Row): Promise<number> => {
  const steps = listSteps(row.firsts);
  const numbers = numbersOf(value, steps);
  let roots: readonly Covered[] = [];
  for (const [i, step] of steps.entries()) {
    const number = numbers[i] as number;
    if (number < 0) continue;
    const root = roots.at(-1);
    const isRemoved = root && step.removed.includes(root.answer);
    const words = await row.recall(4, isRemoved ? number + MOST : number, i);
    if (root) roots = leaveOut([...roots.slice(0, -1), { ...root, odds: step.before }], step.removed);
    roots = roots.length ? turn(number, roots, step, words) : [draw(number, step, words)];
  }
  const [root, step] = [roots.at(-1) as Covered, steps.at(-1) as Step];
  if (step.stay === null) return root.answer;
  const words = await row.recall(4, value, steps.length - 1);
  return keepOrOther(root.answer, words.subarray(4), step.k, threshold(step.stay));
};

/**
 * The bits that are kept for a value, with the words of all plans: root bits, which each plan of larger odds draws
 * again, and the last plan once more where its odds are smaller.
 */
export const keptBits = async (first: Unary, value: number, row: Row): Promise<readonly number[]> => {
  const { k, one, zero } = first;
  const steps = listSteps(row.firsts);
  const laws = row.firsts.map(([, keep]) => unary(k, one + zero === FULL ? keep : one, FULL - keep));
  let root = laws[0] as Unary;
  let kept: readonly number[] = root.flip([value], await row.recall(first.words, value));
  const redraw = (plan: number, chances: readonly Ratio[]): Promise<readonly number[]> => {
    const parts = chances.map(([n, d]) => (FULL * FULL * n) / d);
    return first.redraw(value, kept, parts, (number) => row.recall(first.words, number, plan));
  };
  for (const [plan, step] of steps.entries()) {
    if (!raises(step)) continue;
    const law = laws[plan] as Unary;
    kept = await redraw(plan, raiseBits(root, law, findMove(step.odds, step.before, 2)));
    root = law;
  }
  const step = steps.at(-1) as Step;
  if (step.stay === null) return kept;
  const turn = findMove(step.odds, oddsOf(2, FULL - zero), 2);
  return redraw(steps.length - 1, [turn, minus(ONE, turn), turn, minus(ONE, turn)]);
};

/**
 * The chances of a root bit of larger odds, which turns with this chance where it is made worse: of other values,
 * for a bit that was clear or set, then of the value.
 */
const raiseBits = (root: Unary, target: Unary, turn: Ratio): readonly Ratio[] =>
  [[root.zero, target.zero] as const, [root.one, target.one] as const].flatMap(([before, after]) => [
    times([after, FULL - before], turn),
    times([after, before], minus(ONE, turn)),
  ]);

/** The numbers that a value of the last plan has in each plan; -1 in those that do not have it. */
const numbersOf = (value: number, steps: readonly Step[]): readonly number[] => {
  const numbers = [value];
  for (let i = steps.length - 1; i > 0; i--) {
    const [before, { removed }] = [steps[i - 1], steps[i]] as [Step, Step];
    const lost = new Set(removed);
    const left = Array.from({ length: before.k }, (_, number) => number).filter((n) => !lost.has(n));
    numbers.unshift(left[numbers[0] as number] ?? -1);
  }
  return numbers;
};

/**
 * What is left of covered answers, and of the root answer behind them, where answers are removed. The last one
 * that is left is the root answer: those that were removed say nothing of the others.
 */
export const leaveOut = (roots: readonly Covered[], removed: readonly number[]): readonly Covered[] => {
  const below = (number: number): number => removed.filter((each) => each < number).length;
  return roots
    .filter(({ answer }) => !removed.includes(answer))
    .map(({ answer, k, odds }) => ({ answer: answer - below(answer), k: k - below(k), odds }));
};

const draw = (value: number, { k, odds }: Step, words: Halves): Covered => ({
  answer: keepOrOther(value, words, k, threshold(keepOf(odds, k))),
  k,
  odds,
});

/** Raises a root answer, the last one, where the plan's odds are larger; an added answer may take it over. */
const turn = (value: number, roots: readonly Covered[], step: Step, words: Halves): readonly Covered[] => {
  const { k, odds, share } = step;
  const last = roots.at(-1) as Covered;
  let root: Root = { answer: last.answer, covered: roots.slice(0, -1) };
  if (isAbove(odds, last.odds)) root = raise(value, root, last.k, { before: last.odds, odds }, words);
  const kept = { answer: root.answer, k: last.k, odds };
  if (!chance(words, 0, threshold(share * BigInt(k - last.k)))) return [...root.covered, { ...kept, k }];
  return [...root.covered, kept, { answer: last.k + Number(wordOf(words, 0) / share), k, odds }];
};

/** A root answer of larger odds, of which all that was kept is a part; the words from the second on choose it. */
const raise = (
  value: number,
  root: Root,
  k: number,
  { before, odds }: Pick<Step, "before" | "odds">,
  words: Halves,
): Root => {
  const { factors, left } = unfold(value, root, k, before, odds);
  const points = [value, root.answer, ...root.covered.map(({ answer }) => answer)];
  const edges = [
    0,
    k,
    ...root.covered.map((each) => each.k),
    ...points.flatMap((point) => [point, point + 1]),
  ];
  const starts = [...new Set(edges)].sort((a, b) => a - b).slice(0, -1);
  const plain = starts.map((start): Ratio => {
    const pull = over(minus(times(before, plus(odds, whole(k - 2))), whole(k - 1)), minus(odds, before));
    const pulled = times(start === value ? odds : ONE, start === root.answer ? pull : ONE);
    return simplest(factors.reduce((weight, factor) => times(weight, factor(start)), pulled));
  });
  const sizes = starts.map((start, i) => whole((starts[i + 1] ?? k) - start));
  const weights = liftLeast(plain, sizes);
  const sums = weights.map((weight, i) => times(weight, sizes[i] as Ratio));
  const number = [1, 2, 3].reduce((sum, c) => sum * FULL + wordOf(words, c), 0n);
  let place = times(sums.reduce(plus), [number, FULL ** 3n]);
  let at = 0;
  for (; !isAbove(sums[at] as Ratio, place); at++) place = minus(place, sums[at] as Ratio);
  const [n, d] = over(place, weights[at] as Ratio);
  const answer = (starts[at] as number) + Number(n / d);
  return { answer, covered: left.filter((each) => each.k <= answer) };
};

/** Weights of so many answers each: one below a 2^128th of their sum counts as this, if it is not 0. */
export const liftLeast = (weights: readonly Ratio[], sizes: readonly Ratio[]): readonly Ratio[] => {
  const sum = weights.map((weight, i) => times(weight, sizes[i] as Ratio)).reduce(plus);
  const least = over(sum, [1n << 128n, 1n]);
  return weights.map((weight) => (weight[0] && isAbove(least, weight) ? least : weight));
};

/**
 * By what factors covered answers make raised ones likelier, and what they say of the value then. A covered
 * answer, from the last one on, is made of a raised answer below its k: it is this one, or seldom another. Else
 * it is what is left of its own law.
 */
const unfold = (value: number, { covered }: Root, k: number, odds: Ratio, target: Ratio) => {
  const factors: ((start: number) => Ratio)[] = [];
  const left: Covered[] = [];
  const gain = minus(target, ONE);
  let share = over(minus(target, odds), times(gain, plus(target, whole(k - 1))));
  for (const { answer, k: size, odds: own } of [...covered].reverse()) {
    const all = plus(own, whole(size - 1));
    const rest = minus(ONE, times(share, plus(target, whole(size - 1))));
    const [few, many] = [over(minus(own, ONE), all), times(share, gain)];
    const isAll = !isAbove(times(many, [FULL - 1n, FULL]), few);
    const gap = isAll ? ONE : over(few, many);
    const other = isAll ? NONE : over(minus(ONE, gap), whole(size));
    const even = over(rest, whole(size));
    const [one, any] = isAll
      ? [minus(over(own, all), times(target, share)), minus(over(ONE, all), share)]
      : [even, even];
    const above = over(answer === value ? one : any, rest);
    const same = plus(gap, other);
    factors.push((start) => (start >= size ? above : start === answer ? same : other));
    if (isAbove(one, any)) left.unshift({ answer, k: size, odds: simplest(over(one, any)) });
    share = simplest(times(share, times(other, all)));
  }
  return { factors, left };
};

const simplest = ([n, d]: Ratio): Ratio => {
  let [a, b] = [n, d];
  while (b) [a, b] = [b, a % b];
  return [n / a, d / a];
};
