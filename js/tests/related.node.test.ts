/** No guess that is stated of related questions is below the one that the Python library computes. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Plan } from "../src/plan.js";

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

describe.skipIf(!found)("questions that depend on each other", () => {
  it("are not guessed more often than is stated", async () => {
    const made = spawnSync(python, [here("related.py")], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(made.stderr);
    const cases = made.stdout
      .trim()
      .split("\n")
      .map((line): Related => JSON.parse(line));
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
