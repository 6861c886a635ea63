/** No guess that is stated of related questions, or of levels, is below the one that the Python library computes. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Plan } from "../src/plan/plan.js";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const python =
  process.env.PYTHON ??
  (existsSync(here("../../.venv/bin/python")) ? here("../../.venv/bin/python") : "python3");
const found = spawnSync(python, ["-c", "import deniable.wire"]).status === 0;

type Figures = Readonly<Record<string, number>>;
interface Related {
  readonly plan: string;
  readonly exact: Figures | null;
  readonly bounds: Figures;
  readonly blind: Figures;
}

interface Leveled {
  readonly plan: string;
  readonly bound: number;
  readonly report: number;
  readonly reported: number;
  readonly blind: number;
  readonly groups: number;
}

/** What a script of Python writes, line by line. */
const written = <Line>(script: string): Line[] => {
  const made = spawnSync(python, [here(script)], { encoding: "utf8" });
  if (made.status !== 0) throw new Error(made.stderr);
  return made.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
};

describe.skipIf(!found)("questions that depend on each other", () => {
  it("are not guessed more often than is stated", async () => {
    const cases = written<Related>("related.py");
    let compared = 0;
    for (const { plan, exact, bounds, blind } of cases) {
      const read = await Plan.fromJson(plan);
      for (const [name, bound] of Object.entries(bounds)) {
        const guess = read.bestGuess(name);
        expect(guess.blind).toBeCloseTo(blind[name] as number, 12);
        expect(guess.oneReport).toBeGreaterThanOrEqual(guess.wholeReport);
        if (exact) expect(guess.wholeReport, name).toBeGreaterThanOrEqual(exact[name] as number);
        else expect(guess.wholeReport, name).toBeGreaterThanOrEqual(bound - 1e-12);
        expect(guess.wholeReport, name).toBeGreaterThanOrEqual(guess.blind);
        compared++;
      }
    }
    expect(compared).toBe(23);
    const fakes = await Plan.fromJson((cases[4] as Related).plan);
    expect(fakes.bestGuess("boss").sentence).toMatch(
      /at most 7\d times in 100; .*blind guessing: 67 times in 100$/,
    );
  }, 60_000);
});

describe.skipIf(!found)("questions on several levels", () => {
  it("are guessed by their largest groups, not more often than is stated", async () => {
    const cases = written<Leveled>("levels.py");
    for (const { plan, bound, report, reported, blind, groups } of cases) {
      const guess = (await Plan.fromJson(plan)).bestGuess("income");
      expect(guess.groups).toBe(groups);
      expect(guess.blind).toBe(blind);
      expect(guess.wholeReport).toBeCloseTo(bound, 8);
      expect(guess.wholeReport).toBeGreaterThanOrEqual(report);
      expect(guess.oneReport).toBeGreaterThanOrEqual(reported);
    }
    const sentences = await Promise.all(
      cases.map(async ({ plan }) => (await Plan.fromJson(plan)).bestGuess("income").sentence),
    );
    expect(sentences).toHaveLength(6);
    expect(sentences[2]).toContain(
      "which of 2 groups of values your answer is at most 93 times in 100; blind",
    );
    expect(sentences[2]).toMatch(/blind guessing: 82 times in 100$/); // of 4096 and 904 values
    expect(sentences[3]).toBe(
      "anyone who sees your report guesses right in which of 4 groups of values your answer is at most 88 times in 100; blind guessing: 1 in 4",
    );
    expect(sentences[4]).toContain("; anyone who knows that it holds this answer: 88 times in 100; ");
  }, 60_000);
});
