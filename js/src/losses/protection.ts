/**
 * Rates how well a plan protects a person's answers: well, a little, or hardly.
 *
 * The measure is an attacker's best guess. Two people with any answers seem equally likely beforehand, and one answer may
 * go with another; the attacker sees all reports, of every round, and picks one of the two. The loss L of all of them lets
 * this guess be right with probability e^L / (1 + e^L) at most, whatever answers change.
 */

import { chained, type Losses, lossOfAll } from "./losses.js";

/** Billionths of a nat, ln 3 rounded up: up to here a plan protects well, and 75 of 100 guesses are right. */
export const MOST_WELL = 1_098_612_289;
/** Billionths of a nat, ln 9 rounded up: up to here a plan protects a little, and 90 of 100 guesses are right. */
export const MOST_LITTLE = 2_197_224_578;

export type Level = "well" | "a little" | "hardly";

export interface Protection {
  readonly level: Level;
  /** The loss of all reports together, whatever changes, in billionths; null without a bound. */
  readonly loss: number | null;
  /** How often a guess between two answers is right, out of 100, rounded up. */
  readonly percent: number;
}

/** The rating of a plan with these losses; of a plan that continues others, that of all of them together. */
export const rateProtection = (losses: Losses): Protection => rateLoss(lossOfAll(chained(losses)).counted);

/** A plan, as far as it is rated beside others. */
interface Rated {
  readonly id: string;
  readonly stated: Losses;
  /** The plans that it continues. */
  readonly before: readonly { readonly id: string }[];
}

/**
 * The rating of several plans together: their losses add up. Plans that continue each other count once, by what the
 * newest states of all of them.
 */
export const rateTogether = (plans: readonly Rated[]): Protection => {
  const continued = new Set(plans.flatMap(({ before }) => before.map(({ id }) => id)));
  const last = new Map(plans.filter(({ id }) => !continued.has(id)).map((plan) => [plan.id, plan]));
  const losses = [...last.values()].map(({ stated }) => lossOfAll(chained(stated)).counted);
  return rateLoss(losses.reduce((sum, loss) => (sum === null || loss === null ? null : sum + loss), 0));
};

/** The rating of the loss of all reports together. */
export const rateLoss = (loss: number | null): Protection => {
  const guess = loss === null ? 1 : 1 / (1 + Math.exp(-loss / 1e9));
  const percent = Math.ceil(Number((100 * guess).toFixed(6)));
  if (loss === null || loss > MOST_LITTLE) return { level: "hardly", loss, percent };
  return { level: loss <= MOST_WELL ? "well" : "a little", loss, percent };
};
