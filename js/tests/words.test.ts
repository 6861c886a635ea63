import { expect, it } from "vitest";
import type { Ratio } from "../src/exact.js";
import { liftLeast } from "../src/mechanisms/carried.js";
import { unary } from "../src/mechanisms/shapes.js";
import {
  below,
  chance,
  Row,
  randomBytes,
  remembered,
  sampled,
  system,
  threshold,
} from "../src/randomness/words.js";
import { halves } from "../src/randomness/words_testing.js";

const word = (): bigint => new BigUint64Array(randomBytes(8).buffer)[0] as bigint;

it("compares and scales as integers do", () => {
  const bounds = [1, 2, 3, 7, 256, 65_537, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 1, 2 ** 31 - 2, 2 ** 32];
  const edges = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n];
  for (const one of [...edges, ...Array.from({ length: 2000 }, word)]) {
    const row = halves([one]);
    for (const m of bounds) expect(below(row, 0, m)).toBe(Number((one * BigInt(m)) >> 64n));
    for (const t of [one, one + 1n, one - 1n, word()]) {
      if (t > 0n && t < 2n ** 64n) expect(chance(row, 0, threshold(t))).toBe(one < t);
    }
  }
});

it("samples without repeating", () => {
  for (let run = 0; run < 200; run++) expect(new Set(sampled(system(7), 7, 9)).size).toBe(7);
  expect(sampled(system(5), 5, 5).sort()).toEqual([0, 1, 2, 3, 4]);
});

it("draws more than a browser gives at once", () => {
  const many = randomBytes(200_001);
  expect(many.length).toBe(200_001);
  expect(new Set(many.slice(-1000)).size).toBeGreaterThan(100);
});

it("keeps words by secret, plan, label and column", async () => {
  const memory = await remembered(new Uint8Array(32), "plan");
  const whole = await memory([3], 0, 21);
  for (const start of [0, 1, 4, 5, 7]) {
    expect([...(await memory([3], start, 9))].slice(0, 18)).toEqual(
      [...whole].slice(2 * start, 2 * start + 18),
    );
  }
  expect(await memory([4], 0, 21)).not.toEqual(whole);
  expect(await (await remembered(new Uint8Array(32), "plans"))([3], 0, 21)).not.toEqual(whole);
  expect(await (await remembered(new Uint8Array(32).fill(1), "plan"))([3], 0, 21)).not.toEqual(whole);
});

it("gives noise by round, attribute and value, and none of it is what is kept", async () => {
  const memory = await remembered(new Uint8Array(32), "plan");
  const streams = await Promise.all(
    [[0], [1], ["noise", 1, 0, 1], ["noise", 2, 0, 1], ["noise", 1, 1, 1], ["noise", 1, 0, 2], ["id", 1]].map(
      async (labels) => (await memory(labels, 0, 4)).join(),
    ),
  );
  expect(new Set(streams).size).toBe(streams.length);
  const row = new Row(new Uint32Array(8), memory, 0, 1);
  const noise = (await row.from(5, 1).noise(2, 4, 6)).fresh;
  expect(noise).toEqual(await memory(["noise", 1, 3, 7], 0, 4));
  expect((await row.noise(0, 4)).fresh).toEqual(await memory(["noise", 1, 0, 0], 0, 4));
  expect((await new Row(new Uint32Array(8), memory).noise(0, 4)).fresh).toEqual(new Uint32Array(8));
});

it("refuses a secret that can be guessed", async () => {
  await expect(remembered(new Uint8Array(15), "plan")).rejects.toThrow("16 bytes");
});

it("gives every possible answer a chance that three words can choose", () => {
  const weights: Ratio[] = [
    [1n, 1n << 200n],
    [0n, 1n],
    [3n, 1n],
    [1n, 1n << 100n],
  ];
  const [least, ...others] = liftLeast(
    weights,
    weights.map(() => [2n, 1n]),
  );
  const [n, d] = least as Ratio;
  const sum = (3n << 200n) + (1n << 100n) + 1n; // in units of 2^-199
  expect(n << 327n).toBe(sum * d);
  expect(others).toEqual(weights.slice(1));
});

it("decides coins that 64 digits leave open by the words behind", async () => {
  const chances = [0n, (1n << 65n) + (1n << 63n), 1n << 64n, 1n << 127n]; // out of 2^128
  const drawn = async (last: bigint, kept: readonly number[]): Promise<number[]> => {
    const words = (place: number, word: bigint) =>
      halves(Array.from({ length: 64 }, (_, i) => (i === place ? word : 0n)));
    return unary(3, 1n << 63n, 1n << 62n).redraw(2, kept, chances, async (value) =>
      value === 2 ? words(62, 2n) : words(0, last),
    );
  };
  expect(await drawn(2n, [1, 2])).toEqual([2]);
  expect(await drawn(0n, [1])).toEqual([1, 2]);
});
