/** Refuses attributes that are views of questions, tables and levels, and do not fit together. */

import type { Attribute } from "../domains/attribute.js";
import { must, shown } from "../errors.js";
import type { Group } from "../records/records.js";

const MOST_STEP = 2 ** 30; // values that a search looks at beyond one prefix
const MOST_FANOUT = 1 << 16;

/** Refuse tables and levels of questions that are not the same wherever they are asked. */
export const checkViews = (attributes: readonly Attribute[], groups: readonly Group[]): void => {
  const forms = new Map<string, string>();
  const several = new Set(attributes.map((attribute) => attribute.several));
  for (const { name, domain, missing, onlyIf, several: question, answers } of attributes) {
    const isView = "factors" in domain;
    const fits = !isView || (name === domain.name && !(onlyIf ?? question ?? answers));
    must(fits, "tables", () => `${shown(name)} is a view of questions that everybody is asked`);
    for (const question of isView ? domain.factors : [{ name, domain }]) {
      const here = JSON.stringify([question.domain, missing]);
      const isSame = (forms.get(question.name) ?? here) === here && !several.has(question.name);
      must(isSame, "tables", () => `${shown(question.name)} is asked in two ways`);
      forms.set(question.name, here);
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
  const attribute = attributes.find(({ name }) => name === question);
  const fits = attribute && !attribute.onlyIf && attribute.missing !== "value";
  must(fits, "tables", () => `${shown(question)} has levels: it is an attribute that everybody answers`);
};

/** Refuse levels of which nothing could be read: ranges that are no tree, and text with gaps. */
const checkCombined = (question: string, attributes: readonly Attribute[]): void => {
  const attribute = attributes.find(({ name }) => name === question) as Attribute;
  const levels = attributes.map(({ domain }) => domain).filter((domain) => domain.kind === "coarse");
  const divisors = levels.filter((level) => level.question === question).map(({ divisor }) => divisor);
  const all = [1, ...divisors.sort((a, b) => a - b), attribute.domain.k];
  const steps = all.slice(1).map((size, j) => size / (all[j] as number));
  const first = steps[0] as number;
  const isTree =
    first <= MOST_FANOUT && steps.every((step, j) => step === first || (!steps[j + 1] && step < first));
  const isFound = attribute.domain.isUnlisted ? steps.every((step) => step <= MOST_STEP) : isTree;
  must(isFound, "tables", () => `the levels of ${shown(question)} cannot be combined`);
};
