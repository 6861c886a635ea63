/**
 * Builds fakes for repeated collections: a first answer that is kept, and a fresh report of it each time.
 *
 * After several reports, the extreme sequences are constant: `deniable/records/fakes.py` says why.
 */

import { must } from "../errors.js";
import { FULL, minus, over, plus, powerUp, type Ratio, times } from "../exact.js";
import type { Part } from "../mechanisms/mechanism.js";
import type { Memoized } from "../mechanisms/memoized.js";
import type { Direct, Unary } from "../mechanisms/shapes.js";
import {
  blank,
  bothWays,
  type Fake,
  guessed,
  imitated,
  imitatedBits,
  imitatedChance,
  NONE,
  type Prior,
  type Weight,
} from "./fakes.js";

/** A fake around two rounds; one that keeps no value at all has no prior. */
export const keptFake = (kind: string, part: Memoized, believed?: Prior): Fake => {
  const isDirect = "keep" in part.first;
  must(
    isDirect ? kind !== "blank" : kind !== "guessed",
    "shape",
    () => `a ${kind} fake does not go with rounds of this shape`,
  );
  const fake = isDirect
    ? fakeOfValues(kind, part, believed as Prior)
    : fakeOfBits(part, part.first as Unary, part.second as Unary, believed);
  return { part, ...fake, ...fake.after(1) };
};

type Kept = Required<Pick<Fake, "words" | "first" | "after" | "encode">>;

const fakeOfValues = (kind: string, part: Memoized, believed: Prior): Kept => {
  const [first, second] = [part.first as Direct, part.second as Direct];
  const isGuessed = kind === "guessed";
  const alone = isGuessed ? guessed(first, believed) : imitated(first, believed);
  const shares = believed.extremes.map((weight): Ratio => [weight, FULL]);
  const chances = isGuessed ? shares : shares.map((share) => imitatedChance(first, share));
  const k = BigInt(part.k);
  const after = (reports: number): Weight => {
    const odds = powerUp([second.keep * (k - 1n), FULL - second.keep], reports);
    if (!odds[1]) return alone; // infinite: what is kept is known
    const gain = minus(odds, NONE);
    const raised = (chance: Ratio): Ratio => plus(NONE, times(gain, chance));
    const [truth, other] = [raised([first.keep, FULL]), raised([FULL - first.keep, FULL * (k - 1n)])];
    const evidence = chances.flatMap((chance) =>
      bothWays(over(truth, raised(chance)), over(other, raised(chance))),
    );
    return { evidence, slack: [FULL, FULL - 4n * k * BigInt(reports + 1)] };
  };
  return {
    words: 1 + (isGuessed ? second.words : part.words),
    first: alone,
    after,
    encode: async (row) => {
      const value = believed.draw(await row.recall(1));
      const rest = row.from(1);
      return isGuessed ? second.pick(value, rest.fresh) : part.encode(value, rest);
    },
  };
};

const fakeOfBits = (part: Memoized, first: Unary, second: Unary, believed?: Prior): Kept => {
  const alone = believed ? imitated(first, believed) : blank(first);
  const shares = believed?.extremes.map((weight): Ratio => [weight, FULL]);
  /** How much likelier for the true value, if a kept bit that is set is so much likelier than a clear one. */
  const speak = ([set, clear]: Ratio): Ratio => [
    first.one * set + (FULL - first.one) * clear,
    first.zero * set + (FULL - first.zero) * clear,
  ];
  const after = (reports: number): Weight => {
    const ones = powerUp(second.up, reports);
    const [n, d] = powerUp(second.down, reports);
    if (!ones[1] || !d) return alone;
    const [more, less] = [speak(ones), speak([d, n])];
    return { evidence: shares ? imitatedBits(more, less, shares) : bothWays(more, less), slack: NONE };
  };
  return {
    words: part.words + (believed ? 1 : 0),
    first: alone,
    after,
    encode: async (row): Promise<Part> => {
      if (believed) return part.encode(believed.draw(await row.recall(1)), row.from(1));
      return second.flip(first.flip([], await row.recall(first.words)), row.from(first.words).fresh);
    },
  };
};
