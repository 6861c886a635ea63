/** Defines the values of several questions that are reported as one: a cell of their table. */

import { InvalidValue, must, shown } from "../errors.js";
import { domain, type RareKinds } from "../plan/notation.js";
import { checkedFields, checkedKind, checkedList, checkedString } from "../strict.js";
import { type Categories, checkedText, type Domain, NO_ANSWER, type Range, type Values } from "./domain.js";

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
