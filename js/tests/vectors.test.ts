/// <reference types="vite/client" />
/** The examples that every implementation must reproduce, and the hostile ones that it must refuse. */

import { describe, expect, it } from "vitest";
import { Client } from "../src/client.js";
import { InvalidPlan, InvalidReport, InvalidValue } from "../src/errors.js";
import { type Answers, fromHexadecimal, hexadecimal, Plan } from "../src/plan.js";
import { decode } from "../src/wire.js";
import { type Case, reported } from "./helpers.js";

interface Hostile {
  readonly name: string;
  readonly plan: string;
  readonly bytes?: string;
  readonly json?: string;
  readonly refused: string;
}

/**
 * Answers to a plan's one attribute, with their codes: -1 for a missing one, null for one that is refused.
 */
interface Answered {
  readonly name: string;
  readonly plan: string;
  readonly answers: readonly (readonly [answer: unknown, code: number | null])[];
}

/** What a device with this secret reports. */
interface Device {
  readonly name: string;
  readonly plan: string;
  readonly secret: string;
  readonly round: number;
  readonly answers: Answers;
  readonly report: string;
}

const files = import.meta.glob<(Case | Hostile | Answered | Device)[]>("../../spec/vectors/**/*.json", {
  eager: true,
  import: "default",
});
const all = Object.values(files).flat();
const sound = all.filter((one): one is Case => "words" in one);
const hostile = all.filter((one): one is Hostile => "refused" in one);

it("has examples of every record mechanism, and hostile ones", () => {
  const kinds = new Set(sound.map((one) => JSON.parse(one.plan).mechanism.kind));
  expect([...kinds].sort()).toEqual(["faked", "sample", "single", "split"]);
  expect(hostile.length).toBeGreaterThan(20);
});

describe.each(sound)("$name", (one) => {
  it("gives these bytes and this JSON", async () => {
    const plan = await Plan.fromJson(one.plan);
    const report = await reported(plan, one);
    expect(hexadecimal(report.bytes)).toBe(one.bytes);
    expect(report.json).toBe(one.json);
    expect(decode(plan, fromHexadecimal(one.bytes)).json).toBe(one.json);
    expect(hexadecimal(decode(plan, one.json).bytes)).toBe(one.bytes);
  });
});

const devices = all.filter((one): one is Device => "report" in one);

describe.each(devices)("a device's $name", ({ plan, secret, round, answers, report }) => {
  it("is the same report for every client with its secret", async () => {
    for (let object = 0; object < 2; object++) {
      const client = await Client.open(plan, { secret, cap: 1e9 });
      expect(hexadecimal((await client.report(answers, { round })).bytes)).toBe(report);
    }
  });
});

const answered = all.filter((one): one is Answered => Array.isArray((one as Answered).answers));

describe.each(answered)("answers to $name", (one) => {
  it("have these codes, or are refused", async () => {
    const [attribute] = (await Plan.fromJson(one.plan)).attributes;
    const found = one.answers.map(([answer]) => {
      try {
        return [answer, attribute?.domain.code(answer, one.name)];
      } catch (problem) {
        expect(problem).toBeInstanceOf(InvalidValue);
        return [answer, null];
      }
    });
    expect(found).toEqual(one.answers);
    expect(one.answers.length).toBeGreaterThan(100);
  });
});

describe.each(hostile)("$name", (one) => {
  it(`is refused: ${one.refused}`, async () => {
    if (one.bytes === undefined && one.json === undefined) {
      await expect(Plan.fromJson(one.plan)).rejects.toThrow(InvalidPlan);
      return;
    }
    const plan = await Plan.fromJson(one.plan);
    const refused = (): unknown => {
      try {
        return decode(plan, one.json ?? fromHexadecimal(one.bytes as string));
      } catch (problem) {
        return problem;
      }
    };
    expect(refused()).toBeInstanceOf(InvalidReport);
    // JSON.parse does not tell that a field was there twice, or 1 from 1.0: such a text is not in its form
    const expected = /twice$|float$/.test(one.name) && one.json ? "form" : one.refused;
    expect((refused() as InvalidReport).reason).toBe(expected);
  });
});
