/** Keeps a value where plans add answers: it stays, or turns into one of the new answers. */

import { divideUp, FULL } from "../exact.js";
import { below, chance, type Row, threshold } from "../randomness/words.js";
import { keepOrOther } from "./shapes.js";

const MOST = 1 << 16; // the odds of a kept value, and how many values there are

/** The threshold of a first round with more values and the same odds; null where it would be too coarse. */
export const grownKeep = (k: number, keep: bigint, more: number): bigint | null => {
  const [odds, rest] = [keep * BigInt(k - 1), FULL - keep];
  if (odds > BigInt(MOST) * rest || more > MOST) return null;
  return (FULL * odds) / (odds + rest * BigInt(more - 1));
};

/** The chance by which a kept value turns into one of the values that were added. */
export const findTurn = (k: number, keep: bigint, more: number): bigint => {
  const [odds, rest] = [keep * BigInt(k - 1), FULL - keep];
  return divideUp(FULL * BigInt(more - k) * rest, odds + rest * BigInt(more - 1));
};

/** The first answer to a value, with the words of the plans that have had it; null where no value turns. */
export const keptValue = async (value: number, row: Row): Promise<number | null> => {
  const { firsts } = row;
  let kept: number | null = null;
  for (const [i, [k, keep]] of firsts.entries()) {
    if (value >= k) continue;
    const words = await row.recall(2, value, i);
    const [known, before] = firsts[i - 1] ?? [0, 0n];
    if (kept === null) kept = keepOrOther(value, words, k, threshold(keep));
    else if (chance(words, 0, threshold(findTurn(known, before, k))))
      kept = known + below(words, 1, k - known);
  }
  return kept;
};
