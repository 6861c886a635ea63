/**
 * Builds the mechanism for ranges whose shares are smooth: a report is a bin near the value, or any other one.
 */

import { must } from "../errors.js";
import { cell, FULL, type Ratio, wholeNumber } from "../exact.js";
import { below, chance } from "../randomness/words.js";
import { checkedFields, checkedInteger, threshold } from "../strict.js";
import { integer } from "./codecs.js";
import { checkedThreshold, type Mechanism } from "./mechanism.js";

const MOST_BINS = 1 << 20;
const MOST = 1 << 12; // different reports

/** One of the k + window - 1 bins: of the window that begins at the value with keep / 2^64, else of all others. */
export const readSquareWave = (data: unknown): Mechanism<number> => {
  const fields = checkedFields(data, "a square-wave mechanism", ["kind", "k", "window", "keep"]);
  const k = wholeNumber("k", "k, the number of values,", checkedInteger(fields.k, "k"), 2, MOST_BINS);
  const window = wholeNumber("window", "window", checkedInteger(fields.window, "window"), 1, MOST_BINS);
  const keep = threshold(fields.keep);
  const kept = checkedThreshold(keep);
  const ratio: Ratio = [keep * cell(window)[1], (FULL - keep) * cell(k - 1)[0]];
  must(ratio[0] > ratio[1], "likelier", () => `keep must make the window likelier, got ${keep}`);
  const outputs = k + window - 1;
  must(outputs <= MOST, "outputs", () => `there are at most ${MOST} different reports, got ${outputs}`);
  return {
    k,
    words: 2,
    ratio,
    codec: integer(outputs),
    // every bin is in the window of some value, from which it is likeliest
    guess: { chance: [BigInt(outputs) * keep * cell(window)[1], BigInt(k) * FULL * FULL], among: k },
    encode: (value, { fresh }) => {
      if (chance(fresh, 0, kept)) return value + below(fresh, 1, window);
      const other = below(fresh, 1, k - 1);
      return other + (other >= value ? window : 0);
    },
    supports: (part, value) => value <= part && part < value + window,
  };
};
