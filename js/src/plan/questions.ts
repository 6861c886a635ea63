/** Reads questions that are more than one attribute, or apply only to some, and the answers to them. */

import { type Answers, type Attribute, NOT_APPLICABLE } from "../domains/attribute.js";
import { isMissing, labelOf, NO_ANSWER } from "../domains/values.js";
import { InvalidParameter, InvalidValue, must, shown } from "../errors.js";
import type { Code } from "../randomness/words.js";
import type { Group } from "../records/records.js";

const NONE_OF_THESE = "none of these";
const SEPARATOR = ";";

/** Refuse questions that do not fit together. */
export const checkQuestions = (attributes: readonly Attribute[]): void => {
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const same = (attribute: Attribute): string =>
    JSON.stringify([attribute.missing, attribute.onlyIf, attribute.answered, attribute.allowed]);
  for (const attribute of attributes) {
    const { name, several, answers, onlyIf, domain } = attribute;
    const isYesNo = domain.kind === "categories" && String(domain.labels) === "yes,no";
    if (several !== null) {
      const options = attributes.filter((each) => each.several === several);
      const fits = isYesNo && attribute.option && !byName.has(several) && options.length > 1;
      must(fits, "questions", () => `${shown(name)} is no option of ${shown(several)}`);
      const isSame = options.every((each) => same(each) === same(attribute));
      must(isSame, "questions", () => `the options of ${shown(several)} apply to different people`);
      const most = attribute.allowed?.[1] ?? 1;
      const isLimit = most > 0 && most < options.length;
      must(isLimit, "questions", () => `people cannot choose ${most} of ${options.length} options`);
    }
    if (answers !== null) {
      const about = byName.get(answers)?.onlyIf;
      const fits = isYesNo && several === null && about?.name === name && String(about.values) === "yes";
      must(fits, "questions", () => `${shown(name)} does not say whether ${shown(answers)} is answered`);
    }
    if (onlyIf === null) continue;
    const parent = byName.get(onlyIf.name)?.domain;
    const { values } = onlyIf;
    const fits =
      parent?.kind === "categories" &&
      values.length > 0 &&
      values.length < parent.k &&
      new Set(values).size === values.length &&
      values.every((value) => parent.labels.includes(value));
    must(fits, "only-if", () => `${shown(name)} depends on ${shown(onlyIf.name)}, which does not fit`);
    const seen = [name];
    for (let next = byName.get(onlyIf.name); next?.onlyIf; next = byName.get(next.onlyIf.name)) {
      must(!seen.includes(next.name), "only-if", () => `${shown(name)} depends on itself`);
      seen.push(next.name);
    }
  }
};

/** Answers to questions as answers to attributes: options as yes and no. */
export const spread = (attributes: readonly Attribute[], answers: Answers): Record<string, unknown> => {
  const spreadAnswers = { ...answers };
  for (const { name, several, option } of attributes) {
    if (several === null || !Object.hasOwn(answers, several)) continue;
    if (Object.hasOwn(answers, name))
      throw new InvalidParameter(`${shown(several)} and ${shown(name)} are both answered`);
    delete spreadAnswers[several];
    const known = attributes.filter((each) => each.several === several).map((each) => each.option);
    const chosen = optionsOf(answers[several], several, known);
    spreadAnswers[name] = Array.isArray(chosen) ? (chosen.includes(option) ? "yes" : "no") : chosen;
  }
  for (const { name, answers: about } of attributes)
    if (about !== null && !Object.hasOwn(answers, name)) {
      const answer = answers[about];
      const lacks = Array.isArray(answer) && answer.length === 2 ? answer.some(isMissing) : isMissing(answer);
      spreadAnswers[name] = lacks ? "no" : answer === NOT_APPLICABLE ? null : "yes";
    }
  return spreadAnswers;
};

const optionsOf = (answer: unknown, name: string, known: readonly string[]): unknown => {
  if (isMissing(answer) || answer === NOT_APPLICABLE) return answer;
  if (typeof answer === "string" && answer.trim() === NONE_OF_THESE) return [];
  const listed = typeof answer === "string" ? answer.split(SEPARATOR).map((option) => option.trim()) : answer;
  const chosen = Array.isArray(listed) ? listed.map(labelOf) : [];
  if (!Array.isArray(listed) || !chosen.every((option) => known.includes(option)))
    throw new InvalidValue(
      `${shown(answer)} is not a list of options of ${shown(name)} (${known.join(", ")})`,
    );
  return chosen;
};

/** Codes of answers; what does not apply is filled in, and what contradicts that is refused. */
export const encodeAnswers = (attributes: readonly Attribute[], answers: Answers): Code[] => {
  const spreadAnswers = spread(attributes, answers);
  const codes = new Map<string, Code>();
  const code = (attribute: Attribute): Code => {
    const known = codes.get(attribute.name);
    if (known !== undefined) return known;
    const made = encode(attribute, attribute.answer(spreadAnswers));
    codes.set(attribute.name, made);
    return made;
  };
  const encode = (attribute: Attribute, answer: unknown): Code => {
    if (attribute.onlyIf === null) return attribute.code(answer);
    const parent = attributes.find(({ name }) => name === attribute.onlyIf?.name) as Attribute;
    const applies = attribute.onlyIf.values.includes(parent.label(code(parent) as number));
    const question = shown(attribute.several ?? attribute.answers ?? attribute.name);
    const isSkipped = answer === NOT_APPLICABLE;
    if (applies && isSkipped) throw new InvalidValue(`${question} applies, and has to be answered`);
    if (applies) return attribute.code(answer);
    const isSilent = isSkipped || (attribute.answers !== null && answer === "no");
    if (!isSilent && attribute.domain.code(answer, attribute.name) !== NO_ANSWER)
      throw new InvalidValue(`${question} has an answer, but does not apply; leave it out`);
    const at = attribute.extras.indexOf(NOT_APPLICABLE);
    return at < 0 ? NO_ANSWER : attribute.domain.k + at;
  };
  const made = attributes.map(code);
  refuseNumbers(attributes, made);
  return made;
};

/** Refuse answers with too few or too many options; those that are missing or do not apply have none. */
const refuseNumbers = (attributes: readonly Attribute[], codes: readonly Code[]): void => {
  const limits = new Map(attributes.map(({ several, allowed }) => [several, allowed]));
  for (const [name, allowed] of limits) {
    const options = codes.filter((_, j) => attributes[j]?.several === name);
    if (!allowed || !options.every((value) => value === 0 || value === 1)) continue;
    const [least, most] = allowed;
    const chosen = options.filter((value) => value === 0).length;
    if (chosen < least || chosen > most)
      throw new InvalidValue(
        `${shown(name)} takes ${least === most ? "exactly" : "at most"} ${most} options, got ${chosen}`,
      );
  }
};

/** Refuse near sets of anything but all options of one question, with its limit and without missing answers. */
export const checkNear = (attributes: readonly Attribute[], groups: readonly Group[]): void => {
  let first = 0;
  for (const { size, allowed } of groups) {
    const options = attributes.slice(first, (first += size));
    if (!allowed) continue;
    const several = options[0]?.several ?? null;
    const isWhole = attributes.filter((attribute) => attribute.several === several).length === size;
    const isSame = options.every(
      (option) =>
        option.several === several &&
        option.missing === "refuse" &&
        String(option.allowed) === String(allowed),
    );
    must(several !== null && isWhole && isSame, "near", () => `near sets are for all options of a question`);
  }
};
