/** What the survey states of 200 random plans is what `deniable plan` states: the same number, or a bound above it. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Plan } from "../src/plan/plan.js";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const python =
  process.env.PYTHON ??
  (existsSync(here("../../.venv/bin/python")) ? here("../../.venv/bin/python") : "python3");
const found = spawnSync(python, ["-c", "import deniable.wire"]).status === 0;

interface Guess {
  readonly attribute: string;
  readonly blind: number;
  readonly report: number;
  readonly reported: number;
  readonly most?: number;
  readonly related: boolean;
  readonly shape: string;
}

/** Shapes whose guess a device bounds by the ratio: hash functions, of which it does not list the buckets. */
const BOUNDED = ["Hashed", "Pooled", "HashedMemoized", "PooledMemoized", "BitFlip"];
const NEAR = 9; // digits: the device rounds up to a billionth

describe.skipIf(!found)("the guesses that a survey states", () => {
  it("are those of the plan", { timeout: 300_000 }, async () => {
    const made = spawnSync(python, [here("one_source.py")], { encoding: "utf8", maxBuffer: 1 << 28 });
    if (made.status !== 0) throw new Error(made.stderr);
    let [equal, bounded] = [0, 0];
    for (const line of made.stdout.trim().split("\n")) {
      const { plan, questions, guesses } = JSON.parse(line) as {
        plan: string;
        questions: readonly string[];
        guesses: readonly Guess[];
      };
      const read = await Plan.fromJson(plan);
      for (const guess of guesses.filter(({ attribute }) => questions.includes(attribute))) {
        const stated = read.bestGuess(guess.attribute);
        const about = `${guess.attribute} ${guess.shape} of ${read.id}`;
        if (stated.groups !== undefined) continue; // of levels it is a group's, which related.node.test.ts compares
        if (guess.most !== undefined) {
          expect(stated.oneReport, about).toBeCloseTo(guess.most, 8);
          equal++;
        } else if (guess.related || BOUNDED.includes(guess.shape)) {
          expect(stated.oneReport, about).toBeGreaterThanOrEqual(guess.reported - 1e-12);
          expect(stated.wholeReport, about).toBeGreaterThanOrEqual(guess.report - 1e-12);
          bounded++;
        } else {
          expect(stated.oneReport, about).toBeCloseTo(guess.reported, NEAR - 1);
          expect(stated.wholeReport, about).toBeCloseTo(guess.report, NEAR - 1);
          expect(stated.blind, about).toBeCloseTo(guess.blind, NEAR);
          equal++;
        }
      }
    }
    expect(equal).toBeGreaterThan(300);
    expect(bounded).toBeGreaterThan(10);
  });
});
