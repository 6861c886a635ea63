/**
 * Finds what a plan carries on from those that it continues, and what reports to all of them give away.
 *
 * A question is carried on where its first answers are made as before. They then come from the words of the first
 * plan that has it. What is carried on follows from the documents alone, so that a device trusts nobody.
 */

import type { Attribute } from "../domains/attribute.js";
import { must } from "../errors.js";
import { FULL, type Loss, logUp, plus, type Ratio, times } from "../exact.js";
import { type FigureRow as Figures, recordLosses, type Together } from "../losses/together.js";
import { findMove, isFine, listSteps, moveOf, raises, type Step } from "../mechanisms/carried.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { countFunctions } from "../mechanisms/pooled.js";
import { FIGURES, lossesOf, type Repeated, type TwoRounds } from "../mechanisms/repeated.js";
import type { Strand } from "../randomness/words.js";
import { byNumber, type RecordMechanism } from "../records/records.js";
import { canonical, type Fields } from "../strict.js";

/** How many plans a plan can continue. */
export const MOST_BEFORE = 15;
const MOST_ROUNDS = 10_000; // of all plans that continue each other
const UNIT: Ratio = [1n, 1n];

/** What is needed of a plan that continues others, or is continued. */
export interface Link {
  readonly id: string;
  readonly attributes: readonly Attribute[];
  readonly mechanism: RecordMechanism;
  readonly rounds: number | null;
  /** How many reports one device makes; null where people are asked once. */
  readonly reports: number | null;
  /** The document. */
  readonly data: Fields;
}

/** The plans whose words are kept, by their ids. */
export type Origin = Omit<Strand, "memories"> & { readonly plans: readonly string[] };

/** What is looked at in attributes and mechanisms of a document. */
interface Json {
  readonly kind?: string;
  readonly parts?: readonly Json[];
  readonly fakes?: readonly Json[];
  readonly reported?: number;
  readonly weights?: readonly number[];
  readonly first?: Json;
  readonly buckets?: Json;
  readonly bit?: Json;
  readonly k?: number;
  readonly keep?: string;
  readonly one?: string;
  readonly zero?: string;
  readonly domain?: Json;
  readonly labels?: readonly string[];
}
type Asked = readonly [part: Repeated, rounds: number, removed: readonly number[]];

/** Refuses a last plan that carries on nothing of the one before, or rounds that are too many. */
export const checkChain = (plans: readonly Link[]): void => {
  const rounds = plans.map((plan) => plan.rounds ?? 0);
  const total = rounds.reduce((sum, number) => sum + number, 0);
  must(
    rounds.every(Boolean) && total <= MOST_ROUNDS,
    "continues",
    () => `plans that continue each other have 1 to ${MOST_ROUNDS} rounds`,
  );
  const isCarried = carried(plans).some(Boolean);
  must(isCarried, "continues", () => "nothing of the plan before is carried on");
};

/** Whether the last plan carries on each of its questions. */
const carried = (plans: readonly Link[]): readonly boolean[] => {
  const [before, after] = plans.slice(-2) as [Link, Link];
  const [old, now] = [before, after].map(({ data }) => data.mechanism as Json) as [Json, Json];
  const names = ({ attributes }: Link): string => canonical(attributes.map(({ name }) => name));
  if (names(before) !== names(after) || layout(before) !== layout(after))
    return after.attributes.map(() => false);
  const [parts, later] = [partsOf(old), partsOf(now)];
  const each = after.attributes.map(
    (_, j) => asksAlike(plans, j) && keepsAlike(parts[j] as Json, later[j] as Json),
  );
  const hasFakes = [old, ...(old.parts ?? [])].some(({ kind }) => kind === "faked");
  return hasFakes ? each.map(() => isEqual(old, now) && each.every(Boolean)) : each;
};

const isEqual = (one: unknown, other: unknown): boolean => canonical([one]) === canonical([other]);

/** What says which attributes are drawn, and in which columns the words of each are. */
const layout = ({ data, mechanism: { mechanisms } }: Link): string => {
  let next = 0;
  const words = (): number => (mechanisms[next++] as Mechanism).words;
  const of = (record: Json): unknown => {
    const { kind, reported = null, weights = null } = record;
    if (kind === "single") return kind;
    if (kind === "split")
      return record.parts?.map((part) => ("parts" in part || "fakes" in part ? of(part) : words()));
    return [kind, reported, weights, partsOf(record).map(words)];
  };
  return canonical([of(data.mechanism as Json)]);
};

/** The mechanism of each attribute, or its fake, as the document has it. */
const partsOf = (record: Json): readonly Json[] =>
  record.kind === "split"
    ? (record.parts as Json[]).flatMap(partsOf)
    : ((record.fakes ?? record.parts ?? [record]) as Json[]);

/** Whether a question has the same answers and conditions, or fewer, or more answers behind the others. */
const asksAlike = (plans: readonly Link[], j: number): boolean => {
  const [before, after] = plans.slice(-2) as [Link, Link];
  const [old, now] = [before, after].map(({ data }) => (data.attributes as Json[])[j]) as [Json, Json];
  const plain = (attribute: Json): Json =>
    ({ ...attribute, domain: null, missing: null, answered: null }) as never;
  const [{ missing }, { missing: later, extras }] = [before, after].map((plan) => plan.attributes[j]) as [
    Attribute,
    Attribute,
  ];
  if (!isEqual(plain(old), plain(now)) || missing !== later) return false;
  if (isEqual(old.domain, now.domain)) return true;
  const [labels, more] = [old.domain?.labels, now.domain?.labels];
  if (!labels || !more || later !== "refuse" || extras.length) return false;
  const [all, earlier] = [new Set(more), plans.slice(0, -1)];
  const left = labels.filter((label) => all.has(label));
  const had = new Set(earlier.flatMap(({ data }) => (data.attributes as Json[])[j]?.domain?.labels ?? []));
  if (!left.length || !isEqual(left, more.slice(0, left.length))) return false;
  if (more.slice(left.length).some((label) => had.has(label))) return false;
  return left.length === labels.length || [before, after].every((plan) => canRemove(plan, j));
};

/** Whether a mechanism keeps the others where answers are removed. */
const canRemove = ({ data }: Link, j: number): boolean => {
  const { kind, first } = partsOf(data.mechanism as Json)[j] as Json;
  return (
    kind === "memoized" && first?.kind === "direct" && isFine(first.k as number, BigInt(first.keep as string))
  );
};

/** The numbers of the answers to a question that only the earlier plan has. */
const removedFrom = (before: Link, after: Link, j: number): readonly number[] => {
  const [old, now] = [before, after].map(({ data }) => (data.attributes as Json[])[j]?.domain?.labels ?? []);
  const left = new Set(now);
  return [...(old as string[]).keys()].filter((n) => !left.has(old?.[n] as string));
};

/** Whether two mechanisms keep the same for every value that both have. */
const keepsAlike = (old: Json, now: Json): boolean => {
  if (isEqual(old, now) || old.kind !== now.kind) return isEqual(old, now);
  const [inside, within] = [old.buckets ?? old.bit, now.buckets ?? now.bit];
  if (old.kind === "pooled-memoized" && sizeOfPool(old) !== sizeOfPool(now)) return false;
  const [first, later] = [(inside ?? old).first, (within ?? now).first];
  if (!first || !later || first.kind !== later.kind) return false;
  const [k, more] = [first.k as number, later.k as number];
  if (inside && k !== more) return false;
  if (first.kind === "direct")
    return (
      isEqual(first, later) ||
      [first, later].every(({ k, keep }) => isFine(k as number, BigInt(keep as string)))
    );
  return k <= more && (isEqual({ ...first, k: 0 }, { ...later, k: 0 }) || canTurn([first, later]));
};

/** Whether bits that are kept by one of these first rounds can be made better or worse, as the other keeps them. */
const canTurn = (firsts: readonly Json[]): boolean => {
  const both = firsts.map(({ one, zero }) => [BigInt(one as string), FULL - BigInt(zero as string)] as const);
  const isAlike = both.every(([one]) => one === FULL >> 1n) || both.every(([one, clear]) => one === clear);
  return isAlike && both.every(([, clear]) => isFine(2, clear));
};

/** The number of functions of a pool: of another one, kept words give other functions. */
const sizeOfPool = ({ k, buckets }: Json): number => countFunctions(k as number, buckets?.first?.k as number);

/** For each attribute, the plans whose words it takes, and its first rounds where kept values may become others. */
const listPlaces = (plans: readonly Link[]): readonly (readonly number[])[] => {
  const steps = plans.slice(1).map((_, i) => carried(plans.slice(0, i + 2)));
  return (plans.at(-1) as Link).attributes.map((_, j) => {
    let places = [0];
    for (const [i, step] of steps.entries()) {
      if (!step[j]) places = [i + 1];
      else {
        const [before, after] = plans.slice(i, i + 2) as [Link, Link];
        if (changes(partOf(before, j), partOf(after, j)) || removedFrom(before, after, j).length)
          places = [...places, i + 1];
      }
    }
    return places;
  });
};

const partOf = ({ mechanism }: Link, j: number): Repeated => mechanism.mechanisms[j] as Repeated;

/** Whether a kept value may become another. */
const changes = (old: Repeated, now: Repeated): boolean => `${old.rounds?.first}` !== `${now.rounds?.first}`;

/** The plans whose words are kept: for the record, then for each attribute. */
export const listOrigins = (plans: readonly Link[]): readonly Origin[] => [
  { plans: [(plans[0] as Link).id], firsts: [] },
  ...listPlaces(plans).map((places, j): Origin => {
    const used = places.map((place) => plans[place] as Link);
    if (used.length === 1) return { plans: used.map(({ id }) => id), firsts: [] };
    const firsts = used.map((plan, i): Origin["firsts"][number] => {
      const [k, keep] = (partOf(plan, j).rounds as TwoRounds).first;
      return [k, keep, i > 0 ? removedFrom(used[i - 1] as Link, plan, j) : []];
    });
    return { plans: used.map(({ id }) => id), firsts };
  }),
];

/** What reports to plans that continue each other give away. */
export const addTogether = (plans: readonly Link[]): Together => {
  const last = plans.at(-1) as Link;
  const hasTurned = listPlaces(plans).some((places) => places.length > 1);
  const bias = hasTurned ? BigInt(plans.length * last.attributes.length) : 0n;
  return { bias, ...(plans.length > 1 ? chainLosses(plans) : { losses: null, byAttribute: [] }) };
};

const chainLosses = (plans: readonly Link[]): Omit<Together, "bias"> => {
  const { mechanism, data, attributes } = plans.at(-1) as Link;
  const rounds = sumOf(plans.map((plan) => plan.reports as number));
  const steps = plans.slice(1).map((_, i) => carried(plans.slice(0, i + 2)));
  const isOne =
    steps.flat().every(Boolean) &&
    plans.every((plan) => isEqual(plan.data.mechanism, data.mechanism)) &&
    listPlaces(plans).every((places) => places.length === 1);
  const ofPart = (part: Repeated, j: number): Figures =>
    isOne ? lossesOf(part, rounds) : questionLosses(plans, steps, j);
  const byAttribute = attributes.map((_, j) => ofPart(partOf(plans.at(-1) as Link, j), j));
  const losses = recordLosses(mechanism, byAttribute, rounds);
  if (isOne) return { losses, byAttribute };
  const alone = plans.map((plan) =>
    recordLosses(
      plan.mechanism,
      plan.attributes.map((_, j) => lossesOf(partOf(plan, j), 1)),
      1,
    ),
  );
  const oneReport = alone
    .map(([loss]) => loss as Loss)
    .sort(byNumber)
    .at(-1) as Loss;
  return { losses: [oneReport, ...losses.slice(1)], byAttribute };
};

/** The losses of one question: those of all that was carried on, added up over its breaks. */
const questionLosses = (
  plans: readonly Link[],
  steps: readonly (readonly boolean[])[],
  j: number,
): Figures => {
  const strands: Asked[][] = [];
  for (const [i, plan] of plans.entries()) {
    const isCarried = steps[i - 1]?.[j];
    if (!isCarried) strands.push([]);
    const removed = isCarried ? removedFrom(plans[i - 1] as Link, plan, j) : [];
    strands.at(-1)?.push([partOf(plan, j), plan.reports as number, removed]);
  }
  const each = strands.map(strandLosses);
  return FIGURES.map((_, i) => {
    const figures = each.map((losses) => losses[i] as Loss | null);
    return figures.includes(null) ? null : (figures as Loss[]).reduce((sum, loss) => sum + loss, 0n);
  });
};

/** The losses of a question whose first answers are the same in all of these plans. */
const strandLosses = (strand: readonly Asked[]): Figures => {
  const [last] = strand.at(-1) as Asked;
  const total = sumOf(strand.map(([, rounds]) => rounds));
  const alike = new Map<string, readonly [Repeated, number]>();
  const numbers = numberKept(strand);
  for (const [i, [part, rounds]] of strand.entries()) {
    const key = `${numbers[i]} ${part.rounds?.alike}`;
    alike.set(key, [part, rounds + (alike.get(key)?.[1] ?? 0)]);
  }
  if (alike.size === 1) return lossesOf(last, total);
  const groups = [...alike.values()];
  const fresh = groups.map(([{ rounds }, reports]) => {
    const { fresh: ratio, parts } = rounds as TwoRounds;
    return logUp(ratio) * BigInt(reports * parts);
  });
  const whole = fresh.reduce((sum, loss) => sum + loss, 0n);
  const changing = groups.map(
    ([part, reports], i) => (part.losses(reports)[3] as Loss) + whole - (fresh[i] as Loss),
  );
  const [oneReport] = last.losses(1) as [Loss];
  const forever = groups
    .map(([part]) => part.losses(1)[2] as Loss)
    .sort(byNumber)
    .at(-1) as Loss;
  const [same, least] = [[logUp(sameRatio(strand)), forever], changing].map(
    (losses) => losses.sort(byNumber)[0] as Loss,
  ) as [Loss, Loss];
  const answers = (last.rounds as TwoRounds).k + sumOf(strand.map(([, , removed]) => removed.length));
  return [oneReport, same, forever, least, forever * BigInt(Math.min(total, answers))];
};

/**
 * The number of the kept answer that each plan reports: another one wherever the first round changes, or answers
 * are removed.
 */
const numberKept = (strand: readonly Asked[]): readonly number[] => {
  let number = 0;
  return strand.map(([part, , removed], i) => {
    const before = strand[i - 1];
    if (before && (changes(before[0], part) || removed.length)) number++;
    return number;
  });
};

/**
 * At least how much all reports of one value give away, which all speak for it. Once an added answer took over,
 * they say nothing. What was said of an answer before it was raised is made worse by as much.
 */
const sameRatio = (strand: readonly Asked[]): Ratio => {
  const total = sumOf(strand.map(([, rounds]) => rounds));
  const powers: (readonly [Ratio, Ratio])[] = []; // of each kept answer, by all reports of it
  const parts: Repeated[] = [];
  const lost: (readonly number[])[] = [];
  for (const [i, number] of numberKept(strand).entries()) {
    const [part, reports, removed] = strand[i] as Asked;
    const [rise, fall] = (part.rounds as TwoRounds).speak(reports);
    const [more, less] = powers[number] ?? [UNIT, UNIT];
    powers[number] = [times(more, rise), times(less, fall)];
    parts[number] = part;
    lost[number] ??= removed;
  }
  const chain = parts.map(({ rounds }) => rounds as TwoRounds);
  const steps = listSteps(chain.map(({ first }, i) => [...first, lost[i] as readonly number[]]));
  const raised = Math.max(0, steps.findLastIndex(raises));
  const root = chain[raised] as TwoRounds;
  const [start, last] = [steps[0], steps[raised]] as [Step, Step];
  if (last.k > start.k || lost.some(({ length }) => length)) return (parts[raised] as Repeated).forever; // all is a part of the root answer
  const [rise, fall] = [0, 1].map((i) =>
    compose(
      powers.map((each) => each[i] as Ratio),
      steps,
      raised,
    ),
  );
  return root.given(rise as Ratio, fall as Ratio, total);
};

/** How much reports of all kept answers say of the root answer of a step. */
const compose = (powers: readonly Ratio[], steps: readonly Step[], raised: number): Ratio => {
  const spoken = steps.map((step, i) => blur(powers[i] as Ratio, moveOf(step), step.k));
  let [ratio, later] = [UNIT, UNIT];
  for (let i = steps.length - 1; i >= raised; i--) {
    later = times(later, spoken[i] as Ratio);
    const [step, before] = [steps[i], steps[i - 1]] as [Step, Step | undefined];
    if (i === raised || !before) continue;
    const turn = step.share * BigInt(step.k - before.k);
    later = plus(times([FULL - turn, FULL], later), [turn, FULL]);
  }
  for (const [i, { odds, before, k }] of steps.slice(1, raised + 1).entries())
    ratio = blur(times(ratio, spoken[i] as Ratio), findMove(odds, before, k), k);
  return times(ratio, later);
};

/** What a ratio says of an answer that became each of the others with this chance. */
const blur = ([n, d]: Ratio, [move, all]: Ratio, k: number): Ratio => {
  const moves = move * BigInt(k - 1);
  return [(all - moves) * n + moves * d, move * n + (all - move) * d];
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
