/**
 * Defines the values of an attribute: labels for people, integers from 0 to k - 1 for mechanisms.
 *
 * An answer outside the domain is refused, never rounded or passed on.
 */

import { InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import type { Code, Halves } from "../randomness/words.js";
import type { Coarse } from "./coarse.js";
import type { Codes, FreeText } from "./free_text.js";
import type { Grid } from "./grid.js";
import { refuseImitation } from "./imitation.js";
import type { Numbers } from "./number.js";
import type { Product } from "./product.js";

/** The code of a missing answer. */
export const NO_ANSWER = -1;

const MOST_VALUES = 1 << 20;
// integers up to here, and their quotients by powers of ten, differ as floats
export const LARGEST = 10 ** 15;
const SHOWN = 8;
// the same in Python, and what trim takes off (spec/wire.md, 4)
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The values an attribute can have, in order. */
export type Domain = (Categories | Range | Grid | Numbers | Product | Coarse | FreeText | Codes) & Values;

export interface Values {
  /** The number of values. */
  readonly k: number;
  /** Whether these are too many to list. */
  readonly isUnlisted?: boolean;
  /** A value's name. */
  label(code: number): string;
  /** An answer's code, or -1 where there is none; what is not a value is refused. */
  code(answer: unknown, name: string): Code;
  /** The code of a missing answer that is to be random, where one word gives it otherwise than others. */
  draw?(words: Halves): Code;
}

/** Values with names and no order that matters. Numbers and booleans are known by their text. */
export class Categories implements Values {
  readonly kind = "categories";
  readonly k: number;
  private readonly codes: ReadonlyMap<string, number>;

  constructor(readonly labels: readonly string[]) {
    const codes = new Map<string, number>();
    for (const [code, label] of labels.entries()) {
      const isNew = !codes.has(checkedText(label, "a label"));
      must(
        isNew,
        "labels",
        () => `the label ${shown(label)} occurs twice; every value needs a name of its own`,
      );
      must(label === label.normalize(), "canonical", () => `the label ${shown(label)} is not in NFC`);
      codes.set(label, code);
    }
    must(labels.length > 1, "labels", () => `an attribute needs two values, got ${labels.length}`);
    checkedValues(labels.length);
    this.codes = codes;
    this.k = labels.length;
  }

  label(code: number): string {
    return this.labels[code] as string;
  }

  code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const found = this.codes.get(labelOf(answer));
    if (found !== undefined) return found;
    const more = this.k > SHOWN ? `, and ${this.k - SHOWN} more` : "";
    throw new InvalidValue(
      `${shown(answer)} is not a value of ${shown(name)} (${this.labels.slice(0, SHOWN).join(", ")}${more})`,
    );
  }
}

/** Numbers in bins of one width. With an open end, the last bin on that side has no limit. */
export class Range implements Values {
  readonly kind = "range";
  /** What is counted one by one; null for numbers in bins. */
  readonly unit: "whole" | "month" | "year" | null = null;
  private readonly scale: number;

  /**
   * Bin i is from (low + i step) / 10^digits to under (low + (i + 1) step) / 10^digits, each quotient
   * rounded once.
   */
  constructor(
    readonly low: number,
    readonly step: number,
    readonly bins: number,
    readonly digits: number,
    readonly openLow: boolean,
    readonly openHigh: boolean,
  ) {
    wholeNumber("range", "bins", bins, 2, Number.MAX_SAFE_INTEGER);
    checkedValues(bins);
    wholeNumber("range", "digits", digits, 0, 15);
    wholeNumber("range", "step", step, 1, LARGEST);
    wholeNumber("range", "low", low, -LARGEST, LARGEST);
    const high = low + bins * step;
    must(high <= LARGEST, "range", () => "a range's numbers have at most 15 digits");
    const isShort = !digits || [low, high, step].some((number) => number % 10);
    must(isShort, "canonical", () => `the plan ${NOT_CANONICAL}: a range has too many digits`);
    this.scale = Number(`1e${digits}`);
  }

  get k(): number {
    return this.bins;
  }

  label(code: number): string {
    if (this.openLow && code === 0) return `under ${this.end(1)}`;
    if (this.openHigh && code === this.bins - 1) return `${this.end(code)} or more`;
    return `${this.end(code)} to under ${this.end(code + 1)}`;
  }

  code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const number = numberFor(answer, name);
    let [first, last] = [0, this.bins + 1]; // how many of the edges are not above the number
    while (first < last) {
      const middle = (first + last) >> 1;
      if (this.edge(middle) <= number) first = middle + 1;
      else last = middle;
    }
    if ((first === 0 && !this.openLow) || (first > this.bins && !this.openHigh)) {
      throw new InvalidValue(
        `${number} is not a value of ${shown(name)} (${this.edge(0)} to under ${this.edge(this.bins)})`,
      );
    }
    return Math.min(Math.max(first - 1, 0), this.bins - 1);
  }

  private edge(i: number): number {
    return (this.low + this.step * i) / this.scale;
  }

  private end(i: number): string {
    const whole = this.low + this.step * i;
    if (!this.digits) return String(whole);
    const digits = String(Math.abs(whole)).padStart(this.digits + 1, "0");
    return `${whole < 0 ? "-" : ""}${digits.slice(0, -this.digits)}.${digits.slice(-this.digits)}`;
  }
}

/** As many values as an attribute can have. */
export const checkedValues = (k: number): void => {
  must(k <= MOST_VALUES, "values", () => `an attribute has at most ${MOST_VALUES} values, got ${k}`);
};

/**
 * Text that can be shown and sent: one line, composed, no space around it, nothing in it that nobody sees.
 */
export const checkedText = (text: string, what: string): string => {
  const seen = text.replace(JOINER, "");
  const isShown = text && text === text.trim() && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(seen);
  must(isShown, "text", () => `${what} must be visible text on one line, got ${shown(text)}`);
  refuseImitation(text, what);
  return text;
};

// it shows after an Arabic letter, a mark or a symbol; the same rule for all clients
const JOINER = /(?<=[\p{M}\p{So}\p{Sk}\u0600-\u08ff])[\u200c\u200d](?=.)/gu;

export const isMissing = (answer: unknown): boolean =>
  [undefined, null, "", Number.NaN].includes(answer as string);

/** The text by which an answer is known, the same as in Python: whole numbers have no decimal point. */
export function labelOf(answer: unknown): string {
  switch (typeof answer) {
    case "string":
      return answer.normalize();
    case "bigint":
      return String(answer);
    case "boolean":
      return answer ? "True" : "False";
    case "number":
      if (Number.isInteger(answer)) return String(BigInt(answer));
      if (Math.abs(answer) >= 1e-4) return String(answer);
      return answer.toExponential().replace(/-(\d)$/, "-0$1");
    default:
      throw new InvalidValue(`an answer is text, a number or a boolean, got ${shown(answer)}`);
  }
}

/** An answer as the nearest floating-point number, or a refusal. */
export const numberFor = (answer: unknown, name: string): number => {
  const number = numberOf(answer);
  if (Number.isFinite(number)) return number;
  throw new InvalidValue(`${shown(answer)} is not a number, as ${shown(name)} asks for`);
};

/** The same, or NaN. */
export function numberOf(answer: unknown): number {
  if (typeof answer === "number" || typeof answer === "bigint") return Number(answer);
  const text = typeof answer === "string" ? answer.trim() : "";
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}
