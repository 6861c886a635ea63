/** Reads an attribute of a plan: its values, what a missing answer means, and of whom it is asked. */

import { InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import { domain } from "../plan/notation.js";
import type { RareKinds } from "../plan/rare_kinds.js";
import type { Code } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedList, checkedString } from "../strict.js";
import { checkedText, type Domain, NO_ANSWER } from "./domain.js";

const NO_ANSWER_LABEL = "no answer";
const NOT_APPLICABLE = "not applicable";
export const POLICIES = ["refuse", "value", "random"];

export type Missing = "refuse" | "value" | "random";

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
      (one) => new Attribute(one.name, one.domain, missing, false, null, null, null, answered),
    );
  }

  /** @internal The answer to it; of a table, a list of answers. One that is left out is missing. */
  answer(given: Readonly<Record<string, unknown>>): unknown {
    const found = this.columns.map((name) => (Object.hasOwn(given, name) ? given[name] : null));
    return found.length > 1 ? found : found[0];
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
export const readAttribute = (
  data: unknown,
  usual: Missing,
  filled: boolean,
  rare?: RareKinds,
): Attribute => {
  const there = ["missing", "answered", ...(rare ? ["only_if", "several", "answers"] : [])];
  const fields = checkedFields(data, "an attribute", [
    "name",
    "domain",
    ...there.filter((name) => Object.hasOwn(Object(data), name)),
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
    const given = checkedFields(condition, "a condition", ["name", "values"]);
    const values = checkedList(given.values, "values").map((value) => checkedString(value, "a value"));
    onlyIf = { name: checkedString(given.name, "name"), values };
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
  const domainOf = domain(fields.domain, rare);
  return new Attribute(name, domainOf, missing as Missing, filled, onlyIf, several, answers, answered);
};
