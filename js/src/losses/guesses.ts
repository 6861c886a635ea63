/** Computes how often an answer is guessed right from a report. */

import { divideUp, NANO, type Ratio } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { isRepeated, ratioAfter } from "../mechanisms/repeated.js";
import type { RelatedGuess } from "./related.js";

/** How often somebody who has no idea beforehand guesses an answer right, at most. */
export interface BestGuess {
  /** Without any report. */
  readonly blind: number;
  /** From one report, on average over which answers it holds: the best guess of `deniable plan`. */
  readonly wholeReport: number;
  /** From one report that is known to hold the answer. */
  readonly oneReport: number;
  /** From any number of reports, and all to the plans that are continued, as long as the answer does not change. */
  readonly allReports: number;
  /**
   * From the reports of all rounds, also of the plans that are continued, whatever answers change: a bound; that of one
   * report where people are asked once.
   */
  readonly allRounds: number;
  /** Among how many groups of values, where a question on several levels is guessed by its largest groups. */
  readonly groups?: number;
  /** In plain words. */
  readonly sentence: string;
}

/** The best guess of an answer that is in a report `real` times of `size`; not less than a related one. */
export const findGuess = (
  part: Mechanism,
  [real, size]: Ratio,
  lossOfRounds: LossOfRounds | undefined,
  reports: number,
  related?: RelatedGuess,
): BestGuess => {
  const { chance, among, what = "" } = part.guess ?? { chance: guess(part.ratio, part.k), among: part.k };
  const [n, d] = chance;
  const whole = rounded([n * real * BigInt(among) + d * (size - real), d * size * BigInt(among)]);
  const single = rounded(chance);
  const always = isRepeated(part) ? part.always : undefined;
  const several = isRepeated(part) ? part.k : among;
  const all =
    isRepeated(part) || reports > 1
      ? Math.max(single, rounded(always ?? guess(ratioAfter(part, reports), several)))
      : single;
  const wholeReport = Math.max(whole, related?.wholeReport ?? 0);
  const oneReport = Math.max(single, related?.oneReport ?? 0);
  const allReports = Math.max(all, related?.allReports ?? 0);
  const blind = related?.blind ?? 1 / among;
  const figures = { blind, wholeReport, oneReport, allReports };
  return tell(figures, real < size, lossOfRounds, what, related ? often(blind) : `1 in ${among}`);
};

/** What the reports of all rounds give away, in billionths; null without a bound. */
export interface LossOfRounds {
  /** Whatever changes. */
  readonly changed: number | null;
  /** Where the plan continues others, whose reports count, too: if no answer changes. */
  readonly continued?: { readonly same: number | null };
}

/** Figures of a guess, and what they say in plain words. `lossOfRounds` is undefined where people are asked once. */
export const tell = (
  figures: Omit<BestGuess, "sentence" | "allRounds">,
  isDrawn: boolean,
  lossOfRounds: LossOfRounds | undefined,
  what: string,
  blindly: string,
): BestGuess => {
  const { changed, continued } = lossOfRounds ?? {};
  const allReports = continued
    ? Math.max(figures.allReports, multiplyOdds(continued.same, figures.blind))
    : figures.allReports;
  const allRounds =
    changed === undefined
      ? figures.oneReport
      : Math.max(figures.oneReport, allReports, multiplyOdds(changed, figures.blind));
  const rounds = continued ? "all rounds of this plan and of those that it continues" : "all rounds";
  const again =
    changed === undefined
      ? ""
      : `; anyone who sees the reports of ${rounds}, even if your answers change: ${often(allRounds)}; if they do not change: ${often(allReports)}`;
  const known = isDrawn ? `; anyone who knows that it holds this answer: ${often(figures.oneReport)}` : "";
  const sentence = `anyone who sees your report guesses right${what} at most ${often(figures.wholeReport)}${known}${again}; blind guessing: ${blindly}`;
  return { ...figures, allReports, allRounds, sentence };
};

/** How often a guess is right whose odds reports multiply by a loss at most; a billionth more outweighs what a float rounds. */
const multiplyOdds = (nano: number | null, blind: number): number => {
  const odds = nano === null ? Infinity : Math.exp((nano + 1) / 1e9) * blind;
  return odds === Infinity ? 1 : odds / (odds + 1 - blind);
};

/** r / (r + k - 1). */
const guess = ([n, d]: Ratio, k: number): Ratio => [n, n + BigInt(k - 1) * d];

const rounded = ([n, d]: Ratio): number => Number(divideUp(n * NANO, d)) / 1e9; // up

/** How often something happens, in words that do not say less. */
const often = (chance: number): string => {
  const times = Math.floor(1 / chance);
  if (chance < 0.01 || (times > 1 && 1 / times <= 1.02 * chance)) return `1 time in ${times}`;
  return chance > 0.99 ? "every time" : `${Math.ceil(100 * chance)} times in 100`;
};
