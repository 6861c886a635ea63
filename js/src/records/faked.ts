/** Reports one attribute of a record, hidden among fakes of the others. */

import { must } from "../errors.js";
import { cell, divideUp, isAbove, type Loss, largest, logUp, type Ratio, smaller, times } from "../exact.js";
import { readMechanism } from "../mechanisms/mechanism_json.js";
import type { Memoized } from "../mechanisms/memoized.js";
import { isRepeated } from "../mechanisms/repeated.js";
import type { Direct } from "../mechanisms/shapes.js";
import { sampled } from "../randomness/words.js";
import { checkedFields, checkedKind, checkedList, threshold } from "../strict.js";
import { blank, type Fake, guessed, imitated, prior, uniform, type Weight } from "./fakes.js";
import { byNumber, checkedSeveral, encodeValue, type RecordMechanism, sumOfLargest } from "./records.js";

const BITS = 512n; // evidence is from 2^-160 to 2^160, so this leaves more than 300 bits of each
const STEPS = 100;

/** Evidence in units of 2^-512: `one` rounded up, `other` rounded down. */
type Weighed = readonly [high: bigint, low: bigint];

/**
 * One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).
 *
 * Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each
 * report is from this person than from its fake. So the loss per record is that of the parts, whatever the
 * fakes are.
 */
export const faked = (fakes: readonly Fake[]): RecordMechanism => {
  const mechanisms = checkedSeveral(fakes).map((fake) => fake.part);
  const isWhole = mechanisms.filter((part) => isRepeated(part) && part.forever === part.ratio).length;
  must(
    !isWhole || isWhole === fakes.length,
    "rounds",
    () => "fakes of reports that are kept whole go with no others",
  );
  const widths = fakes.map((fake) => Math.max(fake.words, fake.part.words));
  const evidence = weigh(fakes);
  const slack = slackOf(fakes);
  const record = smaller(times(largestRatio(evidence), slack), largest(mechanisms.map(({ ratio }) => ratio)));
  const least = evidence.map((pairs) => pairs.map(([, other]) => other).sort(byNumber)[0] as bigint);
  const all = least.reduce((sum, evidence) => sum + evidence);
  return {
    mechanisms,
    groups: [{ size: fakes.length, named: 0, real: 1 }],
    words: widths.reduce((sum, width) => sum + width, 1),
    loss: (of, isLinked, again) => {
      const bound = sumOfLargest(mechanisms.map(of), 1);
      if (isLinked || !bound) return bound; // where no attribute loses anything, nothing is lost
      return again ? lossAgain(fakes, bound, ...again) : logUp(record);
    },
    // one attribute changes, and the others, which do not, say as little as they can
    ratios: evidence.map((pairs, j) => {
      const rest = all - (least[j] as bigint);
      const single = largest(pairs.map(([high, low]): Ratio => [high + rest, low + rest]));
      return smaller(times(single, slack), record);
    }),
    encode: async (values, row) => {
      const [real] = sampled(await row.recall(1), 1, fakes.length);
      let start = 1;
      return Promise.all(
        fakes.map(async (fake, j) => {
          const columns = row.from(start);
          start += widths[j] as number;
          return j === real
            ? encodeValue(fake.part, j, values[j] as number, columns)
            : fake.encode(await columns.noise(j, fake.words));
        }),
      );
    },
  };
};

/**
 * A figure of this many reports, at most that of one attribute: given which is real, fakes say nothing. What
 * is kept is one report of the first rounds.
 */
const lossAgain = (fakes: readonly Fake[], bound: Loss, figure: number, rounds: number): Loss => {
  if (figure > 2 && (figure > 3 || rounds > 1)) return bound; // answers that change
  const first = fakes.map((fake) => fake.first);
  const later = fakes.map((fake) => fake.after(figure === 1 ? rounds : 1));
  const usual = figure === 1 ? [first, later] : [later];
  const losses = (figure === 2 ? [first] : usual).map((weights) =>
    logUp(times(largestRatio(weigh(weights)), slackOf(weights))),
  );
  return [bound, ...losses].sort(byNumber)[0] as Loss;
};

const weigh = (fakes: readonly Weight[]): Weighed[][] =>
  fakes.map((fake) =>
    fake.evidence.map(
      ([high, low]): Weighed => [divideUp(high[0] << BITS, high[1]), (low[0] << BITS) / low[1]],
    ),
  );

/** The words of an attribute are not quite as many for each, too. */
const slackOf = (fakes: readonly Weight[]): Ratio => {
  const [fewest, most] = cell(fakes.length);
  return times(largest(fakes.map((fake) => fake.slack)), [most, fewest]);
};

/** The largest (sum of ones) / (sum of others), one pair from each attribute, by Dinkelbach's method. */
const largestRatio = (evidence: readonly (readonly Weighed[])[]): Ratio => {
  let ratio: Ratio = [1n, 1n];
  for (let step = 0; step < STEPS; step++) {
    const [n, d] = ratio;
    const gain = ([high, low]: Weighed): bigint => high * d - n * low;
    let better: Ratio = [0n, 0n];
    for (const pairs of evidence) {
      const [high, low] = pairs.reduce((best, pair) => (gain(pair) > gain(best) ? pair : best));
      better = [better[0] + high, better[1] + low];
    }
    if (!isAbove(better, ratio)) return ratio;
    ratio = better;
  }
  return [1n, 0n]; // never seen; the bound of the parts holds then
};

const SETS = ["unary", "subset", "packed-subset", "hashed", "pooled", "hadamard"];

const FAKES: Record<string, readonly string[]> = {
  guessed: ["direct", "memoized"],
  imitated: ["direct", ...SETS, "memoized"],
  blank: [...SETS, "memoized", "hashed-memoized", "pooled-memoized", "bit-flip"],
};

const readFake = (data: unknown): Fake => {
  const kind = checkedKind(data, "a fake", Object.keys(FAKES));
  const isBlank = kind === "blank";
  const fields = checkedFields(data, `a ${kind} fake`, ["kind", "part", ...(isBlank ? [] : ["prior"])]);
  checkedKind(fields.part, "a mechanism", FAKES[kind] as string[]);
  const part = readMechanism(fields.part);
  if (isBlank) return blank(part);
  const believed =
    fields.prior === "uniform" ? uniform(part.k) : prior(checkedList(fields.prior, "prior").map(threshold));
  must(
    believed.k === part.k,
    "prior",
    () => `a prior has ${believed.k} weights, its mechanism ${part.k} values`,
  );
  return kind === "guessed"
    ? guessed(part as unknown as Direct | Memoized, believed)
    : imitated(part, believed);
};

/** Reads fakes of all attributes but one from a plan. */
export const readFaked = (data: unknown): RecordMechanism => {
  const { fakes } = checkedFields(data, "a faked mechanism", ["kind", "fakes"]);
  return faked(checkedList(fakes, "fakes").map(readFake));
};
