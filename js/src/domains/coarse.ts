/** Defines the values of a question on a coarser level: those next to each other are one. */

import { must, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { below, type Code, type Halves } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedKind, checkedList, checkedString } from "../strict.js";
import { type Codes, type FreeText, readCodes, readFreeText } from "./free_text.js";
import { type Range, readRange } from "./range.js";
import { checkedText, NO_ANSWER, type Values } from "./values.js";

type Base = Range | FreeText | Codes;

/** Every `divisor` values of one question as one; the last ones may be fewer. */
export class Coarse implements Values {
  readonly kind = "coarse";
  readonly k: number;
  readonly isUnlisted: boolean;
  readonly factors: readonly { readonly name: string; readonly domain: Base }[];

  constructor(
    question: string,
    private readonly base: Base,
    readonly divisor: number,
  ) {
    this.isUnlisted = base.kind !== "range";
    const most = Math.min(Number.MAX_SAFE_INTEGER, base.k - 1);
    wholeNumber("coarse", "a divisor", divisor, this.isUnlisted ? 1 : 2, most);
    must(
      !this.isUnlisted || 2 ** Math.round(Math.log2(divisor)) === divisor, // log2 alone is rounded
      "coarse",
      () => `a divisor of ${shown(question)} must be a power of two, got ${divisor}`,
    );
    this.k = Math.ceil(base.k / divisor);
    this.factors = [{ name: question, domain: base }];
  }

  /** The question. */
  get question(): string {
    return this.factors[0]?.name as string;
  }

  /** What an attribute with these values is called. */
  get name(): string {
    return this.isUnlisted
      ? `${this.question} to ${Math.log2(this.k)} bits`
      : `${this.question} by ${this.divisor}`;
  }

  label(code: Code): string {
    const { base, divisor } = this;
    if (base.kind !== "range") return base.label(code, Math.log2(this.k));
    const first = Number(code) * divisor;
    const last = Math.min(first + divisor, base.k) - 1;
    return first === last ? base.label(first) : joined(base, first, last);
  }

  code(answer: unknown): Code {
    const code = this.base.code(answer, this.question);
    if (code === NO_ANSWER) return code;
    return typeof code === "bigint" ? code / BigInt(this.divisor) : Math.floor(code / this.divisor);
  }

  draw(words: Halves): Code {
    const { base, k, divisor } = this;
    if (base.kind === "range") return Math.floor(below(words, 0, base.k) / divisor);
    return base.draw(words, Math.log2(k));
  }
}

/** What the bins of a range from one to another are called. */
const joined = (base: Range, first: number, last: number): string => {
  const [low, high] = [base.label(first), base.label(last)];
  if (base.unit) return `${low} to ${high}`;
  const [from] = low.split(" to under ");
  const [, to] = high.split(" to under ");
  if (low.startsWith("under ")) return to ? `under ${to}` : low;
  return to ? `${from} to under ${to}` : `${from} or more`;
};

const BASES: Readonly<Record<string, (data: unknown) => Base>> = {
  range: readRange,
  text: readFreeText,
  code: readCodes,
};

/** Reads a coarse domain from a plan. */
export const readCoarse = (data: unknown): Coarse => {
  const fields = checkedFields(data, "a coarse domain", ["kind", "divisor", "factors"]);
  const factors = checkedList(fields.factors, "factors");
  must(factors.length === 1, "coarse", () => `a coarse domain is of one question, got ${factors.length}`);
  const factor = checkedFields(factors[0], "a factor", ["name", "domain"]);
  const name = checkedText(checkedString(factor.name, "name"), "a question's name");
  const read = BASES[checkedKind(factor.domain, "a factor's domain", Object.keys(BASES))] as typeof readRange;
  return new Coarse(name, read(factor.domain), checkedInteger(fields.divisor, "divisor"));
};
