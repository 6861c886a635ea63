/** Defines numbers whose mean a study wants: any number from a lowest to a highest one. */

import { InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { checkedBoolean, checkedFields, checkedInteger } from "../strict.js";
import { LARGEST } from "./range.js";
import { isMissing, NO_ANSWER, numberFor, type Values } from "./values.js";

/** A number becomes the nearest of 2^32 + 1 positions from the lowest to the highest. */
export const POSITIONS = 2 ** 32;

/** A number from low to high. With an open end, what lies beyond counts as the end. */
export class Numbers implements Values {
  readonly kind = "number";
  readonly isUnlisted = true;
  readonly k = POSITIONS + 1;
  readonly low: number;
  readonly high: number;

  /** The ends are the integers over 10^digits. */
  constructor(
    low: number,
    high: number,
    readonly digits: number,
    readonly openLow: boolean,
    readonly openHigh: boolean,
  ) {
    wholeNumber("number", "digits", digits, 0, 15);
    for (const end of [low, high]) wholeNumber("number", "an end", end, -LARGEST, LARGEST);
    must(low < high, "number", () => "a number goes from low up to high");
    const isShort = !digits || low % 10 || high % 10;
    must(isShort, "canonical", () => `the plan ${NOT_CANONICAL}: a number has too many digits`);
    const unit = Number(`1e${digits}`);
    [this.low, this.high] = [low / unit, high / unit];
  }

  /** The number at a position, which may be beyond the ends, with three digits or more. */
  label(position: number): string {
    const wide = this.high - this.low;
    const digits = Math.min(100, Math.max(0, Math.ceil(3 - Math.log10(wide))));
    return (this.low + (position / POSITIONS) * wide).toFixed(digits);
  }

  code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const number = numberFor(answer, name);
    const { low, high, openLow, openHigh } = this;
    if ((number < low && !openLow) || (number > high && !openHigh)) {
      throw new InvalidValue(`${number} is not a value of ${shown(name)} (${low} to ${high})`);
    }
    return Math.floor(((Math.min(high, Math.max(low, number)) - low) / (high - low)) * POSITIONS + 0.5);
  }
}

/** Reads a number from a plan. */
export const readNumbers = (data: unknown): Numbers => {
  const ends = ["open_low", "open_high"];
  const fields = checkedFields(data, "a number", ["kind", "low", "high", "digits", ...ends]);
  const integer = (name: string): number => checkedInteger(fields[name], name);
  const [low, high, digits] = [integer("low"), integer("high"), integer("digits")];
  const [openLow, openHigh] = [checkedBoolean(fields.open_low), checkedBoolean(fields.open_high)];
  return new Numbers(low, high, digits, openLow, openHigh);
};
