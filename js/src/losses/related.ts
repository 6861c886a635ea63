/** Bounds how often an answer is guessed right from a whole report, where questions depend on each other. */

import type { Attribute } from "../domains/attribute.js";
import { NANO } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { isRepeated } from "../mechanisms/repeated.js";
import type { Plan } from "../plan/plan.js";
import { NOT_APPLICABLE } from "../plan/questions.js";
import { type Bounds, boundGuess } from "./bounds.js";

/** Of an attacker who thinks all values equally likely, where a question applies; all but `blind` are bounds. */
export interface RelatedGuess extends Bounds {
  readonly blind: number;
}

/** That of an attribute; undefined where nothing depends on it, nor it on anything. */
export const boundRelated = (plan: Plan, attribute: Attribute): RelatedGuess | undefined => {
  const positions = new Map(plan.attributes.map(({ name }, j) => [name, j]));
  const at = (name: string): number => positions.get(name) as number;
  const get = (name: string): Attribute => plan.attributes[at(name)] as Attribute;
  const rootOf = (one: Attribute): Attribute => (one.onlyIf ? rootOf(get(one.onlyIf.name)) : one);
  const partOf = ({ name }: Attribute): Mechanism => plan.mechanisms[at(name)] as Mechanism;
  const countAnswers = (one: Attribute): number =>
    (partOf(one).guess?.among ?? partOf(one).k) - Number(one.extras.includes(NOT_APPLICABLE));
  const applying = (one: Attribute): number => {
    if (!one.onlyIf) return 1;
    const parent = get(one.onlyIf.name);
    return (applying(parent) * one.onlyIf.values.length) / countAnswers(parent);
  };
  const root = rootOf(attribute);
  const related = plan.attributes.filter((one) => rootOf(one) === root);
  if (related.length < 2) return undefined;
  const often = applying(attribute);
  const blind = Math.max(1 - often, often / countAnswers(attribute));
  // where random values stand for what does not apply, a report says nothing about other answers
  const isDrawn = ({ onlyIf, extras }: Attribute): boolean => onlyIf !== null && !extras.length;
  const telling = related.filter((one) => one === attribute || !isDrawn(one));
  // who guesses well that it does not apply guesses badly what it is: the sum of both is enough
  const part = partOf(attribute);
  const chance = isDrawn(attribute) && !isRepeated(part) && part.guess?.chance;
  const most = chance ? 1 - often + often * (Number((chance[0] * NANO) / chance[1] + 1n) / 1e9) : 1;
  const among = related.map(({ name }) => at(name));
  return {
    blind,
    ...boundGuess(
      plan,
      telling.map(({ name }) => at(name)),
      blind,
      most,
      among,
    ),
  };
};
