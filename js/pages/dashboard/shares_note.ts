/** Says in a sentence each which shares are shown, and what the consistency step did to them. */

import { type Child, h } from "../kit/dom.js";

/** Which shares are shown. */
export type Kind = "possible" | "smoothed" | "unbiased";

const KINDS: Readonly<Record<Kind, string>> = {
  possible:
    "Possible shares are the most likely ones, or the nearest to the unbiased ones: none is below 0 or above 100 %.",
  smoothed: "Smoothed shares of ranges and maps are likely ones that were made alike among neighbors.",
  unbiased:
    "Unbiased shares of every value: with few reports they and their intervals can lie outside 0 to 100 %. Possible shares are the ones to publish.",
};

/** The steps that the collector takes, in the order in which they are offered. */
export const STEPS: Readonly<Record<string, string>> = {
  "norm-sub":
    "norm-sub takes the same number from all unbiased shares and sets negative ones to 0, so that they add up to 100 %.",
  clip: "clip sets negative unbiased shares to 0; they need not add up to 100 %.",
  "norm-cut":
    "norm-cut keeps the largest unbiased shares until they add up to 100 %, and sets the others to 0.",
  "norm-mul":
    "norm-mul sets negative unbiased shares to 0 and scales the others to 100 %: many papers do so, and it is the most biased step.",
  isotonic:
    "isotonic is for ordered values: it takes the nearest shares whose sums from the lowest value on never fall.",
  "base-cut": "base-cut sets all unbiased shares to 0 that are not surely above 0.",
};

/** What is shown, in sentences. */
export function describeShares(kind: Kind, step: string): Child {
  return h(
    "p",
    { class: "soft" },
    [KINDS[kind], STEPS[step] && `◇ ${STEPS[step]}`].filter(Boolean).join(" "),
  );
}
