/** Reads mechanisms that keep a permanent answer. */

import { bitFlip } from "../mechanisms/bitflip.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { hashedMemoized, type Memoized, memoized } from "../mechanisms/memoized.js";
import { memoizedMean } from "../mechanisms/memoized_mean.js";
import type { Direct, Unary } from "../mechanisms/shapes.js";
import { checkedFields, checkedInteger, checkedKind, threshold } from "../strict.js";
import { mechanism } from "./notation.js";

/** Two rounds of one shape. */
const readMemoized = (data: unknown): Memoized => {
  const { first, second } = checkedFields(data, "a memoized mechanism", ["kind", "first", "second"]);
  const round = (given: unknown): Direct | Unary =>
    mechanism(given, ["direct", "unary"]) as unknown as Direct | Unary;
  return memoized(round(first), round(second));
};

export const mechanisms: Readonly<Record<string, (data: unknown) => Mechanism>> = {
  memoized: readMemoized,
  "hashed-memoized": (data) => {
    const { k, buckets } = checkedFields(data, "a hashed-memoized mechanism", ["kind", "k", "buckets"]);
    checkedKind(buckets, "a mechanism", ["memoized"]);
    return hashedMemoized(checkedInteger(k, "k"), readMemoized(buckets));
  },
  "memoized-mean": (data) => {
    const { bit } = checkedFields(data, "a memoized-mean mechanism", ["kind", "bit"]);
    checkedKind(bit, "a mechanism", ["memoized"]);
    return memoizedMean(readMemoized(bit));
  },
  "bit-flip": (data) => {
    const fields = checkedFields(data, "a bit-flip mechanism", ["kind", "k", "bits", "one", "zero"]);
    const [k, bits] = [checkedInteger(fields.k, "k"), checkedInteger(fields.bits, "bits")];
    return bitFlip(k, bits, threshold(fields.one), threshold(fields.zero));
  },
};
