/** Bounds how often an answer is guessed right from a whole report, by the odds that a report multiplies. */

import { type Loss, logUp, type Ratio, toNano } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { ratioAfter } from "../mechanisms/repeated.js";
import { chanceHeld } from "../records/records.js";
import type { Recipe } from "./losses.js";

/** How often a guess is right: from one report on average, from one that is known to hold the answer, and from any number of them. */
export interface Bounds {
  readonly wholeReport: number;
  readonly oneReport: number;
  readonly allReports: number;
}

/**
 * Bounds the guess of an answer that the attributes `telling` depend on. Where a report names one of `among`, it is on average over
 * these. No bound is above `most`.
 */
export const boundGuess = (
  { mechanism, reports }: Recipe,
  telling: readonly number[],
  blind: number,
  most = 1,
  among = telling,
): Bounds => {
  const partOf = (j: number): Mechanism => mechanism.mechanisms[j] as Mechanism;
  const inside = new Set(telling.map(partOf));
  // a report multiplies the odds by the ratio at most; a billionth more outweighs what a float rounds
  const bound = (loss: Loss): number => {
    const odds = Math.exp((Number(toNano(loss)) + 1) / 1e9) * blind;
    return Math.min(odds === Infinity ? 1 : odds / (odds + 1 - blind), most);
  };
  const ofAll = (ratioOf: (part: Mechanism) => Ratio, isLinked = false): number =>
    bound(mechanism.loss((part) => (inside.has(part) ? logUp(ratioOf(part)) : 0n), isLinked));
  const oneReport = ofAll(({ ratio }) => ratio);
  const allReports = ofAll((part) => ratioAfter(part, reports ?? 1), true);
  const gain = (j: number): number => {
    const [real, size] = chanceHeld(mechanism, j);
    return (Number(real) / Number(size)) * (bound(logUp(partOf(j).ratio)) - blind);
  };
  let last = 0;
  const namesOne = mechanism.groups.some(({ size, named }) => {
    const first = last;
    last += size;
    return named === 1 && among.every((j) => j >= first && j < last);
  });
  const sum = namesOne ? telling.reduce((total, j) => total + gain(j), blind) : oneReport;
  const wholeReport = sum > oneReport - 1e-9 ? oneReport : sum;
  return { oneReport, wholeReport, allReports };
};
