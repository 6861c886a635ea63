/**
 * Lists the kinds that only some plans have, so that a page loads them on demand: fakes, distances, means,
 * permanent answers, weights, maps.
 */

import { bitFlip } from "./bitflip.js";
import type { Domain } from "./domain.js";
import { FAKED } from "./faked.js";
import { Grid } from "./grid.js";
import { MEANS } from "./means.js";
import type { Mechanism } from "./mechanism.js";
import { hashedMemoized, type Memoized, memoized } from "./memoized.js";
import { mechanism } from "./notation.js";
import { Numbers } from "./number.js";
import { geometric } from "./ordered.js";
import { planarGeometric } from "./planar.js";
import type { RecordKind } from "./records.js";
import type { Direct, Unary } from "./shapes.js";
import { checkedBoolean, checkedFields, checkedInteger, checkedKind, threshold } from "./strict.js";
import { WEIGHTED } from "./weighted.js";

/** Two rounds of one shape. */
const readMemoized = (data: unknown): Memoized => {
  const { first, second } = checkedFields(data, "a memoized mechanism", ["kind", "first", "second"]);
  const round = (given: unknown): Direct | Unary =>
    mechanism(given, ["direct", "unary"]) as unknown as Direct | Unary;
  return memoized(round(first), round(second));
};

export const mechanisms: Readonly<Record<string, (data: unknown) => Mechanism>> = {
  geometric,
  "planar-geometric": planarGeometric,
  ...MEANS,
  memoized: readMemoized,
  "hashed-memoized": (data) => {
    const { k, buckets } = checkedFields(data, "a hashed-memoized mechanism", ["kind", "k", "buckets"]);
    checkedKind(buckets, "a mechanism", ["memoized"]);
    return hashedMemoized(checkedInteger(k, "k"), readMemoized(buckets));
  },
  "bit-flip": (data) => {
    const fields = checkedFields(data, "a bit-flip mechanism", ["kind", "k", "bits", "one", "zero"]);
    const [k, bits] = [checkedInteger(fields.k, "k"), checkedInteger(fields.bits, "bits")];
    return bitFlip(k, bits, threshold(fields.one), threshold(fields.zero));
  },
};

const numbers = (
  data: unknown,
  what: string,
  names: readonly string[],
  ends: readonly string[] = [],
): unknown[] => {
  const fields = checkedFields(data, what, ["kind", ...names, ...ends]);
  return [
    ...names.map((name) => checkedInteger(fields[name], name)),
    ...ends.map((end) => checkedBoolean(fields[end])),
  ];
};

const GRID = ["south", "west", "north", "east", "rows", "columns"];
const ENDS = ["open_low", "open_high"];

export const domains: Readonly<Record<string, (data: unknown) => Domain>> = {
  grid: (data) => new Grid(...(numbers(data, "a grid", GRID) as ConstructorParameters<typeof Grid>)),
  number: (data) =>
    new Numbers(
      ...(numbers(data, "a number", ["low", "high", "digits"], ENDS) as ConstructorParameters<
        typeof Numbers
      >),
    ),
};

export const records: Readonly<Record<string, RecordKind>> = { faked: FAKED, sample: WEIGHTED };

export { counted } from "./counted.js";
export { readMaps } from "./maps.js";
export { statedMetric, verifiedMetric } from "./metric_losses.js";
export { checkQuestions, encodeAnswers } from "./questions.js";
