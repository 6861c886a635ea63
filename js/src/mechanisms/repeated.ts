/** Defines mechanisms for repeated collections, and the losses that a plan states for them. */

import type { Loss, Ratio } from "../exact.js";
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
}

export const isRepeated = (part: Mechanism): part is Repeated => "losses" in part;
