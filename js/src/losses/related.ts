/** Bounds how often an answer is guessed right from a whole report, where questions depend on each other. */

import { type Attribute, NOT_APPLICABLE } from "../domains/attribute.js";
import { NANO } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { type Bounds, boundGuess } from "./bounds.js";
import type { Recipe } from "./losses.js";

/** The guess of an attacker who thinks all values equally likely, where a question applies; all but `blind` are bounds. */
export interface RelatedGuess extends Bounds {
  readonly blind: number;
}

/** Bounds the guess of an attribute; undefined where nothing depends on it, nor it on anything. */
export const boundRelated = (recipe: Recipe, attribute: Attribute): RelatedGuess | undefined => {
  const positions = new Map(recipe.attributes.map(({ name }, j) => [name, j]));
  const at = (name: string): number => positions.get(name) as number;
  const get = (name: string): Attribute => recipe.attributes[at(name)] as Attribute;
  const rootOf = (question: Attribute): Attribute =>
    question.onlyIf ? rootOf(get(question.onlyIf.name)) : question;
  const partOf = ({ name }: Attribute): Mechanism => recipe.mechanism.mechanisms[at(name)] as Mechanism;
  const countAnswers = (question: Attribute): number =>
    (partOf(question).guess?.among ?? partOf(question).k) - Number(question.extras.includes(NOT_APPLICABLE));
  const applying = ({ onlyIf }: Attribute): number => {
    if (!onlyIf) return 1;
    const parent = get(onlyIf.name);
    return (applying(parent) * onlyIf.values.length) / countAnswers(parent);
  };
  const root = rootOf(attribute);
  const related = recipe.attributes.filter((question) => rootOf(question) === root);
  if (related.length < 2) return undefined;
  const often = applying(attribute);
  const blind = Math.max(1 - often, often / countAnswers(attribute));
  // where random values stand for what does not apply, a report says nothing about other answers
  const isDrawn = ({ onlyIf, extras }: Attribute): boolean => onlyIf !== null && !extras.length;
  const telling = related.filter((question) => question === attribute || !isDrawn(question));
  // who guesses well that it does not apply guesses badly what it is: the sum of both is enough
  const part = partOf(attribute);
  const chance = isDrawn(attribute) && recipe.reports === null && part.guess?.chance;
  const most = chance ? 1 - often + often * (Number((chance[0] * NANO) / chance[1] + 1n) / 1e9) : 1;
  const among = related.map(({ name }) => at(name));
  return {
    blind,
    ...boundGuess(
      recipe,
      telling.map(({ name }) => at(name)),
      blind,
      most,
      among,
    ),
  };
};
