/** Defines ranges of numbers: in bins of one width, or counted one by one as whole numbers, months and years. */

import { InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { checkedBoolean, checkedFields, checkedInteger, checkedString } from "../strict.js";
import { checkedValues, isMissing, NO_ANSWER, numberFor, type Values } from "./values.js";

/** Integers up to here, and their quotients by powers of ten, differ as floats. */
export const LARGEST = 10 ** 15;

/** What is counted. */
export type Unit = "whole" | "month" | "year";

const UNITS = ["whole", "month", "year"];
const MONTHS = 12;
const LAST_YEAR = 9999;
const DATE = /^(\d{4})(?:-(0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/;

/** Numbers in bins of one width. With an open end, the last bin on that side has no limit. */
export class Range implements Values {
  readonly kind = "range";
  /** What is counted one by one; null for numbers in bins. */
  readonly unit: Unit | null = null;
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

/** A range of whole numbers, of months (12 times the year, and so many more) or of years. */
export class Counted extends Range {
  constructor(
    low: number,
    bins: number,
    override readonly unit: Unit,
  ) {
    super(low, 1, bins, 0, false, false);
    const many = unit === "month" ? MONTHS : 1;
    const fits = unit === "whole" || (low >= many && low + bins <= (LAST_YEAR + 1) * many);
    must(fits, "range", () => `dates have years from 1 to ${LAST_YEAR}`);
  }

  override label(code: number): string {
    const value = this.low + code;
    if (this.unit !== "month") return String(value);
    return `${String(Math.floor(value / MONTHS)).padStart(4, "0")}-${String((value % MONTHS) + 1).padStart(2, "0")}`;
  }

  override code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const code = this.count(answer, name) - this.low;
    if (code >= 0 && code < this.bins) return code;
    throw new InvalidValue(
      `${shown(answer)} is not a value of ${shown(name)} (${this.label(0)} to ${this.label(this.bins - 1)})`,
    );
  }

  private count(answer: unknown, name: string): number {
    if (this.unit === "whole") {
      const number = numberFor(answer, name);
      if (Number.isInteger(number)) return number + 0; // -0 is 0
      throw new InvalidValue(`${shown(answer)} is not a whole number, as ${shown(name)} asks for`);
    }
    const text = typeof answer === "number" && this.unit === "year" ? String(answer) : answer;
    const [, year, month] = (typeof text === "string" && DATE.exec(text.trim())) || [];
    if (year && this.unit === "year") return Number(year);
    if (year && month) return Number(year) * MONTHS + Number(month) - 1;
    throw new InvalidValue(`${shown(answer)} is not a ${this.unit}, as ${shown(name)} asks for`);
  }
}

const NUMBERS = ["low", "step", "bins", "digits"];

/** Reads a range from a plan; one with a unit is counted one by one. */
export const readRange = (data: unknown): Range => {
  const hasUnit = "unit" in Object(data);
  const names = ["kind", ...NUMBERS, "open_low", "open_high", ...(hasUnit ? ["unit"] : [])];
  const fields = checkedFields(data, "a range", names);
  const [low, step, bins, digits] = NUMBERS.map((name) => checkedInteger(fields[name], name)) as [
    number,
    number,
    number,
    number,
  ];
  const [openLow, openHigh] = [checkedBoolean(fields.open_low), checkedBoolean(fields.open_high)];
  const range = new Range(low, step, bins, digits, openLow, openHigh);
  if (!hasUnit) return range;
  const unit = checkedString(fields.unit, "unit");
  const isWhole = UNITS.includes(unit) && !digits && step === 1;
  const fits = isWhole && !openLow && !openHigh;
  must(fits, "range", () => `values that are counted one by one have step 1 and no open ends, got ${unit}`);
  return new Counted(low, bins, unit as Unit);
};
