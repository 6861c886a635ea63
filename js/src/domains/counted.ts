/** Defines values that are counted one by one: whole numbers, months and years. */

import { InvalidValue, must, shown } from "../errors.js";
import { checkedString, type Fields } from "../strict.js";
import { isMissing, NO_ANSWER, numberFor, Range } from "./domain.js";

/** What is counted. */
export type Unit = "whole" | "month" | "year";

const UNITS = ["whole", "month", "year"];
const MONTHS = 12;
const LAST_YEAR = 9999;
const DATE = /^(\d{4})(?:-(0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/;

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
      if (Number.isInteger(number)) return number;
      throw new InvalidValue(`${shown(answer)} is not a whole number, as ${shown(name)} asks for`);
    }
    const text = typeof answer === "number" && this.unit === "year" ? String(answer) : answer;
    const [, year, month] = (typeof text === "string" && DATE.exec(text.trim())) || [];
    if (year && this.unit === "year") return Number(year);
    if (year && month) return Number(year) * MONTHS + Number(month) - 1;
    throw new InvalidValue(`${shown(answer)} is not a ${this.unit}, as ${shown(name)} asks for`);
  }
}

/** From the fields of a range that has a unit. */
export const counted = (fields: Fields, range: Range): Counted => {
  const unit = checkedString(fields.unit, "unit");
  const isWhole = UNITS.includes(unit) && !range.digits && range.step === 1;
  const fits = isWhole && !range.openLow && !range.openHigh;
  must(fits, "range", () => `values that are counted one by one have step 1 and no open ends, got ${unit}`);
  return new Counted(range.low, range.bins, unit as Unit);
};
