/** Builds the shape that hashes by a public pool of functions, in which any two values collide equally often. */

import { must } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { below } from "../randomness/words.js";
import { checkedFields, checkedInteger, threshold } from "../strict.js";
import { integer } from "./codecs.js";
import { checkedK, type Mechanism } from "./mechanism.js";
import { direct, nobodyAmong } from "./shapes.js";

const MOST_BUCKETS = 251;
const MOST_CELLS = 1 << 22;

/**
 * The report is a function of the pool and a bucket, in one number: the true value's bucket with probability
 * keep / 2^64.
 *
 * The function is drawn without looking at the value, so it costs no privacy; the loss is that of the bucket.
 */
export const pooled = (k: number, g: number, keep: bigint): Mechanism<number> => {
  checkedK(k, 1 << 20);
  wholeNumber("g", "g, the number of buckets,", g, 2, MOST_BUCKETS);
  must(isPrime(g), "g", () => `g, the number of buckets of a pool, must be prime, got ${g}`);
  const buckets = direct(g, keep);
  const functions = countFunctions(k, g);
  const cells = functions * g;
  must(
    cells <= MOST_CELLS,
    "g",
    () => `a pool has at most ${MOST_CELLS} pairs of a function and a bucket, got ${cells}`,
  );
  return {
    k,
    words: 3,
    ratio: buckets.ratio,
    codec: integer(cells),
    encode: (value, { fresh }) => {
      const chosen = below(fresh, 0, functions);
      return chosen * g + buckets.pick(poolBucket(chosen, value, g), fresh.subarray(2));
    },
    supports: (part, value) => poolBucket(Math.floor(part / g), value, g) === part % g,
    nobody: nobodyAmong(g, keep, ({ fresh }) => below(fresh, 0, functions) * g + below(fresh, 1, g)),
    buckets: { k: g, keep },
  };
};

/** The number of functions of the pool for k values and g buckets. */
export const countFunctions = (k: number, g: number): number => {
  let functions = 1 + g;
  for (let values = g * g; values < k; values *= g) functions = functions * g + 1;
  return functions;
};

/** Reads a mechanism with a pool from a plan. */
export const readPooled = (data: unknown): Mechanism => {
  const { k, g, keep } = checkedFields(data, "a pooled mechanism", ["kind", "k", "g", "keep"]);
  return pooled(checkedInteger(k, "k"), checkedInteger(g, "g"), threshold(keep)) as unknown as Mechanism;
};

/**
 * The bucket of a value: a sum of multiples of its digits in base g, modulo g. The functions with more digits
 * before the last, whose multiple is 1, come after those with fewer.
 */
export const poolBucket = (chosen: number, value: number, g: number): number => {
  let [multiples, rest, many, sum] = [chosen, value, 1, 0];
  for (; multiples >= many; many *= g) multiples -= many;
  for (; many > 1; many /= g) {
    sum += (multiples % g) * (rest % g);
    multiples = Math.floor(multiples / g);
    rest = Math.floor(rest / g);
  }
  return (sum + rest) % g;
};

const isPrime = (g: number): boolean => {
  for (let divisor = 2; divisor * divisor <= g; divisor++) if (!(g % divisor)) return false;
  return true;
};
