/** Defines the values of several questions that are reported as one: a cell of their table. */

import type { Attribute } from "./attribute.js";
import type { boundGuess } from "./bounds.js";
import { type Categories, checkedText, type Domain, NO_ANSWER, type Range, type Values } from "./domain.js";
import { InvalidValue, must, shown } from "./errors.js";
import { divideUp, NANO } from "./exact.js";
import { type BestGuess, tell } from "./guesses.js";
import type { Guess, Mechanism } from "./mechanism.js";
import { domain, type RareKinds } from "./notation.js";
import type { Plan } from "./plan.js";
import { checkedFields, checkedKind, checkedList, checkedString } from "./strict.js";

const MOST_CELLS = 1 << 16;
const MOST = 16; // questions of two answers each have that many cells
const BETWEEN = " x ";

/** One of the questions. */
export interface Factor {
  readonly name: string;
  readonly domain: Categories | Range;
}

/** The answers to two questions, or more, as one value: the last question's answers change first. */
export class Product implements Values {
  readonly kind = "product";
  readonly k: number;

  constructor(readonly factors: readonly Factor[]) {
    const { names } = this;
    const fits = names.length > 1 && names.length <= MOST && new Set(names).size === names.length;
    must(fits, "product", () => `a table is of two or more different questions, got ${shown(names)}`);
    this.k = factors.reduce((cells, one) => cells * one.domain.k, 1);
    must(this.k <= MOST_CELLS, "product", () => `a table has at most ${MOST_CELLS} cells, got ${this.k}`);
  }

  /** The questions. */
  get names(): string[] {
    return this.factors.map(({ name }) => name);
  }

  /** What an attribute with these values is called. */
  get name(): string {
    return this.names.join(BETWEEN);
  }

  /** The answers that a value is, question by question. */
  split(code: number): number[] {
    let rest = code;
    const found: number[] = [];
    for (const { domain } of [...this.factors].reverse()) {
      found.unshift(rest % domain.k);
      rest = Math.floor(rest / domain.k);
    }
    return found;
  }

  label(code: number): string {
    return this.split(code)
      .map((one, i) => this.factors[i]?.domain.label(one))
      .join(BETWEEN);
  }

  /** Of a list with the answer to each question; where one is missing, all are. */
  code(answer: unknown, name: string): number {
    if (!Array.isArray(answer) || answer.length !== this.factors.length)
      throw new InvalidValue(`an answer to ${shown(name)} has ${this.factors.length} parts`);
    const codes = this.factors.map((one, i) => one.domain.code(answer[i], one.name));
    if (codes.includes(NO_ANSWER)) return NO_ANSWER;
    return codes.reduce((cell, one, i) => cell * (this.factors[i] as Factor).domain.k + one, 0);
  }
}

/** Questions with their values. */
export const readFactors = (data: unknown, what: string, rare: RareKinds): Factor[] =>
  checkedList(data, what).map((one) => {
    const given = checkedFields(one, "a factor", ["name", "domain"]);
    const name = checkedText(checkedString(given.name, "name"), "a question's name");
    checkedKind(given.domain, "a factor's domain", ["categories", "range"]);
    return { name, domain: domain(given.domain, rare) as Categories | Range };
  });

/** A product of a plan. */
const readProduct = (data: unknown, rare: RareKinds): Product => {
  const { factors } = checkedFields(data, "a product", ["kind", "factors"]);
  return new Product(readFactors(factors, "factors", rare));
};

export const domains: Readonly<Record<string, (data: unknown, rare: RareKinds) => Domain>> = {
  product: readProduct,
};

/** Refuse tables and levels of questions that are not the same wherever they are asked. */
export const checkTables = (attributes: readonly Attribute[]): void => {
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
  for (const { domain } of attributes) if (domain.kind === "coarse") checkLevels(domain.question, attributes);
};

/** Refuse levels of a question that is not an attribute itself, or that some do not answer. */
const checkLevels = (question: string, attributes: readonly Attribute[]): void => {
  const own = attributes.find(({ name }) => name === question);
  const fits = own && !own.onlyIf && own.missing !== "value";
  must(fits, "tables", () => `${shown(question)} has levels: it is an attribute that everybody answers`);
};

/** How often an answer that tables or levels hold is guessed right, at most; of text, which of two it is. */
export const guessFactor = (
  plan: Plan,
  { name, domain: { k, isUnlisted } }: Attribute,
  bound: typeof boundGuess,
): BestGuess | undefined => {
  const held = [...plan.attributes.keys()].filter((j) => plan.attributes[j]?.columns.includes(name));
  if (!held.some((j) => "factors" in Object(plan.attributes[j]?.domain))) return undefined;
  const parts = held.map((j) => plan.mechanisms[j] as Mechanism);
  const among = isUnlisted ? 2 : k;
  const most = isUnlisted ? Math.max(...parts.map(({ guess }) => chanceOf(guess))) : 1;
  const found = bound(plan, held, 1 / among, most);
  const isDrawn = found.wholeReport < found.oneReport;
  const what = (isUnlisted && parts[0]?.guess?.what) || "";
  return tell({ blind: 1 / among, ...found }, isDrawn, plan.rounds !== null, what, `1 in ${among}`);
};

/** A little above the exact one. */
const chanceOf = (guess: Guess | undefined): number =>
  guess ? Number(divideUp(guess.chance[0] * NANO, guess.chance[1])) / 1e9 : 1;
