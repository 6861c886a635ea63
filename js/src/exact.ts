/** Computes with exact fractions. Every rounding here is against the plan, never for it. */

import { must, shown } from "./errors.js";

/** The number of words there are: a threshold t means a probability of t / FULL. */
export const FULL = 1n << 64n;
/** The modulus of the hash family. */
export const PRIME = 2 ** 31 - 1;
/** Losses are stated in units of 1 / NANO nat. */
export const NANO = 10n ** 9n;

const BITS = 320n;
const ONE = 1n << BITS;

/**
 * A fraction, numerator over denominator; it is not reduced, since nothing here grows enough for that to
 * pay.
 */
export type Ratio = readonly [n: bigint, d: bigint];

/** A loss: an upper bound of the logarithm of a ratio, in units of 2^-320, less than 2^-300 above it. */
export type Loss = bigint;

export const times = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * c, b * d];
export const over = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * d, b * c];
export const plus = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * d + c * b, b * d];
export const minus = ([a, b]: Ratio, [c, d]: Ratio): Ratio => [a * d - c * b, b * d];
export const isAbove = ([a, b]: Ratio, [c, d]: Ratio): boolean => a * d > c * b;
export const smaller = (a: Ratio, b: Ratio): Ratio => (isAbove(a, b) ? b : a);
export const largest = (ratios: readonly Ratio[]): Ratio =>
  ratios.reduce((most, ratio) => (isAbove(ratio, most) ? ratio : most));
export const divideUp = (n: bigint, d: bigint): bigint => (n + d - 1n) / d;

/** The fewest and the most words that `below` sends to one integer: the bias that a loss must count. */
export const cell = (bound: number): readonly [fewest: bigint, most: bigint] => {
  const m = BigInt(bound);
  return [FULL / m, divideUp(FULL, m)];
};

/** ln(ratio), rounded up; a ratio is at least 1. */
export function logUp([n, d]: Ratio): Loss {
  if (n <= d) return 0n;
  let doublings = BigInt(bitLength(n) - bitLength(d));
  if (n < d << doublings) doublings -= 1n;
  const rest = divideUp(n << BITS, d << doublings); // from 1 to 2
  return doublings * LOG_TWO + twiceArtanh(divideUp((rest - ONE) << BITS, rest + ONE));
}

/** 2 artanh(z) = 2 (z + z^3 / 3 + z^5 / 5 + ...), every term rounded up; z is at most a third. */
function twiceArtanh(z: bigint): bigint {
  const square = ((z * z) >> BITS) + 1n;
  let sum = 2n; // more than all the terms that are left out
  for (let power = z, i = 1n; power > 1n; i += 2n) {
    sum += power / i + 1n;
    power = ((power * square) >> BITS) + 1n;
  }
  return 2n * sum;
}

const LOG_TWO = twiceArtanh(ONE / 3n + 1n);

/**
 * At least a ratio's power, less than 2^-480 of it above it; one that is above 2^1000 is taken for
 * infinite, 1 / 0.
 */
export const powerUp = (ratio: Ratio, exponent: number): Ratio => {
  if (exponent < 1) return [1n, 1n];
  const half = powerUp(ratio, exponent >> 1);
  const [n, d] = times(times(half, half), exponent & 1 ? ratio : [1n, 1n]);
  const size = bitLength(d);
  if (bitLength(n) - size > 1000) return [1n, 0n];
  const cut = BigInt(Math.max(0, size - 512));
  return cut ? [(n >> cut) + 1n, d >> cut] : [n, d];
};

/** A loss in billionths of a nat, rounded up. */
export const toNano = (loss: Loss): bigint => divideUp(loss * NANO, ONE);

const bitLength = (n: bigint): number => {
  const digits = n.toString(16);
  return 4 * digits.length + 28 - Math.clz32(Number(`0x${digits[0]}`));
};

/** Whether this is an integer from low to high. */
export const isWhole = (value: unknown, low: number, high: number): boolean =>
  Number.isInteger(value) && (value as number) >= low && (value as number) <= high;

/** Check an integer from low to high; a plan is refused for this reason. */
export const wholeNumber = (
  reason: string,
  name: string,
  value: unknown,
  low: number,
  high: number,
): number => {
  must(
    isWhole(value, low, high),
    reason,
    () => `${name} must be an integer from ${low} to ${high}, got ${shown(value)}`,
  );
  return value as number;
};
