/// <reference types="vite/client" />
/** The examples that every implementation must reproduce, and the hostile ones that it must refuse. */

import { describe, expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { Ledger } from "../src/client/ledger.js";
import { decode } from "../src/client/report.js";
import type { Answers, Attribute } from "../src/domains/attribute.js";
import { AboveCap, InvalidParameter, InvalidPlan, InvalidReport, InvalidValue } from "../src/errors.js";
import { largest, logUp, toNano } from "../src/exact.js";
import { fromHexadecimal, hexadecimal } from "../src/hexadecimal.js";
import { lossOfAll } from "../src/losses/losses.js";
import { rateProtection, rateTogether } from "../src/losses/protection.js";
import { Plan } from "../src/plan/plan.js";
import { type Case, reported } from "./helpers.js";

interface Hostile {
  readonly name: string;
  readonly plan: string;
  readonly bytes?: string;
  readonly json?: string;
  /** Why; null where it is just inside of a rule. */
  readonly refused: string | null;
  /** How many spaces follow the plan. */
  readonly spaces?: number;
}

/**
 * Answers to a plan's one attribute, with their codes: -1 for a missing one, null for one that is refused. Codes that
 * JavaScript's numbers may not hold are text.
 */
interface Answered {
  readonly name: string;
  readonly plan: string;
  readonly answers: readonly (readonly [answer: unknown, code: number | string | null])[];
}

/** What a device with this secret reports. */
interface Device {
  readonly name: string;
  readonly plan: string;
  readonly secret: string;
  readonly round: number;
  /** Which questions it asks, where not all of them. */
  readonly questions?: readonly string[];
  readonly answers: Answers;
  readonly report: string | null;
}

const files = import.meta.glob<(Case | Hostile | Answered | Device)[]>("../../spec/vectors/**/*.json", {
  eager: true,
  import: "default",
});
const all = Object.values(files).flat();
const sound = all.filter((one): one is Case => "words" in one);
const hostile = all.filter((one): one is Hostile => "refused" in one && !("typed" in one));

it("guesses a fresh answer from the reports of all rounds, and a kept one from what is kept", async () => {
  const text = sound.find(({ name }) => name === "kept and fresh, 0")?.plan as string;
  const plan = await Plan.fromJson(text);
  const odds = (loss: number): number => Math.exp(loss) / (Math.exp(loss) + 1);
  expect(plan.bestGuess("smokes").oneReport).toBeCloseTo(odds(0.125), 6);
  expect(plan.bestGuess("smokes").allReports).toBeCloseTo(odds(5 * 0.125), 6);
  expect(plan.bestGuess("color").allReports).toBeCloseTo(Math.E / (Math.E + 4), 6);
});

it("guesses from the reports to all plans of a chain, not to the last one alone", async () => {
  for (const name of ["more values", "more for ever, then back", "bits, less and more", "more of a line"]) {
    const text = all.find((one) => one.name === `a chain, ${name}, 0`)?.plan as string;
    const plan = await Plan.fromJson(text);
    const { chain, repeated } = plan.verify();
    const { allReports, allRounds, blind } = plan.bestGuess((plan.attributes[0] as Attribute).name);
    const bound = (loss: number | null | undefined): number => {
      const odds = Math.exp((loss ?? Infinity) / 1e9) * blind;
      return odds === Infinity ? 1 : odds / (odds + 1 - blind);
    };
    expect(allReports).toBeGreaterThanOrEqual(bound(chain?.same_value));
    if (name === "more for ever, then back") {
      expect(allReports).toBeCloseTo(bound(chain?.same_value), 6);
      expect(allReports).toBeGreaterThan(bound(repeated?.one_value_forever) + 0.01);
    }
    expect(allRounds).toBeCloseTo(Math.max(allReports, bound(chain?.changing_values)), 6);
    expect(allRounds).toBeGreaterThan(bound(repeated?.changing_values));
  }
});

it("has examples of every record mechanism, and hostile ones", () => {
  const kinds = new Set(sound.map((one) => JSON.parse(one.plan).mechanism.kind));
  expect([...kinds].sort()).toEqual(["faked", "near-bits", "near-sets", "sample", "single", "split"]);
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

const devices = all.filter(
  (one): one is Device & { report: string } => "report" in one && one.report !== null,
);

describe.each(devices)("a device's $name", ({ plan, secret, round, questions, answers, report }) => {
  it("is the same report for every client with its secret", async () => {
    for (let object = 0; object < 2; object++) {
      const client = await Client.open(plan, { secret, planCap: Infinity });
      expect(hexadecimal((await client.report(answers, { round })).bytes)).toBe(report);
      const hidden = client.plan.attributes.flatMap(({ columns }) => columns);
      const all = [...new Set([...(client.plan.known?.names ?? []), ...hidden])];
      expect(await client.questions()).toEqual(questions ?? all);
      const other = all.find((name) => questions && !questions.includes(name));
      if (other)
        await expect(client.report({ ...answers, [other]: 0 }, { round })).rejects.toThrow(InvalidParameter);
    }
  });
});

/** What a device with this secret sends, one step after the other. */
interface Steps {
  readonly name: string;
  readonly plan: string;
  readonly secret: string;
  readonly steps?: readonly { readonly round: number; readonly answers: Answers; readonly report: string }[];
  readonly refused_round?: number;
}

const stepwise = (files["../../spec/vectors/rounds.json"] ?? []) as readonly unknown[] as readonly Steps[];

describe.each(stepwise)("a device with $name", ({ plan, secret, steps, refused_round: round }) => {
  it("sends a round again as it was, and refuses what is not a round or a secret", async () => {
    const client = await Client.open(plan, { secret, planCap: Infinity });
    for (const { report, ...step } of steps ?? [])
      expect(hexadecimal((await client.report(step.answers, step)).bytes)).toBe(report);
    if (!steps)
      await expect(client.report({ city: "city 1" }, { round: round ?? 1 })).rejects.toThrow(
        InvalidParameter,
      );
  });
});

/** What all reports to a plan give away, and how well it protects; of several, the last one with all others. */
interface Rated {
  readonly name: string;
  readonly plan: string;
  readonly beside?: readonly string[];
  readonly counted: number | null;
  readonly unchanged: number | null;
  readonly answer: number | null;
  readonly level: string;
  readonly percent: number;
}

const ratings = (files["../../spec/vectors/protections.json"] ??
  []) as readonly unknown[] as readonly Rated[];

describe.each(ratings)("a plan with $name", (one) => {
  it("protects as well, and loses as much, as in Python", async () => {
    const plan = await Plan.fromJson(one.plan);
    const { counted, unchanged } = one;
    expect(lossOfAll(plan.stated)).toEqual({ counted, unchanged });
    expect(lossOfAll(plan.verify())).toEqual({ counted, unchanged });
    const { answer: loss, level, percent } = one;
    const beside = await Promise.all((one.beside ?? []).map((text) => Plan.fromJson(text)));
    if (one.beside) expect(rateTogether([...beside, plan])).toEqual({ level, loss, percent });
    else expect(rateProtection(plan.verify())).toEqual({ level, loss, percent });
  });
});

/** Whether a device with a cap, which answered so many rounds of other plans, answers a plan. */
interface Capped {
  readonly name: string;
  readonly plan: string;
  readonly cap: number | null;
  readonly answered: readonly { readonly plan: string; readonly rounds: number }[];
  readonly accepted: boolean;
}

const capped = (files["../../spec/vectors/caps.json"] ?? []) as readonly unknown[] as readonly Capped[];

describe.each(capped)("a device with a cap: $name", (one) => {
  it(one.accepted ? "answers" : "refuses", async () => {
    const ledger = new Ledger();
    const answer = async (text: string, round: number, cap?: number): Promise<unknown> => {
      const client = await Client.open(text, { ledger, ...(cap === undefined ? {} : { cap }) });
      const answers = client.plan.attributes.map(({ name, labels }) => [name, labels[0]]);
      return client.report(Object.fromEntries(answers), { round });
    };
    for (const { plan, rounds } of one.answered)
      for (let round = 1; round <= rounds; round++) await answer(plan, round, 1e9);
    const found = await answer(one.plan, 1, one.cap ?? undefined).catch((problem: unknown) => problem);
    expect(found instanceof AboveCap && found.reason === "cap").toBe(!one.accepted);
    if (one.accepted) expect(found).not.toBeInstanceOf(Error);
  });
});

/** What a device that remembers sends, one step after the other, and what its plans count then. */
interface Remembered {
  readonly name: string;
  readonly secret: string;
  readonly cap: number | null;
  readonly plans: readonly string[];
  readonly steps: readonly {
    readonly plan: number;
    readonly round: number;
    readonly answers: Answers;
    readonly change: boolean;
    readonly report: string | null;
    readonly counted: number | null;
    readonly refused?: string;
  }[];
}

const remembered = (files["../../spec/vectors/ledgers.json"] ??
  []) as readonly unknown[] as readonly Remembered[];

describe.each(remembered)("a device that remembers: $name", ({ secret, cap, plans, steps }) => {
  it("sends and counts", async () => {
    const ledger = new Ledger();
    for (const { plan, answers, report, counted, refused = "cap", ...step } of steps) {
      const options = { ledger, secret, ...(cap === null ? {} : { cap }) };
      const send = async (): Promise<string> => {
        const client = await Client.open(plans[plan] as string, options);
        return hexadecimal((await client.report(answers, step)).bytes);
      };
      if (report === null) await expect(send()).rejects.toMatchObject({ reason: refused });
      else expect(await send()).toBe(report);
      expect(ledger.lifetime().changing).toBe(counted);
    }
  });
});

/** A plan that states its true losses, and its ratios per record and per attribute. */
interface Exact {
  readonly name: string;
  readonly plan: string;
  readonly R: readonly [string, string];
  readonly A: readonly [string, string];
}

const exact = (files["../../spec/vectors/losses.json"] ?? []) as readonly unknown[] as readonly Exact[];

describe.each(exact)("losses of $name", (one) => {
  it("are what the plan states, and its ratios", async () => {
    const plan = await Plan.fromJson(one.plan);
    expect(plan.verify()).toEqual(JSON.parse(one.plan).losses);
    const [found, d] = largest(plan.mechanism.ratios);
    const [n, known] = one.A.map(BigInt) as [bigint, bigint];
    const above = found * known - n * d; // evidence of fakes is rounded up, by less than 2^-300 of it
    expect(above >= 0n && above << 300n <= n * d).toBe(true);
    expect(plan.verify().record).toBe(Number(toNano(logUp(one.R.map(BigInt) as [bigint, bigint]))));
  });
});

it("has vectors of steps, caps, ledgers and losses", () => {
  for (const file of [ratings, stepwise, capped, remembered, exact]) expect(file.length).toBeGreaterThan(10);
});

const answered = all.filter(
  (one): one is Answered => "answers" in one && Array.isArray(one.answers) && "plan" in one,
);

describe.each(answered)("answers to $name", (one) => {
  it("have these codes, or are refused", async () => {
    const [attribute] = (await Plan.fromJson(one.plan)).attributes;
    const found = one.answers.map(([answer]) => {
      try {
        const code = attribute?.domain.code(answer, one.name);
        return [
          answer,
          attribute?.domain.isUnlisted && attribute.domain.kind !== "number" ? String(code) : code,
        ];
      } catch (problem) {
        expect(problem).toBeInstanceOf(InvalidValue);
        return [answer, null];
      }
    });
    expect(found).toEqual(one.answers);
    expect(one.answers.length).toBeGreaterThan(20);
  });
});

describe.each(hostile)("$name", (one) => {
  it(`is refused: ${one.refused}`, async () => {
    if (one.bytes === undefined && one.json === undefined) {
      const text = one.plan + " ".repeat(one.spaces ?? 0);
      const found = await Plan.fromJson(text).catch((problem: unknown) => problem);
      expect(found).toBeInstanceOf(one.refused === null ? Plan : InvalidPlan);
      if (one.refused !== null) expect((found as InvalidPlan).reason).toBe(one.refused);
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
    expect((refused() as InvalidReport).reason).toBe(one.refused);
  });
});
