/** Defines mechanisms for repeated collections, and the losses that a plan states for them. */

import { type Loss, logUp, powerUp, type Ratio } from "../exact.js";
import type { First } from "./carried.js";
import type { Mechanism, Part } from "./mechanism.js";

/** The names of the figures, as a plan states them. */
export const FIGURES = [
  "one_report",
  "same_value",
  "one_value_forever",
  "changing_values",
  "changing_values_usual",
] as const;

/** What a person who answers again and again gives away; null where there is no bound. */
export type Figures<Number> = Readonly<Record<(typeof FIGURES)[number], Number | null>>;

/**
 * A mechanism for many collections: part of its words are kept, so that asking again does not average the
 * noise away.
 */
export interface Repeated<P extends Part = Part> extends Mechanism<P> {
  /** The largest ratio after any number of reports of one value. */
  readonly forever: Ratio;
  /** How often an attacker who has all reports of one value is right at most, where the ratio says less. */
  readonly always?: Ratio;
  /** The losses of this many reports: the figures in their order. */
  losses(rounds: number): readonly (Loss | null)[];
  /** Its two rounds, where a second one is fresh. */
  readonly rounds?: TwoRounds;
}

/** What several plans with the same first round need of both rounds. */
export interface TwoRounds {
  /** The first round, by what one of its answers or bits is kept. */
  readonly first: First;
  /** What tells both rounds from others; not how many bits they have. */
  readonly alike: string;
  /** How far one report can change with a part of what is kept: the value, or a bit. */
  readonly fresh: Ratio;
  /** What is kept is one value, or k bits that may all change. */
  readonly parts: number;
  /** How many values, or bits, there are. */
  readonly k: number;
  /** How much so many reports speak for a kept value; of a bit, for one that is set, and for one that is clear. */
  speak(reports: number): readonly [rise: Ratio, fall: Ratio];
  /** At least the largest ratio after reports of an unchanged value that speak so much for what is kept. */
  given(rise: Ratio, fall: Ratio, reports: number): Ratio;
}

export const isRepeated = (part: Mechanism): part is Repeated => "losses" in part;

/** The losses of this many reports of an attribute. Where nothing is kept, each of them adds its loss. */
export const lossesOf = (part: Mechanism, reports: number): readonly (Loss | null)[] => {
  if (isRepeated(part)) return part.losses(reports);
  const loss = logUp(part.ratio);
  const all = loss * BigInt(reports);
  return [loss, all, null, all, all];
};

/** The largest ratio after this many reports of one value; after any number of them, where part is kept. */
export const ratioAfter = (part: Mechanism, reports: number): Ratio =>
  isRepeated(part) ? part.forever : powerUp(part.ratio, reports);
