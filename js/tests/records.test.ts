/** Record mechanisms inside a split: losses, words, reports, and what is refused. */

import { describe, expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { Ledger } from "../src/client/ledger.js";
import { decode } from "../src/client/report.js";
import { AboveCap, InvalidPlan, InvalidReport } from "../src/errors.js";
import { type Loss, logUp, toNano } from "../src/exact.js";
import type { Mechanism, Part } from "../src/mechanisms/mechanism.js";
import { readMechanism } from "../src/mechanisms/mechanism_json.js";
import { direct, unary } from "../src/mechanisms/shapes.js";
import { Plan } from "../src/plan/plan.js";
import { Row, remembered } from "../src/randomness/words.js";
import { halves } from "../src/randomness/words_testing.js";
import { PARTS, type Reader } from "../src/records/record_json.js";
import { type RecordMechanism, sample, single, split } from "../src/records/records.js";
import { checkedFields, checkedList } from "../src/strict.js";
import { type Document, FRESH, FULL, sealed, small } from "./helpers.js";

const MOST = 2 ** 53 - 1;
const labels = ["a", "b", "c"];
const keep = (percent: bigint): string => String((FULL * percent) / 100n);
const grr = (percent: bigint): Document => ({ k: 3, keep: keep(percent), kind: "direct" });
const oue = { k: 3, kind: "unary", one: keep(50n), zero: keep(20n) };
const sampled = (reported: number): Document => ({
  kind: "sample",
  parts: [grr(50n), grr(60n), oue],
  reported,
});
const faked = { fakes: [oue, oue].map((part) => ({ kind: "blank", part })), kind: "faked" };

/** A plan with this record mechanism for so many attributes of three values. */
const planOf = (mechanism: Document, attributes: number, losses: Document = {}): Promise<string> =>
  small((data) => {
    data.attributes = Array.from({ length: attributes }, (_, j) => ({
      domain: { kind: "categories", labels },
      name: `question ${j}`,
    }));
    data.mechanism = mechanism;
    data.losses = { attribute: MOST, record: MOST, repeated: null, ...losses };
  });

const NESTED = { kind: "split", parts: [grr(70n), sampled(2), grr(80n), faked] };
const answers = Object.fromEntries(Array.from({ length: 7 }, (_, j) => [`question ${j}`, labels[j % 3]]));

const ratio = (percent: bigint): Loss => logUp(direct(3, (FULL * percent) / 100n).ratio);

describe("a split of record mechanisms", () => {
  it("loses per record what its parts lose together, per attribute what the worst part loses", async () => {
    const alone = await Plan.fromJson(await planOf(faked, 2));
    const { record, attribute } = (await Plan.fromJson(await planOf(NESTED, 7))).verify();
    const coins = logUp(unary(3, FULL / 2n, FULL / 5n).ratio);
    const two = [ratio(50n), ratio(60n), coins].sort((a, b) => (a < b ? 1 : -1)).slice(0, 2);
    const parts = ratio(70n) + ratio(80n) + (two[0] as Loss) + (two[1] as Loss);
    const both = alone.mechanism.loss(({ ratio: own }) => logUp(own));
    expect(record).toBe(Number(toNano(parts + both)));
    expect(attribute).toBe(Number(toNano(ratio(80n))));
    await expect(Plan.fromJson(await planOf(NESTED, 7, { record: record - 1 }))).rejects.toThrow("(record)");
    await expect(Plan.fromJson(await planOf(NESTED, 7, { attribute: attribute - 1 }))).rejects.toThrow(
      "(attribute)",
    );
    await expect(Plan.fromJson(await planOf(NESTED, 7, { record, attribute }))).resolves.toBeInstanceOf(Plan);
  });

  it("counts in ledgers and caps", async () => {
    const { record, attribute } = (await Plan.fromJson(await planOf(NESTED, 7))).verify();
    const plan = await Plan.fromJson(await planOf(NESTED, 7, { record, attribute }));
    const ledger = new Ledger();
    await new Client(plan, { ledger, cap: 100 }).report(answers);
    expect(ledger.lifetime()).toEqual({
      studies: 1,
      reports: 1,
      unchanged: record,
      changing: record,
    });
    expect(() => new Client(plan, { ...FRESH, planCap: record / 1e9 - 0.001 })).toThrow(AboveCap);
  });

  it("takes the words of its parts, one part after the other", async () => {
    const parts: readonly RecordMechanism[] = [
      single(direct(3, FULL / 2n)),
      sample([direct(3, FULL / 2n), unary(3, FULL / 2n, FULL / 5n), direct(3, FULL / 2n)], 2),
      single(unary(3, FULL / 2n, FULL / 5n)),
    ];
    const whole = split(parts);
    expect(whole.words).toBe(2 + 2 * (1 + 64) + 64);
    const words = Array.from({ length: whole.words }, (_, c) => (BigInt(c + 1) * 0x9e3779b97f4a7c15n) % FULL);
    const row = new Row(halves(words), await remembered(new Uint8Array(32), "plan"));
    const [values, starts] = [
      [2, 0, 1, 2, 1],
      [0, 2, 132],
    ];
    const expected = [];
    for (const [i, part] of parts.entries()) {
      const from = [0, 1, 4][i] as number;
      expected.push(...(await part.encode(values.slice(from), row.from(starts[i] as number))));
    }
    const found = await whole.encode(values, row);
    expect(found).toEqual(expected);
    expect(found.filter((one) => one === undefined).length).toBe(1);
  });

  it("writes the bodies of its parts, and reads back what it wrote", async () => {
    const plan = await Plan.fromJson(await planOf(NESTED, 7));
    for (let run = 0; run < 50; run++) {
      const report = await new Client(plan, { ...FRESH, planCap: 1e9 }).report(answers);
      // one, two names and two of three, one, two fakes
      expect(report.bytes.length).toBe(29 + 1 + 2 + 2 + 1 + 2);
      const body = report.bytes.subarray(29);
      const named = report.readable.map(({ attribute }) => Number(attribute.slice(-1)));
      expect(named).toEqual([0, 1 + (body[1] as number), 1 + (body[2] as number), 4, 5, 6]);
      expect(decode(plan, report.bytes).json).toBe(report.json);
      expect(decode(plan, report.json).bytes).toEqual(report.bytes);
    }
  });

  it("refuses reports that it cannot have made", async () => {
    const plan = await Plan.fromJson(await planOf(NESTED, 7));
    const report = await new Client(plan, { ...FRESH, planCap: 1e9 }).report(answers);
    const reasonOf = (given: Uint8Array | string): string => {
      try {
        decode(plan, given);
      } catch (problem) {
        if (problem instanceof InvalidReport) return problem.reason;
      }
      return "none";
    };
    const changed = (at: number, ...to: number[]): Uint8Array => {
      const bytes = report.bytes.slice();
      bytes.set(to, 29 + at);
      return bytes;
    };
    for (const names of [
      [1, 0],
      [1, 1],
      [0, 3],
      [2, 200],
    ])
      expect(reasonOf(changed(1, ...names))).toBe("form");
    expect(reasonOf(changed(0, 3))).toBe("form");
    for (let cut = 29; cut < report.bytes.length; cut++)
      expect(reasonOf(report.bytes.subarray(0, cut))).toBe("size");
    const said = JSON.parse(report.json);
    const rewritten = (change: (report: Document) => void): string => {
      const copy = structuredClone(said);
      change(copy.report);
      copy.report = Object.fromEntries(Object.entries(copy.report).sort());
      return JSON.stringify(copy);
    };
    expect(reasonOf(rewritten(() => undefined))).toBe("none");
    const [absent] = [1, 2, 3].filter((j) => !(`question ${j}` in said.report));
    const part = absent === 3 ? [0] : 0;
    expect(reasonOf(rewritten((one) => (one[`question ${absent}`] = part)))).toBe("size");
    expect(reasonOf(rewritten((one) => delete one["question 4"]))).toBe("size");
    // as many as there should be, but not of each part
    const moved = (one: Document): void => {
      delete one["question 4"];
      one[`question ${absent}`] = part;
    };
    expect(reasonOf(rewritten(moved))).toBe("size");
  });

  it("has one canonical form: nothing else is nested", async () => {
    const wrong: [Document, number][] = [
      [{ kind: "split", parts: [grr(50n), { kind: "split", parts: [grr(50n), grr(60n)] }] }, 3],
      [{ kind: "split", parts: [grr(50n), { kind: "single", parts: [grr(50n)] }] }, 2],
      [{ kind: "split", parts: [sampled(1)] }, 3],
      [{ kind: "split", parts: [grr(50n), { kind: "sample", parts: [grr(50n)], reported: 1 }] }, 2],
      [{ kind: "split", parts: [grr(50n), { ...sampled(1), drawn: 1 }] }, 4],
      [{ kind: "split", parts: [grr(50n), { ...sampled(1), reported: 4 }] }, 4],
      [{ kind: "split", parts: [grr(50n), { fakes: faked.fakes.slice(1), kind: "faked" }] }, 2],
      [{ kind: "sample", parts: [grr(50n), sampled(1)], reported: 1 }, 4],
      [{ kind: "sample", parts: [grr(50n), faked], reported: 1 }, 3],
      [{ kind: "single", parts: [sampled(1)] }, 3],
      [{ kind: "single", parts: [grr(50n), grr(50n)] }, 2],
      [{ kind: "single", parts: [] }, 0],
      [{ kind: "split", parts: [grr(50n), sampled(2)] }, 3],
      [{ kind: "split", parts: [grr(50n), sampled(2)] }, 5],
    ];
    for (const [mechanism, attributes] of wrong) {
      await expect(
        planOf(mechanism, attributes).then(Plan.fromJson),
        JSON.stringify(mechanism),
      ).rejects.toThrow(InvalidPlan);
    }
    const text = await planOf({ kind: "split", parts: [grr(50n), sampled(2)] }, 4);
    await expect(Plan.fromJson(await sealed(JSON.parse(text)))).resolves.toBeInstanceOf(Plan);
  });
});

it("a fourth kind is one entry in the registry", async () => {
  const registry = PARTS as Record<string, Reader>;
  registry.first = (data) => {
    const { parts } = checkedFields(data, "a first mechanism", ["kind", "parts"]);
    const mechanisms = checkedList(parts, "parts").map(readMechanism);
    const [first] = mechanisms as [Mechanism, ...Mechanism[]];
    return {
      ...split(mechanisms.map(single)),
      groups: [{ size: mechanisms.length, named: 1, real: 1 }],
      words: first.words,
      loss: (of) => of(first),
      encode: async ([value], row) =>
        mechanisms.map((part, j) => (j ? undefined : (part.encode(value as number, row) as Part))),
    };
  };
  const first = { kind: "first", parts: [grr(50n), grr(60n)] };
  for (const [mechanism, attributes] of [
    [first, 2],
    [{ kind: "split", parts: [first, grr(70n)] }, 3],
  ] as const) {
    const plan = await Plan.fromJson(await planOf(mechanism, attributes));
    const own = Object.fromEntries(plan.attributes.map(({ name }) => [name, "a"]));
    const report = await new Client(plan, { ...FRESH, planCap: 1e9 }).report(own);
    expect(report.readable.map(({ attribute }) => attribute)).toEqual(
      ["question 0", "question 2"].slice(0, attributes - 1),
    );
    expect(decode(plan, decode(plan, report.bytes).json).bytes).toEqual(report.bytes);
  }
  delete registry.first;
});

it("what attributes alone lose adds up by part", () => {
  const [one, other] = [direct(3, FULL / 2n), direct(3, FULL - FULL / 4n)];
  const losses = new Map<Mechanism, Loss>([
    [one, 5n],
    [other, 7n],
  ]);
  const of = (mechanism: Mechanism): Loss => losses.get(mechanism) as Loss;
  expect(sample([one, other, one], 2).loss(of)).toBe(12n);
  expect(split([single(one), sample([one, other], 1), single(other)]).loss(of)).toBe(5n + 7n + 7n);
});
