/** Checks attributes that are views of questions, tables and levels, and bounds what is guessed of such a question. */

import type { Attribute } from "../domains/attribute.js";
import { must, shown } from "../errors.js";
import { divideUp, NANO } from "../exact.js";
import type { boundGuess } from "../losses/bounds.js";
import { type BestGuess, tell } from "../losses/guesses.js";
import type { Guess, Mechanism } from "../mechanisms/mechanism.js";
import type { Group } from "../records/records.js";
import type { Plan } from "./plan.js";

const MOST_STEP = 2 ** 30; // values that a search looks at beyond one prefix
const MOST_FANOUT = 1 << 16;

/** Refuse tables and levels of questions that are not the same wherever they are asked. */
export const checkTables = (attributes: readonly Attribute[], groups: readonly Group[]): void => {
  const asked = new Map<string, string>();
  const several = new Set(attributes.map((one) => one.several));
  for (const { name, domain, missing, onlyIf, several: question, answers } of attributes) {
    const isView = "factors" in domain;
    const fits = !isView || (name === domain.name && !(onlyIf ?? question ?? answers));
    must(fits, "tables", () => `${shown(name)} is a view of questions that everybody is asked`);
    for (const one of isView ? domain.factors : [{ name, domain }]) {
      const here = JSON.stringify([one.domain, missing]);
      const isSame = (asked.get(one.name) ?? here) === here && !several.has(one.name);
      must(isSame, "tables", () => `${shown(one.name)} is asked in two ways`);
      asked.set(one.name, here);
    }
  }
  let at = 0;
  for (const { size, named } of groups) {
    const isOne =
      named < 2 || !attributes.slice(at, at + size).some(({ domain }) => domain.kind === "coarse");
    must(isOne, "tables", () => "a report holds one level of a question");
    at += size;
  }
  for (const { domain } of attributes) {
    if (domain.kind !== "coarse") continue;
    checkLevels(domain.question, attributes);
    checkCombined(domain.question, attributes);
  }
};

/** Refuse levels of a question that is not an attribute itself, or that some do not answer. */
const checkLevels = (question: string, attributes: readonly Attribute[]): void => {
  const own = attributes.find(({ name }) => name === question);
  const fits = own && !own.onlyIf && own.missing !== "value";
  must(fits, "tables", () => `${shown(question)} has levels: it is an attribute that everybody answers`);
};

/** Refuse levels of which nothing could be read: ranges that are no tree, and text with gaps. */
const checkCombined = (question: string, attributes: readonly Attribute[]): void => {
  const own = attributes.find(({ name }) => name === question) as Attribute;
  const levels = attributes.map(({ domain }) => domain).filter((one) => one.kind === "coarse");
  const divisors = levels.filter((one) => one.question === question).map(({ divisor }) => divisor);
  const all = [1, ...divisors.sort((a, b) => a - b), own.domain.k];
  const steps = all.slice(1).map((one, j) => one / (all[j] as number));
  const first = steps[0] as number;
  const isTree =
    first <= MOST_FANOUT && steps.every((one, j) => one === first || (!steps[j + 1] && one < first));
  const isFound = own.domain.isUnlisted ? steps.every((one) => one <= MOST_STEP) : isTree;
  must(isFound, "tables", () => `the levels of ${shown(question)} cannot be combined`);
};

/**
 * How often an answer that tables or levels hold is guessed right, at most; of text, which of two it is. Of a range on
 * several levels it is in which of its largest groups: reports of all levels say something about that. The last group may
 * have fewer values, so that a blind guess is right more often than once in their number.
 */
export const guessFactor = (
  plan: Plan,
  { name, domain: { k, isUnlisted } }: Attribute,
  bound: typeof boundGuess,
): BestGuess | undefined => {
  const held = [...plan.attributes.keys()].filter((j) => plan.attributes[j]?.columns.includes(name));
  if (!held.some((j) => "factors" in Object(plan.attributes[j]?.domain))) return undefined;
  const parts = held.map((j) => plan.mechanisms[j] as Mechanism);
  const levels = held.map((j) => plan.attributes[j]?.domain).filter((one) => one?.kind === "coarse");
  const isGrouped = !isUnlisted && levels.length > 0;
  const among = isUnlisted ? 2 : Math.min(k, ...levels.map((one) => one.k));
  const blind = isGrouped ? Math.max(...levels.map((one) => one.divisor)) / k : 1 / among;
  const most = isUnlisted ? Math.max(...parts.map(({ guess }) => chanceOf(guess))) : 1;
  const found = bound(plan, held, blind, most);
  const isDrawn = found.wholeReport < found.oneReport;
  const group = isGrouped ? ` in which of ${among} groups of values your answer is` : "";
  const what = (isUnlisted && parts[0]?.guess?.what) || group;
  const figures = { blind, ...found, ...(isGrouped && { groups: among }) };
  const blindly = blind === 1 / among ? `1 in ${among}` : `${Math.ceil(100 * blind)} times in 100`;
  return tell(figures, isDrawn, plan.changedLoss(), what, blindly);
};

/** A little above the exact one. */
const chanceOf = (guess: Guess | undefined): number =>
  guess ? Number(divideUp(guess.chance[0] * NANO, guess.chance[1])) / 1e9 : 1;
