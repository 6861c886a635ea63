/**
 * Turns one record of many attributes into one report, and computes what that report gives away.
 *
 * `split` reports every attribute, `sample` some of them; `faked` (faked.ts) reports all of them with only
 * one real. The two guarantees differ: per record compares any two people, per attribute two people who
 * differ in one attribute only.
 */

import { must } from "../errors.js";
import { type Loss, type Ratio, wholeNumber } from "../exact.js";
import type { Mechanism, Part } from "../mechanisms/mechanism.js";
import { type Code, type Row, sampled } from "../randomness/words.js";

/** A part for every attribute; none where it is not reported. */
export type Parts = readonly (Part | undefined)[];

/** Neighboring attributes that a report holds together. */
export interface Group {
  /** How many attributes these are. */
  readonly size: number;
  /** How many of them are reported and named; 0 where all are reported. */
  readonly named: number;
  /** How many of their answers are in the report. */
  readonly real: number;
  /** How many of them a report says yes to, at least and at most, where not every number is possible. */
  readonly marked?: readonly [least: number, most: number];
  /** How many of them a person says yes to, at least and at most, where they are options of one question. */
  readonly allowed?: readonly [least: number, most: number];
  /** How likely the answer of each is, where that differs. */
  chance?(attribute: number): Ratio;
}

/** A read-only recipe for records, with a guarantee that is computed, not quoted. */
export interface RecordMechanism {
  /** One mechanism per attribute, in order. */
  readonly mechanisms: readonly Mechanism[];
  /** How the attributes lie in a report, one group after the other. */
  readonly groups: readonly Group[];
  /** How many 64-bit words one record takes. */
  readonly words: number;
  /** For each attribute, at least the largest ratio between people who differ in this answer only. */
  readonly ratios: readonly Ratio[];
  /**
   * The loss of one report between any two people, from what each attribute alone loses; of one of several
   * reports of a person, if that is said: then it is known which attributes are real. Where people are asked
   * again, it is one of the FIGURES, of so many rounds.
   */
  loss(
    of: (mechanism: Mechanism) => Loss,
    isLinked?: boolean,
    again?: readonly [figure: number, rounds: number],
  ): Loss;
  /** Which attributes the report will hold, where that is not all of them: no answer is needed to know it. */
  drawn?(row: Row): Promise<readonly boolean[]>;
  /** The report of values that are known to be in the domain. */
  encode(values: readonly Code[], row: Row): Promise<Parts>;
}

/** The report of attribute j, from the noise of its value. */
export const encodeValue = async (part: Mechanism, j: number, value: Code, row: Row): Promise<Part> =>
  part.encode(value as number, await row.noise(j, part.words, value));

/** The only attribute is reported. */
export const single = (mechanism: Mechanism): RecordMechanism => ({
  mechanisms: [mechanism],
  groups: [{ size: 1, named: 0, real: 1 }],
  words: mechanism.words,
  ratios: [mechanism.ratio],
  loss: (of) => of(mechanism),
  encode: async ([value], row) => [await encodeValue(mechanism, 0, value as Code, row)],
});

/** Every part is reported, each with its own portion of the budget (SPL). */
export const split = (parts: readonly RecordMechanism[]): RecordMechanism => ({
  mechanisms: parts.flatMap(({ mechanisms }) => mechanisms),
  groups: parts.flatMap(({ groups }) => groups),
  words: parts.reduce((sum, { words }) => sum + words, 0),
  ratios: parts.flatMap(({ ratios }) => ratios),
  loss: (...figure) => parts.reduce((sum, part) => sum + part.loss(...figure), 0n),
  drawn: async (row) => {
    let start = 0;
    const isDrawn = parts.map(({ mechanisms, words, drawn }) => {
      const ofPart = drawn?.(row.from(start)) ?? mechanisms.map(() => true);
      start += words;
      return ofPart;
    });
    return (await Promise.all(isDrawn)).flat();
  },
  encode: async (values, row) => {
    let [start, first] = [0, 0];
    const reports = parts.map(({ mechanisms, words, encode }) => {
      const ofPart = encode(values.slice(first, first + mechanisms.length), row.from(start, first));
      [start, first] = [start + words, first + mechanisms.length];
      return ofPart;
    });
    return (await Promise.all(reports)).flat();
  },
});

/** Some attributes, drawn at random and named in the report, are reported (SMP: one of them). */
export const sample = (mechanisms: readonly Mechanism[], reported: number): RecordMechanism => {
  const size = checkedSeveral(mechanisms).length;
  wholeNumber("reported", "reported attributes", reported, 1, size);
  const room = mechanisms.reduce((most, { words }) => Math.max(most, words), 0);
  return {
    mechanisms,
    groups: [{ size, named: reported, real: reported }],
    words: reported * (1 + room),
    ratios: mechanisms.map(({ ratio }) => ratio),
    // which attributes are named does not depend on the record, so only those that are reported count
    loss: (of) => sumOfLargest(mechanisms.map(of), reported),
    drawn: async (row) => {
      const chosen = sampled(await row.recall(reported), reported, size);
      return mechanisms.map((_, j) => chosen.includes(j));
    },
    encode: async (values, row) => {
      const parts: (Part | undefined)[] = mechanisms.map(() => undefined);
      for (const [draw, j] of sampled(await row.recall(reported), reported, size).entries()) {
        const columns = row.from(reported + draw * room);
        parts[j] = await encodeValue(mechanisms[j] as Mechanism, j, values[j] as Code, columns);
      }
      return parts;
    },
  };
};

/** How likely a report holds the answer of attribute j. */
export const chanceHeld = ({ groups }: RecordMechanism, j: number): Ratio => {
  let last = 0;
  const group = groups.find(({ size }) => j < (last += size)) as Group;
  return group.chance?.(j - last + group.size) ?? [BigInt(group.real), BigInt(group.size)];
};

/** The sum of the largest few of some losses. */
export const sumOfLargest = (losses: readonly Loss[], count: number): Loss =>
  [...losses]
    .sort((a, b) => byNumber(b, a))
    .slice(0, count)
    .reduce((sum, loss) => sum + loss, 0n);

export const byNumber = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

/** Two parts or more. */
export const checkedSeveral = <T>(parts: readonly T[]): readonly T[] => {
  must(
    parts.length > 1,
    "parts",
    () => `a record mechanism needs at least two parts, got ${parts.length}: use a single one`,
  );
  return parts;
};
