/** Reads an attribute of a plan: its values, what a missing answer means, and of whom it is asked. */

import { InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import type { Code } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedList, checkedString } from "../strict.js";
import { type Domain, readDomain } from "./domain.js";
import { checkedText, NO_ANSWER } from "./values.js";

const NO_ANSWER_LABEL = "no answer";
/** How an answer says that a question does not apply. */
export const NOT_APPLICABLE = "not applicable";
export const POLICIES = ["refuse", "value", "random"];

export type Missing = "refuse" | "value" | "random";

/**
 * Answers by the attributes' names: labels for categories, numbers or their text for ranges, null for no
 * answer.
 */
export type Answers = Readonly<Record<string, unknown>>;

/** An attribute is asked only of people who gave one of these answers to another one. */
export interface Condition {
  readonly name: string;
  readonly values: readonly string[];
}

/** What is asked under one name. */
export class Attribute {
  /** The values beside those of the domain: not applicable, and no answer. */
  readonly extras: readonly string[];

  /** @internal */
  constructor(
    readonly name: string,
    readonly domain: Domain,
    /** What a missing answer means. */
    readonly missing: Missing,
    /** Whether metric values or numbers leave no place for other values. */
    isFilled: boolean,
    readonly onlyIf: Condition | null,
    /** The question of which this is one option: people choose all that apply. */
    readonly several: string | null,
    /** The attribute of which this says whether it is answered. */
    readonly answers: string | null,
    /** How many people in a thousand are expected to answer, where that is not all of them. */
    readonly answered: number | null,
    /** How many options of its question people choose, at least and at most; null where any number. */
    readonly allowed: readonly [least: number, most: number] | null = null,
  ) {
    this.extras = [
      ...(onlyIf && !isFilled ? [NOT_APPLICABLE] : []),
      ...(missing === "value" ? [NO_ANSWER_LABEL] : []),
    ];
  }

  /** Under which names answers are given: its own, or those of the questions of a table. */
  get columns(): readonly string[] {
    return this.parts.map(({ name }) => name);
  }

  /** The names of what people are asked for it. */
  get questions(): readonly string[] {
    const question = this.several ?? this.answers;
    return question === null ? this.columns : [question];
  }

  /** What people are asked: this, or each question of a table. */
  get parts(): readonly Attribute[] {
    const { domain, missing, answered } = this;
    if (!("factors" in domain)) return [this];
    return domain.factors.map(
      (factor) => new Attribute(factor.name, factor.domain, missing, false, null, null, null, answered),
    );
  }

  /** @internal The answer to it; of a table, a list of answers. One that is left out is missing. */
  answer(answers: Answers): unknown {
    const parts = this.columns.map((name) => (Object.hasOwn(answers, name) ? answers[name] : null));
    return parts.length > 1 ? parts : parts[0];
  }

  /** What this option is called in its question; empty where it is none. */
  get option(): string {
    const start = `${this.several}: `;
    return this.name.startsWith(start) ? this.name.slice(start.length) : "";
  }

  /** How many values it has: no answer may be one of them. */
  get k(): number {
    return this.domain.k + this.extras.length;
  }

  /** A value's name. */
  label(code: number): string {
    return this.extras[code - this.domain.k] ?? this.domain.label(code);
  }

  /** The names of all values; those that are too many have none. */
  get labels(): string[] {
    return Array.from({ length: this.domain.isUnlisted ? 0 : this.k }, (_, code) => this.label(code));
  }

  /** @internal Whether an answer may be drawn at random: a missing one, or one that does not apply. */
  get draws(): boolean {
    return this.missing === "random" || (this.onlyIf !== null && !this.extras.length);
  }

  /** @internal An answer's code; -1 where it is to be random. */
  code(answer: unknown): Code {
    const code = this.domain.code(answer, this.name);
    if (code !== NO_ANSWER || this.missing === "random") return code;
    if (this.missing === "value") return this.k - 1;
    throw new InvalidValue(
      `${shown(this.columns.join(" x "))} has no answer, and this plan takes no missing ones`,
    );
  }
}

/** An attribute of a plan whose policy for missing answers is `usual`. */
export const readAttribute = (data: unknown, usual: Missing, isFilled: boolean): Attribute => {
  const optional = ["missing", "answered", "only_if", "several", "answers", "exactly", "at_most"];
  const fields = checkedFields(data, "an attribute", [
    "name",
    "domain",
    ...optional.filter((name) => Object.hasOwn(Object(data), name)),
  ]);
  const name = checkedText(checkedString(fields.name, "name"), "an attribute's name");
  const { missing = usual, only_if: condition } = fields;
  must(
    POLICIES.includes(checkedString(missing, "missing")),
    "missing",
    () => `${shown(missing)} is not a policy`,
  );
  must(
    fields.missing !== usual,
    "canonical",
    () => `the plan ${NOT_CANONICAL}: a policy of an attribute is the plan's`,
  );
  let onlyIf: Condition | null = null;
  if (condition !== undefined) {
    const { name: parent, values } = checkedFields(condition, "a condition", ["name", "values"]);
    const texts = checkedList(values, "values").map((value) => checkedString(value, "a value"));
    onlyIf = { name: checkedString(parent, "name"), values: texts };
  }
  const text = (key: string): string | null => (key in fields ? checkedString(fields[key], key) : null);
  const [several, answers] = [text("several"), text("answers")];
  if (several !== null) checkedText(several, "a question's name");
  const answered = "answered" in fields ? checkedInteger(fields.answered, "answered") : null;
  if (answered !== null) {
    const mayLack = answers === null && (missing === "value" || (onlyIf !== null && missing === "refuse"));
    const fits = mayLack && answered > 0 && answered < 1000;
    must(fits, "answered", () => `${shown(name)} cannot have answers of ${answered} in 1,000 people`);
  }
  const domain = readDomain(fields.domain);
  const allowed = readAllowed(fields);
  must(!allowed || several !== null, "questions", () => `${shown(name)} is no option of a question`);
  return new Attribute(
    name,
    domain,
    missing as Missing,
    isFilled,
    onlyIf,
    several,
    answers,
    answered,
    allowed,
  );
};

/** How many options people choose, at least and at most. */
const readAllowed = (fields: Readonly<Record<string, unknown>>): readonly [number, number] | null => {
  const [exactly, most] = ["exactly", "at_most"].map((name) =>
    name in fields ? checkedInteger(fields[name], name) : null,
  ) as [number | null, number | null];
  must(exactly === null || most === null, "questions", () => "options have one limit on how many are chosen");
  if (exactly !== null) return [exactly, exactly];
  return most === null ? null : [0, most];
};
