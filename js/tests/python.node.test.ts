/** Bytes, JSON and losses equal those of the Python library, over plans of every kind. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { decode } from "../src/client/report.js";
import { hexadecimal } from "../src/hexadecimal.js";
import { Plan } from "../src/plan/plan.js";
import { type Case, type Document, reported, tampered } from "./helpers.js";

const COUNT = Number(process.env.CASES ?? 60);
const SEED = process.env.SEED ?? "1";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const python =
  process.env.PYTHON ??
  (existsSync(here("../../.venv/bin/python")) ? here("../../.venv/bin/python") : "python3");
const found = spawnSync(python, ["-c", "import deniable.wire"]).status === 0;

if (!found && process.env.CI === "true")
  throw new Error("the Python library is not installed; say where its Python is in PYTHON");

interface PythonCase extends Case {
  /** The report of a device with the secret. */
  readonly device: string;
  readonly losses: readonly (number | null)[];
  readonly metric: readonly number[] | null;
  /** How often the half of a number's range is guessed right, by its name. */
  readonly halves: Readonly<Record<string, number>>;
  readonly labels: readonly (readonly string[])[];
}

describe.skipIf(!found)("the Python library", () => {
  let cases: readonly PythonCase[] = [];

  beforeAll(() => {
    const made = spawnSync(python, [here("cases.py"), SEED, String(COUNT)], {
      encoding: "utf8",
      maxBuffer: 1 << 30,
    });
    if (made.status !== 0) throw new Error(made.stderr);
    cases = made.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }, 600_000);

  it("gives the same bytes and the same JSON from the same words", async () => {
    for (const one of cases) {
      const plan = await Plan.fromJson(one.plan);
      const report = await reported(plan, one);
      expect(hexadecimal(report.bytes), one.name).toBe(one.bytes);
      expect(report.json, one.name).toBe(one.json);
      expect(decode(plan, report.bytes).json).toBe(one.json);
      expect(hexadecimal(decode(plan, report.json).bytes)).toBe(one.bytes);
      const ends = plan.attributes.map(({ labels }) => [...labels.slice(0, 2), ...labels.slice(-2)]);
      expect(ends).toEqual(one.labels);
    }
  }, 600_000);

  it("gives the same bytes from the same secret", async () => {
    for (const { plan, secret, answers, round, device, name } of cases) {
      const client = await Client.open(plan, { secret, planCap: 1e12 });
      expect(hexadecimal((await client.report(answers, { round })).bytes), name).toBe(device);
    }
  }, 600_000);

  it("states what is true, to the billionth", async () => {
    for (const one of cases) {
      const { record, attribute, repeated, metric } = (await Plan.fromJson(one.plan)).verify();
      const distances = metric ? [metric.rest, ...metric.units.map(({ loss }) => loss)] : [];
      expect(distances.length).toBe(one.metric?.length ?? 0);
      for (const [i, truth] of distances.entries()) {
        const stated = one.metric?.[i] as number;
        expect(
          truth === stated || truth === stated - 1,
          `${one.name} ${one.plan} ${i} ${truth} ${stated}`,
        ).toBe(true);
      }
      const figures = repeated && [
        repeated.one_report,
        repeated.same_value,
        repeated.one_value_forever,
        repeated.changing_values,
        repeated.changing_values_usual,
      ];
      for (const [i, truth] of [record, attribute, ...(figures ?? [])].entries()) {
        const stated = one.losses[i] as number | null;
        // Python rounds up to a float first, which may lie just above a billionth that the truth is just
        // below
        expect(
          stated === null ? truth === null : truth === stated || truth === stated - 1,
          `${one.name} ${i}`,
        ).toBe(true);
      }
    }
  }, 600_000);

  it("says as often as it is how often the half of a number's range is guessed right", async () => {
    let compared = 0;
    for (const one of cases) {
      const plan = await Plan.fromJson(one.plan);
      for (const [name, truth] of Object.entries(one.halves)) {
        const { blind, oneReport } = plan.bestGuess(name);
        expect(blind).toBe(1 / 2);
        expect(Math.abs(oneReport - truth), `${one.name} ${name} ${oneReport} ${truth}`).toBeLessThan(2e-9);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(COUNT / 15);
  }, 600_000);

  it("has no loss that could be stated a billionth lower than it is", async () => {
    for (const one of cases) {
      const truth: Document = (await Plan.fromJson(one.plan)).verify();
      const lower = (change: (losses: Document) => void): Promise<Plan> =>
        tampered(one.plan, (data) => change(data.losses));
      await expect(lower((losses) => (losses.record = truth.record - 1))).rejects.toThrow(
        /states a loss of .* \(record\)/,
      );
      await expect(lower((losses) => (losses.attribute = truth.attribute - 1))).rejects.toThrow(
        /\(attribute\)/,
      );
      for (const [name, figure] of Object.entries(JSON.parse(one.plan).losses.repeated ?? {})) {
        const claim = figure === null ? 10 ** 15 : truth.repeated[name] - 1;
        await expect(lower((losses) => (losses.repeated[name] = claim))).rejects.toThrow(
          name.replaceAll("_", " "),
        );
      }
      if (truth.metric?.rest)
        await expect(lower(({ metric }) => (metric.rest = truth.metric.rest - 1))).rejects.toThrow(
          /\(the rest\)/,
        );
      for (const [i, { loss, unit }] of (truth.metric?.units ?? []).entries()) {
        await expect(lower(({ metric }) => (metric.units[i].loss = loss - 1))).rejects.toThrow(
          `per ${unit})`,
        );
      }
    }
  }, 600_000);
});
