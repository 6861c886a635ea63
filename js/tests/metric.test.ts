/** Plans with distances and means: what is refused, what answers become, and how often a guess is right. */

import { describe, expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { Ledger } from "../src/client/ledger.js";
import { decode } from "../src/client/report.js";
import { Grid } from "../src/domains/grid.js";
import { Numbers } from "../src/domains/numbers.js";
import { AboveCap, InvalidPlan, InvalidValue } from "../src/errors.js";
import type { Said } from "../src/mechanisms/mechanism.js";
import { Plan } from "../src/plan/plan.js";
import { alone, box, type Document, FULL, named, noiseOf, small, tailsOf, texts, years } from "./helpers.js";

describe("a plan with distances", () => {
  it("counts its worst case in caps and ledgers", async () => {
    const plan = await Plan.fromJson(named("mixed, split").plan);
    expect(plan.verify().metric?.units.map(({ unit }) => unit)).toEqual(["step", "kilometer"]);
    const ledger = new Ledger();
    expect(ledger.lifetime([plan]).unchanged).toBe(plan.stated.record);
    expect(() => new Client(plan, { ledger, cap: 8.03 })).toThrow(AboveCap);
    const { answers } = named("mixed, split");
    await new Client(plan, { ledger, cap: 8.04 }).report(answers);
    expect(ledger.lifetime().changing).toBe(plan.stated.record);
  });

  it("is not asked with no answer as a value, or of values that have no such distances", async () => {
    const tails = tailsOf(5).map(String);
    const part = { kind: "geometric", tails };
    await expect(Plan.fromJson(await alone("age", years(5), part, "step"))).resolves.toBeInstanceOf(Plan);
    const value = async (data: Document): Promise<void> => {
      const text = await small((made) => Object.assign(made, JSON.parse(data), { missing: "value" }));
      await expect(Plan.fromJson(text)).rejects.toThrow(/no answer is not its value/);
    };
    await value(await alone("age", years(5), part, "step"));
    const labels = ["a", "b", "c", "d", "e"];
    await expect(
      Plan.fromJson(await alone("age", { kind: "categories", labels }, part, "step")),
    ).rejects.toThrow(InvalidPlan);
  });

  it("is refused for one word that makes a ratio larger than is stated", async () => {
    const steps = [1e6, 1e6];
    const rate = (a: number, b: number): number => Math.floor(2 ** 55 * Math.exp(-0.1 * Math.hypot(a, b)));
    const noise = noiseOf(8, 9, rate);
    const plan = await Plan.fromJson(
      await alone("home", box(8, 9), { kind: "planar-geometric", noise: texts(noise), steps }, "kilometer"),
    );
    const loss = plan.verify().metric?.units[0]?.loss as number;
    const stating = async (tampered: bigint[][]): Promise<Plan> =>
      Plan.fromJson(
        await alone(
          "home",
          box(8, 9),
          { kind: "planar-geometric", noise: texts(tampered), steps },
          "kilometer",
          loss,
        ),
      );
    await expect(stating(noise)).resolves.toBeInstanceOf(Plan);
    const words = noise.map((row) => [...row]);
    const [first, last] = [words[0] as bigint[], words[7] as bigint[]];
    last[8] = ((last[8] as bigint) * 9n) / 10n; // a corner that is reached from its own cell less often
    first[0] = (first[0] as bigint) + 4n * ((noise[7]?.[8] as bigint) - last[8]);
    await expect(stating(words)).rejects.toThrow(/per kilometer\), but its thresholds lose/);
  });

  it.each([
    ["4 x 5", 4, 5, (a: number, b: number) => Math.floor(2 ** 58 / (1 + a * a + 2 * b + a * b))],
    ["2 x 6", 2, 6, (a: number, b: number) => Math.floor(2 ** 59 / (1 + a + b))],
    [
      "5 x 4, not likeliest from itself",
      5,
      4,
      (a: number, b: number) => Math.floor(2 ** 58 * (1 + Math.sin(3 * a + b) / 2)),
    ],
  ])(
    "has a loss per kilometer that equals the largest over all pairs of cells: %s",
    async (name, rows, columns, of) => {
      const noise = noiseOf(rows, columns, of);
      const steps = [900_000, 700_000];
      const plan = await Plan.fromJson(
        await alone(
          "home",
          box(rows, columns),
          { kind: "planar-geometric", noise: texts(noise), steps },
          "kilometer",
        ),
      );
      const chances = Array.from({ length: rows * columns }, (_, cell) => {
        const found = new Array<number>(rows * columns).fill(0);
        for (let a = 1 - rows; a < rows; a++) {
          for (let b = 1 - columns; b < columns; b++) {
            const row = Math.min(rows - 1, Math.max(0, Math.floor(cell / columns) + a));
            const column = Math.min(columns - 1, Math.max(0, (cell % columns) + b));
            const at = row * columns + column;
            found[at] = (found[at] as number) + Number(noise[Math.abs(a)]?.[Math.abs(b)]);
          }
        }
        return found;
      });
      let [rate, ratio, right] = [0, 0, 0];
      for (const [x, one] of chances.entries()) {
        for (const [y, other] of chances.entries()) {
          const [down, across] = [
            Math.floor(x / columns) - Math.floor(y / columns),
            (x % columns) - (y % columns),
          ];
          const apart = Math.hypot(down * (steps[0] as number), across * (steps[1] as number)) / 1e6;
          const gap = Math.max(...one.map((words, i) => Math.log(words / (other[i] as number))));
          if (x !== y) rate = Math.max(rate, gap / apart);
          ratio = Math.max(ratio, gap);
        }
      }
      for (let output = 0; output < rows * columns; output++) {
        right += Math.max(...chances.map((one) => one[output] as number)) / Number(FULL) / (rows * columns);
      }
      const { record, metric } = plan.verify();
      expect((metric?.units[0]?.loss as number) / 1e9).toBeCloseTo(rate, 8);
      expect(record / 1e9).toBeCloseTo(ratio, 8);
      const { oneReport } = plan.bestGuess("home");
      expect(oneReport).toBeGreaterThan(right - 1e-8);
      if (!name.includes("not")) expect(oneReport).toBeCloseTo(right, 8);
    },
  );

  it("says how often a guess is right, of a number about its half", async () => {
    const age = (await Plan.fromJson(named("geometric").plan)).bestGuess("age");
    const tails = JSON.parse(named("geometric").plan).mechanism.parts[0].tails.map(Number);
    expect(age.oneReport).toBeCloseTo((2 * tails[0] + 6 * (tails[0] - tails[1])) / 2 ** 64 / 8, 8);
    expect(age.blind).toBe(1 / 8);
    const income = (await Plan.fromJson(named("duchi").plan)).bestGuess("income");
    expect(income.oneReport).toBeCloseTo(1 / 4 + Math.E / (Math.E + 1) / 2, 8); // as for the middle of a half
    expect(income.sentence).toMatch(
      /right in which half of the range your number is at most 62 times in 100; blind guessing: 1 in 2$/,
    );
  });

  /** The chance of each report from a number at this part of its range. */
  const law = (part: Document, at: number): number[] => {
    const keep = Number(part.keep) / 2 ** 64;
    if (part.kind === "duchi") return [keep + at - 2 * at * keep, 1 - keep - at + 2 * at * keep];
    if (part.kind === "hybrid") {
      const mostly = Number(part.share) / 2 ** 64;
      const [fine, coarse] = [law(part.piecewise, at), law(part.duchi, at)];
      return [...fine.map((chance) => mostly * chance), ...coarse.map((chance) => (1 - mostly) * chance)];
    }
    const bin = Math.floor(at * (part.k - 1));
    const over = at * (part.k - 1) - bin;
    return Array.from({ length: part.k + part.window - 1 }, (_, report) => {
      const chance = (begin: number): number =>
        report >= begin && report < begin + part.window ? keep / part.window : (1 - keep) / (part.k - 1);
      return (1 - over) * chance(bin) + over * chance(bin + 1);
    });
  };
  const partOf = (name: string): Document => JSON.parse(named(name).plan).mechanism.parts[0];

  it.each(["piecewise", "hybrid"])("says of %s what the best guess by each report gives", async (name) => {
    const plan = await Plan.fromJson(named(name).plan);
    const many = 2 * 255; // chances are linear in each half of a bin, so that middles are their means
    const laws = Array.from({ length: many }, (_, i) => law(partOf(name), (i + 0.5) / many));
    const [low, high] = [laws.slice(0, many / 2), laws.slice(many / 2)].map((half) =>
      half.reduce((sum, chances) => sum.map((chance, report) => chance + (chances[report] as number))),
    ) as [number[], number[]];
    const right =
      low.reduce((sum, chance, report) => sum + Math.max(chance, high[report] as number), 0) / many;
    expect(plan.bestGuess("income").oneReport).toBeCloseTo(right, 7);
  });

  it.each(["duchi", "piecewise", "hybrid"])(
    "says what a report by %s stands for, right on average",
    async (name) => {
      const plan = await Plan.fromJson(named(name).plan);
      let mean = 0;
      for (const [code, chance] of law(partOf(name), 0.25).entries()) {
        const { supports } = decode(plan, named(name).json.replace(/"income":\d+/, `"income":${code}`))
          .readable[0] as Said;
        mean += chance * Number(supports[0]);
      }
      expect(mean).toBeCloseTo(2500, 0); // what a report stands for is said to the unit
    },
  );
});

describe("a grid", () => {
  const grid = new Grid(47.6e9, 6.8e9, 47.7e9, 6.95e9, 20, 20);

  it("takes pairs and texts, and refuses what is outside", () => {
    expect(grid.code([47.642, 6.862], "home")).toBe(168);
    expect(grid.code("47.642, 6.862", "home")).toBe(168);
    expect(grid.code([47.7, 6.95], "home")).toBe(399);
    expect(grid.code([null, 6.9], "home")).toBe(-1);
    const wrong = [
      "47.6",
      "a, b",
      "47.6, 6.9, 1",
      [47.6],
      47.6,
      [true, 6.9],
      "48.6, 6.9",
      [47.59, 6.9],
      [" ", 6.9],
      "47.6,",
    ];
    for (const one of wrong) expect(() => grid.code(one, "home"), String(one)).toThrow(InvalidValue);
  });

  it("names its cells, also across the equator, Greenwich and the 180th meridian", () => {
    expect(grid.label(168)).toBe("47.6400 to 47.6450 N, 6.8600 to 6.8675 E");
    expect(new Grid(-1e9, -1e9, 1e9, 1e9, 2, 2).label(0)).toBe("1.0 S to 0.0 N, 1.0 W to 0.0 E");
    const ocean = new Grid(-17.3e9, 179.5e9, -16.3e9, -179.5e9, 5, 5);
    expect(ocean.code([-16.5, 179.75], "home")).toBe(21);
    expect(ocean.code([-16.5, -179.6], "home")).toBe(24);
    expect(() => ocean.code([-16.5, 0], "home")).toThrow(InvalidValue);
  });

  it("has cells as wide as they are at the edge nearest to a pole", () => {
    expect(grid.meters.map(Math.round)).toEqual([556, 561]);
    const half = new Grid(-1e9, -90e9, 1e9, 90e9, 2, 2);
    expect(half.meters[1]).toBeCloseTo(
      (6_371_008.8 * 2 * Math.atan2(Math.cos(Math.PI / 180), Math.sin(Math.PI / 180))) / 2,
      3,
    );
  });

  it("is refused where it is none", () => {
    for (const [south, west, north, east, rows, columns] of [
      [48, 6, 47, 7, 2, 2],
      [47, 7, 48, 7, 2, 2],
      [47, 7, 48, 6, 2, 2],
      [47, 6, 89.95, 7, 2, 2],
      [47, 6, 48, 7, 1, 2],
      [47, 6, 48, 181, 2, 2],
      [47, 6, 48, 7, 2, 5000],
    ] as const)
      expect(() => new Grid(south * 1e9, west * 1e9, north * 1e9, east * 1e9, rows, columns)).toThrow(
        InvalidPlan,
      );
  });
});

describe("a number", () => {
  it("is one of 2^32 + 1 positions, beyond an open end the last one", () => {
    const income = new Numbers(0, 10_000, 0, false, true);
    expect([0, 2500, "40000", 1e308].map((one) => income.code(one, "income"))).toEqual([
      0,
      2 ** 30,
      2 ** 32,
      2 ** 32,
    ]);
    expect(income.code(null, "income")).toBe(-1);
    for (const wrong of [-1, "much", true, Number.POSITIVE_INFINITY, "1e999"]) {
      expect(() => income.code(wrong, "income")).toThrow(InvalidValue);
    }
    expect(income.label(2 ** 30)).toBe("2500");
    expect(() => new Numbers(0, 0, 0, false, false)).toThrow(InvalidPlan);
    expect(() => new Numbers(10, 20, 1, false, false)).toThrow(/canonical/);
  });
});
