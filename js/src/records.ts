/**
 * How one record of many attributes becomes one report, and what that report gives away: of the record, of an attribute.
 *
 * `split` reports every attribute, `sample` some of them, `faked` all of them with only one real. The two guarantees differ:
 * per record compares any two people, per attribute two who differ in one answer only.
 */

import { must } from "./errors.js";
import { cell, divideUp, isAbove, type Loss, largest, logUp, type Ratio, smaller, times, wholeNumber } from "./exact.js";
import type { Fake } from "./fakes.js";
import type { Mechanism, Part } from "./mechanism.js";
import { type Row, sampled } from "./words.js";

/** A part for every attribute; none where it is not reported. */
export type Parts = readonly (Part | undefined)[];

/** A read-only recipe for records, with one mechanism per attribute and a guarantee that is computed, not quoted. */
export interface Share {
  readonly parts: readonly Mechanism[];
  /** How many 64-bit words one record takes. */
  readonly words: number;
  /** How many attributes are drawn at random and named; 0 where all are there. */
  readonly drawn: number;
  /** The loss of one report between any two people. */
  readonly loss: Loss;
  /** For each attribute, at least the largest ratio between people who differ in this answer only. */
  readonly ratios: readonly Ratio[];
  /** The report of values that are known to be in the domain. */
  encode(values: readonly number[], row: Row): Promise<Parts>;
}

/** Every attribute is reported, each with its own part of the budget (SPL); or the only one there is. */
export const split = (parts: readonly Mechanism[]): Share => {
  const ratios = parts.map((part) => part.ratio);
  return {
    parts,
    words: parts.reduce((sum, part) => sum + part.words, 0),
    drawn: 0,
    loss: mostOf(ratios.map(logUp), parts.length),
    ratios,
    encode: async (values, row) => {
      const found: Part[] = [];
      let start = 0;
      for (const [j, part] of parts.entries()) {
        const made = part.encode(values[j] as number, row.from(start));
        found.push(made instanceof Promise ? await made : made);
        start += part.words;
      }
      return found;
    },
  };
};

/** Some attributes, drawn at random and named in the report, are reported (SMP: one of them). */
export const sample = (parts: readonly Mechanism[], drawn: number): Share => {
  checkedParts(parts);
  wholeNumber("drawn, the number of attributes reported,", drawn, 1, parts.length);
  const room = parts.reduce((most, part) => Math.max(most, part.words), 0);
  const ratios = parts.map((part) => part.ratio);
  return {
    parts,
    words: drawn * (1 + room),
    drawn,
    // which attributes are named does not depend on the record, so only those that are reported count
    loss: mostOf(ratios.map(logUp), drawn),
    ratios,
    encode: async (values, row) => {
      const found: (Part | undefined)[] = parts.map(() => undefined);
      for (const [draw, j] of sampled(await row.recall(drawn), drawn, parts.length).entries()) {
        found[j] = await (parts[j] as Mechanism).encode(values[j] as number, row.from(drawn + draw * room));
      }
      return found;
    },
  };
};

const BITS = 512n; // evidence is from 2^-160 to 2^160, so this leaves more than 300 bits of each
const STEPS = 100;

/** Evidence in units of 2^-512: `one` rounded up, `other` rounded down. */
type Weighed = readonly [one: bigint, other: bigint];

/**
 * One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).
 *
 * Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each report is from this
 * person than from its fake. So the loss per record is that of the parts, whatever the fakes are.
 */
export const faked = (fakes: readonly Fake[]): Share => {
  const parts = fakes.map((fake) => fake.part);
  checkedParts(parts);
  const widths = fakes.map((fake) => Math.max(fake.words, fake.part.words));
  const evidence = fakes.map((fake) =>
    fake.evidence.map(([one, other]): Weighed => [divideUp(one[0] << BITS, one[1]), (other[0] << BITS) / other[1]]),
  );
  const [fewest, most] = cell(fakes.length); // the words of an attribute: not quite as many for each
  const slack = times(largest(fakes.map((fake) => fake.slack)), [most, fewest]);
  const record = smaller(times(largestRatio(evidence), slack), largest(parts.map((part) => part.ratio)));
  const least = evidence.map((pairs) => pairs.map(([, other]) => other).sort(byNumber)[0] as bigint);
  const all = least.reduce((sum, one) => sum + one);
  return {
    parts,
    words: widths.reduce((sum, width) => sum + width, 1),
    drawn: 0,
    loss: logUp(record),
    // one attribute changes, and the others, which do not, say as little as they can
    ratios: evidence.map((pairs, j) => {
      const rest = all - (least[j] as bigint);
      const single = largest(pairs.map(([one, other]): Ratio => [one + rest, other + rest]));
      return smaller(times(single, slack), record);
    }),
    encode: async (values, row) => {
      const [real] = sampled(await row.recall(1), 1, fakes.length);
      let start = 1;
      return fakes.map((fake, j) => {
        const own = row.from(start);
        start += widths[j] as number;
        return j === real ? (fake.part.encode(values[j] as number, own) as Part) : fake.encode(own);
      });
    },
  };
};

/** The largest (sum of ones) / (sum of others), one pair from each attribute, by Dinkelbach's method. */
const largestRatio = (evidence: readonly (readonly Weighed[])[]): Ratio => {
  let ratio: Ratio = [1n, 1n];
  for (let step = 0; step < STEPS; step++) {
    const [n, d] = ratio;
    const gain = ([one, other]: Weighed): bigint => one * d - n * other;
    let better: Ratio = [0n, 0n];
    for (const pairs of evidence) {
      const [one, other] = pairs.reduce((best, pair) => (gain(pair) > gain(best) ? pair : best));
      better = [better[0] + one, better[1] + other];
    }
    if (!isAbove(better, ratio)) return ratio;
    ratio = better;
  }
  return [1n, 0n]; // never seen; the bound of the parts holds then
};

/** The sum of the largest few of some losses. */
export const mostOf = (losses: readonly Loss[], count: number): Loss =>
  [...losses]
    .sort((a, b) => byNumber(b, a))
    .slice(0, count)
    .reduce((sum, loss) => sum + loss, 0n);

const byNumber = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

const checkedParts = (parts: readonly Mechanism[]): void =>
  must(parts.length > 1, () => `a share needs at least two attributes, got ${parts.length}`);
