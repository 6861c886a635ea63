/** Says in a sentence which shares are shown. */

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

/** What is shown, in a sentence. */
export function describeShares(kind: Kind): Child {
  return h("p", { class: "soft" }, KINDS[kind]);
}
