/** Defines the values of several questions that are reported as one: a cell of their table. */

import { InvalidValue, must, shown } from "../errors.js";
import { checkedFields, checkedKind, checkedList, checkedString } from "../strict.js";
import { type Categories, readCategories } from "./categories.js";
import { type Range, readRange } from "./range.js";
import { checkedText, NO_ANSWER, type Values } from "./values.js";

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
    this.k = factors.reduce((cells, { domain }) => cells * domain.k, 1);
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
    const codes: number[] = [];
    for (const { domain } of [...this.factors].reverse()) {
      codes.unshift(rest % domain.k);
      rest = Math.floor(rest / domain.k);
    }
    return codes;
  }

  label(code: number): string {
    return this.split(code)
      .map((part, i) => this.factors[i]?.domain.label(part))
      .join(BETWEEN);
  }

  /** The code of a list with the answer to each question; where one is missing, all are. */
  code(answer: unknown, name: string): number {
    if (!Array.isArray(answer) || answer.length !== this.factors.length)
      throw new InvalidValue(`an answer to ${shown(name)} has ${this.factors.length} parts`);
    const codes = this.factors.map((factor, i) => factor.domain.code(answer[i], factor.name));
    if (codes.includes(NO_ANSWER)) return NO_ANSWER;
    return codes.reduce((cell, code, i) => cell * (this.factors[i] as Factor).domain.k + code, 0);
  }
}

/** Reads questions with their values. */
export const readFactors = (data: unknown, what: string): Factor[] =>
  checkedList(data, what).map((factor) => {
    const fields = checkedFields(factor, "a factor", ["name", "domain"]);
    const name = checkedText(checkedString(fields.name, "name"), "a question's name");
    const kind = checkedKind(fields.domain, "a factor's domain", ["categories", "range"]);
    const read = kind === "categories" ? readCategories : readRange;
    return { name, domain: read(fields.domain) };
  });

/** Reads a table of questions from a plan. */
export const readProduct = (data: unknown): Product =>
  new Product(readFactors(checkedFields(data, "a product", ["kind", "factors"]).factors, "factors"));
