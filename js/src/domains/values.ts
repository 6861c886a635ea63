/**
 * Defines what the values of an attribute are: labels for people, integers from 0 to k - 1 for mechanisms.
 *
 * An answer outside the domain is refused, never rounded or passed on.
 */

import { InvalidValue, must, shown } from "../errors.js";
import type { Code, Halves } from "../randomness/words.js";
import { refuseImitation } from "./imitation.js";

/** The code of a missing answer. */
export const NO_ANSWER = -1;

const MOST_VALUES = 1 << 20;
// the same in Python, and what trim takes off (spec/wire.md, 1)
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The values an attribute can have, in order. */
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

/** An answer as the nearest floating-point number, or NaN. */
export function numberOf(answer: unknown): number {
  if (typeof answer === "number" || typeof answer === "bigint") return Number(answer);
  const text = typeof answer === "string" ? answer.trim() : "";
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}
