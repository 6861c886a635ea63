/** Builds means of numbers over many collections: a permanent random line, and two rounds on the side of it. */

import { POSITIONS } from "../domains/numbers.js";
import { must } from "../errors.js";
import { FULL, type Ratio } from "../exact.js";
import { checkedFields, checkedKind } from "../strict.js";
import { integer } from "./codecs.js";
import type { Mechanism } from "./mechanism.js";
import { type Memoized, readMemoized } from "./memoized.js";
import type { Repeated, TwoRounds } from "./repeated.js";
import type { Direct } from "./shapes.js";

/** Whether a number is above a line that is kept: a number that moves a little rarely crosses it. */
export const memoizedMean = (bit: Memoized): Repeated<number> => {
  must(
    "keep" in bit.first && bit.k === 2,
    "shape",
    () => "the rounds on a bit are direct ones of two values",
  );
  const [first, second] = [(bit.first as Direct).keep, (bit.second as Direct).keep];
  const chance: Ratio = [first * second + (FULL - first) * (FULL - second), FULL * FULL];
  const reach = 1 / (2 * (Number(chance[0]) / Number(chance[1])) - 1);
  return {
    k: POSITIONS + 1,
    words: 1 + bit.words,
    ratio: bit.ratio,
    codec: integer(2),
    guess: { chance: halfOf(chance), among: 2, what: " in which half of the range your number is" },
    always: halfOf([first, FULL]),
    forever: bit.forever,
    losses: bit.losses,
    rounds: bit.rounds as TwoRounds,
    encode: async (value, row) => {
      const line = (await row.recall(1))[1] as number;
      return (await bit.encode(Number(line < value), row.from(1))) as number;
    },
    isUnlisted: true,
    stands: (part) => ((part ? reach : -reach) + 1) * (POSITIONS / 2),
  };
};

/** The guess by a bit that is right so often: as for the number in the middle of the half. */
const halfOf = ([n, d]: Ratio): Ratio => [2n * n + d, 4n * d];

/** Reads two rounds on the side of a line from a plan. */
export const readMemoizedMean = (data: unknown): Mechanism => {
  const { bit } = checkedFields(data, "a memoized-mean mechanism", ["kind", "bit"]);
  checkedKind(bit, "a mechanism", ["memoized"]);
  return memoizedMean(readMemoized(bit));
};
