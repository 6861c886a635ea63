/**
 * Builds the mechanism for ordered values: a value moves a few steps up or down, so distant values differ
 * most.
 */

import { must } from "../errors.js";
import { FULL, largest, logUp, type Ratio } from "../exact.js";
import { wordOf } from "../randomness/words.js";
import { checkedFields } from "../strict.js";
import { integer } from "./codecs.js";
import { at, type MetricMechanism, pairs, table } from "./metric.js";

const MOST = 1 << 12;

/**
 * tails[m]: how many of the 2^64 words move a value by m steps or more to one side (by none counted in, for
 * m = 0).
 */
export const geometric = (data: unknown): MetricMechanism => {
  const fields = checkedFields(data, "a geometric mechanism", ["kind", "tails"]);
  const tails = table("tails", fields.tails, "tails", MOST);
  const k = tails.length;
  const isWhole = k > 1 && at(tails, 0) + at(tails, 1) === FULL;
  must(isWhole, "tails", () => "the first two tails must add up to 2^64");
  const steps = pairs(tails, (tail, next) => tail - next);
  const falls = steps.every((step, m) => step > 0n && (!m || step <= at(steps, m - 1)));
  must(falls, "tails", () => "tails must fall by ever fewer words: every output must be possible");
  const [stay, still] = [at(tails, 0), at(steps, 0)];
  const quotient = (a: bigint, b: bigint): Ratio => [a, b];
  return {
    k,
    words: 1,
    ratio: largest([
      [stay, at(tails, k - 1)],
      [still, at(steps, k - 2)],
    ]),
    codec: integer(k),
    // an output in the middle is likeliest from its own value, one at an end from the end
    guess: { chance: [2n * stay + BigInt(k - 2) * still, BigInt(k) * FULL], among: k },
    encode: (value, { fresh }) => {
      const word = wordOf(fresh, 0);
      const up = word >> 63n;
      const rest = up ? FULL - 1n - word : word;
      let moved = 0;
      while (moved < k - 1 && rest < at(tails, moved + 1)) moved++;
      return Math.min(k - 1, Math.max(0, up ? value + moved : value - moved));
    },
    unit: "step",
    perUnit: () => logUp(largest([...pairs(tails, quotient), ...pairs(steps, quotient)])),
    fits: (domain) => domain.kind === "range" && domain.k === k,
    isShort: () => true,
  };
};
