/**
 * Rates how well a plan protects the answer that is the easiest to guess: well, a little, or hardly.
 *
 * The measure is an attacker's best guess. Two answers seem equally likely beforehand; the attacker sees all reports of a
 * person, of every round, and picks one of the two. A loss of L lets this guess be right with probability e^L / (1 + e^L)
 * at most, whatever answers change from round to round.
 */

import { answerLoss } from "./answer_loss.js";
import { lossOfAll } from "./losses.js";
import type { Plan } from "./plan.js";

/** Billionths of a nat, ln 3 rounded up: up to here a plan protects well, and 75 of 100 guesses are right. */
export const MOST_WELL = 1_098_612_289;
/** Billionths of a nat, ln 9 rounded up: up to here a plan protects a little, and 90 of 100 guesses are right. */
export const MOST_LITTLE = 2_197_224_578;

export type Level = "well" | "a little" | "hardly";

export interface Protection {
  readonly level: Level;
  /** Of the easiest answer, over all rounds and whatever changes, in billionths; null without a bound. */
  readonly loss: number | null;
  /** How often a guess between two answers is right, out of 100, rounded up. */
  readonly percent: number;
}

export const rateProtection = (plan: Plan): Protection => rateLoss(answerLossOfAll(plan));

/** The rating of a loss of one answer over all rounds. */
export const rateLoss = (loss: number | null): Protection => {
  const guess = loss === null ? 1 : 1 / (1 + Math.exp(-loss / 1e9));
  const percent = Math.ceil(Number((100 * guess).toFixed(6)));
  if (loss === null || loss > MOST_LITTLE) return { level: "hardly", loss, percent };
  return { level: loss <= MOST_WELL ? "well" : "a little", loss, percent };
};

const answerLossOfAll = (plan: Plan): number | null => {
  const answer = answerLoss(plan);
  if (plan.rounds === null) return answer ?? plan.verify().attribute;
  const { counted } = lossOfAll(plan.verify());
  if (answer !== null || counted === null) return counted;
  return Math.max(...plan.attributes.map((_, j) => plan.changedLoss(j) ?? counted));
};
