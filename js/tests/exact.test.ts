import { expect, it } from "vitest";
import { cell, FULL, logUp, type Ratio, toNano } from "../src/exact.js";

const SCALE = 1n << 320n;

/** e^(loss / 2^320) in units of 2^-320, from below and from above, by its series: an oracle of its own. */
function exponential(loss: bigint): [bigint, bigint] {
  const halvings = 64n; // e^x = (e^(x / 2^64))^(2^64)
  const bits = 640n;
  const z = loss << (bits - 320n - halvings);
  let [term, low] = [1n << bits, 0n];
  for (let i = 1n; term > 0n; i++) {
    low += term;
    term = (term * z) / (i << bits);
  }
  let high = low + 200n;
  for (let i = 0n; i < halvings; i++) {
    low = (low * low) >> bits;
    high = ((high * high) >> bits) + 1n;
  }
  return [low >> 320n, (high >> 320n) + 1n];
}

const ratios: Ratio[] = [
  [3n, 1n],
  [2n, 1n],
  [FULL + 1n, FULL],
  [FULL * FULL * FULL, 1n],
  [10n ** 40n + 1n, 10n ** 40n],
  [12345678901234567890n, 987654321n],
  [3n ** 400n, 2n ** 500n],
];

it("bounds a logarithm from above, and hardly", () => {
  for (const [n, d] of ratios) {
    const loss = logUp([n, d]);
    const [, high] = exponential(loss);
    expect(high * d >= n * SCALE).toBe(true);
    const [low] = exponential(loss - (1n << 24n)); // 2^-296 less is too little
    expect(low * d < n * SCALE).toBe(true);
  }
});

it("knows that equal chances give nothing away", () => {
  expect(logUp([5n, 5n])).toBe(0n);
});

it("rounds to billionths upwards", () => {
  expect(toNano(logUp([3n, 1n]))).toBe(1098612289n); // 1.098612288668
  expect(toNano(SCALE)).toBe(10n ** 9n);
  expect(toNano(SCALE + 1n)).toBe(10n ** 9n + 1n);
});

it("counts the words of each cell", () => {
  expect(cell(3)).toEqual([6148914691236517205n, 6148914691236517206n]);
  expect(cell(4)).toEqual([1n << 62n, 1n << 62n]);
});
