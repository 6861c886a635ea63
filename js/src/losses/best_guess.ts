/** Computes how often an attacker guesses the answer to a question right, whatever holds it. */

import type { Attribute } from "../domains/attribute.js";
import { divideUp, NANO, toNano } from "../exact.js";
import type { Guess, Mechanism } from "../mechanisms/mechanism.js";
import { FIGURES, lossesOf } from "../mechanisms/repeated.js";
import { chanceHeld } from "../records/records.js";
import { boundGuess } from "./bounds.js";
import { type BestGuess, findGuess, type LossOfRounds, tell } from "./guesses.js";
import { chained, type Losses, lossOfAll, type Recipe } from "./losses.js";
import { boundRelated } from "./related.js";

/**
 * How often an attacker, to whom all answers to this question were equally likely before, guesses it right at
 * most, if the other answers are known or say nothing about it. Questions that depend on each other say
 * something: of these it is a bound, by the whole report. Undefined where a report holds no such question.
 */
export const bestGuess = (recipe: Recipe, losses: Losses, question: Attribute): BestGuess | undefined => {
  const { attributes, mechanism } = recipe;
  const viewed = guessView(recipe, losses, question);
  if (viewed) return viewed;
  const j = attributes.findIndex(({ name }) => name === question.name);
  const part = mechanism.mechanisms[j];
  if (!part) return undefined;
  const hasQuestions = attributes.some(({ onlyIf, several, answers }) => onlyIf ?? several ?? answers);
  const related = hasQuestions ? boundRelated(recipe, question) : undefined;
  return findGuess(
    part,
    chanceHeld(mechanism, j),
    lossOfRounds(recipe, losses, related ? undefined : j),
    recipe.reports ?? 1,
    related,
  );
};

/**
 * What the reports of all rounds give away, also of the plans that are continued: about one attribute, or about everything.
 * Undefined where people are asked once.
 */
const lossOfRounds = (
  { mechanism, reports, together }: Recipe,
  losses: Losses,
  j?: number,
): LossOfRounds | undefined => {
  if (reports === null) return undefined;
  const { counted, unchanged } = lossOfAll(chained(losses));
  const alone =
    j === undefined
      ? []
      : (together?.byAttribute[j] ?? lossesOf(mechanism.mechanisms[j] as Mechanism, reports));
  const least = (ofRecord: number | null, name: (typeof FIGURES)[number]): number | null => {
    const loss = alone[FIGURES.indexOf(name)] ?? null;
    return loss === null
      ? ofRecord
      : Math.min(Number(toNano(loss) + (together?.bias ?? 0n)), ofRecord ?? Infinity);
  };
  const changed = least(counted, "changing_values");
  return losses.chain ? { changed, continued: { same: least(unchanged, "same_value") } } : { changed };
};

/**
 * How often an answer that tables or levels hold is guessed right, at most; of text, which of two it is. Of a range on
 * several levels it is in which of its largest groups: reports of all levels say something about that. The last group may
 * have fewer values, so that a blind guess is right more often than once in their number.
 */
const guessView = (
  recipe: Recipe,
  losses: Losses,
  { name, domain: { k, isUnlisted } }: Attribute,
): BestGuess | undefined => {
  const { attributes, mechanism } = recipe;
  const views = [...attributes.keys()].filter((j) => attributes[j]?.columns.includes(name));
  if (!views.some((j) => "factors" in Object(attributes[j]?.domain))) return undefined;
  const parts = views.map((j) => mechanism.mechanisms[j] as Mechanism);
  const levels = views.map((j) => attributes[j]?.domain).filter((domain) => domain?.kind === "coarse");
  const isGrouped = !isUnlisted && levels.length > 0;
  const among = isUnlisted ? 2 : Math.min(k, ...levels.map((level) => level.k));
  const blind = isGrouped ? Math.max(...levels.map(({ divisor }) => divisor)) / k : 1 / among;
  const most = isUnlisted ? Math.max(...parts.map(({ guess }) => chanceOf(guess))) : 1;
  const bounds = boundGuess(recipe, views, blind, most);
  const isDrawn = bounds.wholeReport < bounds.oneReport;
  const group = isGrouped ? ` in which of ${among} groups of values your answer is` : "";
  const what = (isUnlisted && parts[0]?.guess?.what) || group;
  const figures = { blind, ...bounds, ...(isGrouped && { groups: among }) };
  const blindly = blind === 1 / among ? `1 in ${among}` : `${Math.ceil(100 * blind)} times in 100`;
  return tell(figures, isDrawn, lossOfRounds(recipe, losses), what, blindly);
};

/** A chance as a float, a little above the exact one. */
const chanceOf = (guess: Guess | undefined): number =>
  guess ? Number(divideUp(guess.chance[0] * NANO, guess.chance[1])) / 1e9 : 1;
