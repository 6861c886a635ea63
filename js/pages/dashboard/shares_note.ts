/** Says in a sentence which shares are shown. */

import { type Child, h } from "../kit/dom.js";

/** Which shares are shown. */
export type Kind = "possible" | "smoothed" | "unbiased";

const KINDS: Readonly<Record<Kind, string>> = {
  possible:
    "Shares to publish are possible ones: the most likely, or the nearest to the unbiased. None is below 0 or above 100 %.",
  smoothed: "Smoothed shares of ranges and maps are likely ones that were made alike among neighbors.",
  unbiased:
    "Unbiased shares of every value: with few reports they and their intervals can lie outside 0 to 100 %. They are for sums and other calculations.",
};

/** What is shown, in a sentence. */
export function describeShares(kind: Kind): Child {
  return h("p", { class: "soft" }, KINDS[kind]);
}
