/** FreeText that nobody listed, codes of many bits, and questions on several levels. */

import { describe, expect, it } from "vitest";
import { makeReport } from "../src/client/client.js";
import { decode } from "../src/client/report.js";
import { Coarse } from "../src/domains/coarse.js";
import { Codes, FreeText } from "../src/domains/free_text.js";
import { Range } from "../src/domains/range.js";
import { InvalidPlan, type InvalidReport, InvalidValue } from "../src/errors.js";
import { logUp, toNano } from "../src/exact.js";
import { linear } from "../src/mechanisms/linear.js";
import type { LinearPart } from "../src/mechanisms/mechanism.js";
import { Plan } from "../src/plan/plan.js";
import { Row, remembered, system } from "../src/randomness/words.js";
import { type Document, FULL, sealed } from "./helpers.js";

const WORD = new FreeText("abcdefghijklmnopqrstuvwxyz", 10, true);
const KEEPS = {
  1: [2, 8768971294881393556n],
  2: [3, 9472756646864840604n],
  4: [6, 8564404289315331810n],
} as const;

/** A row of these 64-bit words. */
const row = (...words: readonly bigint[]): Row => {
  const halves = words.flatMap((word) => [Number(word & 0xffff_ffffn), Number(word >> 32n)]);
  return new Row(new Uint32Array(halves), () => Promise.reject(new Error("nothing is kept")));
};

/** The report of a value whose matrix is this, and whose bucket is kept. */
const hashed = (value: bigint, matrix: bigint, bits: number, rows: number): LinearPart =>
  linear(bits, rows, FULL - 1n).encode(
    value as unknown as number,
    row(matrix & (FULL - 1n), matrix >> 64n, 0n, 0n, 0n, 0n),
  ) as LinearPart;

/** Study of one text, on levels of 20, 35, 50 and all 50 bits. */
const study = async (change: (data: Document) => void = () => undefined): Promise<string> => {
  const site = { kind: "text", alphabet: WORD.alphabet, longest: 10, cut: true };
  const level = (divisor: number, bits: number): Document => ({
    name: `site to ${bits} bits`,
    domain: { kind: "coarse", divisor, factors: [{ name: "site", domain: { ...site } }] },
  });
  const parts = [20, 35, 50, 50].map((bits) => ({
    kind: "linear",
    bits,
    rows: 3,
    keep: String(KEEPS[2][1]),
  }));
  const data: Document = {
    attributes: [level(2 ** 30, 20), level(2 ** 15, 35), level(1, 50), { name: "site", domain: site }],
    losses: { attribute: 2e9, record: 2e9, repeated: null },
    mechanism: { kind: "sample", parts, reported: 1, weights: [7, 7, 7, 4] },
    missing: "refuse",
    people: 1000,
    rounds: null,
    title: "Sites",
    version: 2,
  };
  change(data);
  return sealed(data);
};

/** One report by fresh words. */
const answered = async (
  plan: Plan,
  answers: Record<string, unknown>,
): Promise<ReturnType<typeof makeReport>> => {
  const memory = await remembered(crypto.getRandomValues(new Uint8Array(32)), plan.id);
  return makeReport(plan, answers, 1, new Row(system(plan.words), memory), async () => system(2));
};

describe("text", () => {
  it("is a number of 5 bits a letter", () => {
    expect(WORD.code("cat", "word")).toBe(0x61a000000000n);
    expect(WORD.label(0x61a000000000n)).toBe("cat");
    expect(WORD.label(WORD.code("hippopotamus", "word"))).toBe("hippopotam");
    expect(WORD.label(0x61a000000000n >> 35n, 15)).toBe("cat…");
    expect(WORD.label(0x61a000000000n >> 25n, 25)).toBe("cat");
    expect(WORD.label(0x1fn << 45n)).toBe("0x3e00000000000");
    expect(WORD.letters).toBe("a–z");
    expect(WORD.code("", "word")).toBe(-1);
  });

  it("folds text where the alphabet says so, as Python does", () => {
    const small = "abcdefghijklmnopqrstuvwxyz";
    for (const [alphabet, text, folded] of [
      [small, "Whats App", "whatsapp"],
      [small.toUpperCase(), "whatsapp", "WHATSAPP"],
      [`${small} `, "My  Word", "my word"],
      [small.toUpperCase() + small, "WhatsApp", "WhatsApp"],
      [small, "Ünal", "Ünal"],
      ["0123456789", "12 34", "1234"],
      [small, "WhatsAppWeb!", "whatsappweb!"],
    ] as const)
      expect(new FreeText(alphabet, 10, true).fold(text)).toBe(folded);
    expect(() => new FreeText(small, 10, true).code("Cat", "word")).toThrow(/did you mean "cat"/);
  });
  it("refuses letters of no alphabet, and what is too long unless it is cut", () => {
    expect(() => WORD.code("Cat", "word")).toThrow(InvalidValue);
    expect(WORD.code("hippopotam!", "word")).toBe(WORD.code("hippopotam", "word"));
    const whole = new FreeText("ab", 4, false);
    expect(() => whole.code("ababa", "word")).toThrow("longer than the 4 letters");
    expect(whole.code("abab", "word")).toBe(0b01100110n);
  });

  it("needs an alphabet of different letters, and fits 62 bits", () => {
    for (const alphabet of ["", "a", "aa", "a🙂", "a\u212b"])
      expect(() => new FreeText(alphabet, 10, true)).toThrow(InvalidPlan);
    expect(() => new FreeText("abc", 32, true)).toThrow(InvalidPlan);
    expect(() => new FreeText("abc", 3, true)).toThrow(InvalidPlan);
    expect(new FreeText("abc", 31, true).k).toBe(2 ** 62);
  });

  it("may be a code, in hexadecimal or as a number", () => {
    const code = new Codes(48);
    for (const one of [1998, 1998n, "0x7ce", "0X7CE", "1998"]) expect(code.code(one, "id")).toBe(1998n);
    for (const one of [-1, 1.5, 2 ** 48, "7ce", " 0x7ce", "0x", true, "-1"])
      expect(() => code.code(one, "id")).toThrow(InvalidValue);
    expect([code.label(1998n), code.label(0x7cen, 12), code.label(0x7cen, 14)]).toEqual([
      "0x7ce",
      "0x7ce…",
      "0x1f3…",
    ]);
  });
});

describe("the linear hash", () => {
  it("gives the buckets of the specification", () => {
    expect(hashed(0x3n, 0xbn, 3, 2).bucket).toBe(2);
    expect(hashed(0x123456789abcdn, 0xfedcba9876543210n, 59, 6).bucket).toBe(20);
    expect(hashed(0n, 0x123456789abcdefn, 50, 3).bucket).toBe(0);
    expect(hashed(0xc34000000000n, 0x123456789abcdefn & (2n ** 52n - 1n), 50, 3).bucket).toBe(1);
  });

  it("collides for one matrix in four where there are two rows, whatever the values", () => {
    for (const z of [1n, 5n]) {
      const whole = [...Array(16).keys()].map((t) => hashed(z, BigInt(t), 3, 2));
      const all = whole.filter(({ bits }, t) => bits === `0${t.toString(16)}`);
      expect(all.length).toBe(12); // 4 of 16 have dependent rows: another is drawn
      expect(all.filter(({ bucket }) => bucket === 0).length).toBe(2); // and 2 of those 4
    }
  });

  it("draws a matrix again whose rows are dependent, and then takes the fixed one", () => {
    const { encode } = linear(20, 3, FULL - 1n);
    const bits = (...words: readonly bigint[]): string =>
      (encode(0, row(...words, 0n, 0n)) as LinearPart).bits;
    expect(bits(0n, 0n, 0x80005n, 0n)).toBe("050008");
    expect(bits(0n, 0n, 0n, 0n)).toBe("000008");
    expect(bits(FULL - 1n, FULL - 1n, 0n, 0n)).toBe("000008"); // all rows are alike
    expect(bits(4n, 0n, 0x40n, 0n)).toBe("400000"); // rows 16, 32 and 64: the last leading bit is 16
    expect(bits(0x20n, 0n, 0x80005n, 0n)).toBe("050008"); // the lowest row is 8, which no longer leads
  });

  it("loses what its bucket loses", () => {
    for (const [epsilon, [rows, keep]] of Object.entries(KEEPS)) {
      const nano = Number(toNano(logUp(linear(50, rows, keep).ratio)));
      expect(nano).toBeLessThanOrEqual(Number(epsilon) * 1e9);
      expect(nano).toBeGreaterThan(Number(epsilon) * 1e9 - 2);
    }
    expect(() => linear(63, 3, KEEPS[2][1])).toThrow(InvalidPlan);
    expect(() => linear(2, 3, KEEPS[2][1])).toThrow(InvalidPlan);
    expect(() => linear(50, 3, FULL / 8n)).toThrow(InvalidPlan);
  });

  it("has one form of a report", () => {
    const { codec } = linear(20, 3, KEEPS[2][1]);
    expect(codec.size).toBe(4);
    expect(codec.check({ bits: "050008", bucket: 7 })).toEqual({ bits: "050008", bucket: 7 });
    const wrong: [unknown, string][] = [
      [{ bits: "050008", bucket: 8 }, "form"],
      [{ bits: "000000", bucket: 1 }, "form"],
      [{ bits: "ffff3f", bucket: 1 }, "form"],
      [{ bits: "040000", bucket: 0 }, "form"], // independent rows, but all short texts in bucket 0
      [{ bits: "050048", bucket: 1 }, "form"],
      [{ bits: "0500", bucket: 1 }, "malformed"],
      [{ bits: "05000A", bucket: 1 }, "malformed"],
      [{ bits: 5, bucket: 1 }, "malformed"],
      [{ bits: "050008" }, "malformed"],
      [3, "malformed"],
    ];
    for (const [data, reason] of wrong)
      expect(() => codec.check(data)).toThrow(expect.objectContaining({ reason }) as InvalidReport);
  });
});

describe("a question on several levels", () => {
  it("is asked once, and each report names its level, its matrix and its bucket", async () => {
    const plan = await Plan.fromJson(await study());
    expect(plan.asked.map(({ name }) => name)).toEqual(["site"]);
    const cat = 0x61a000000000n;
    expect(plan.encode({ site: "cat" })).toEqual([cat >> 30n, cat >> 15n, cat, cat]);
    const seen = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const report = await answered(plan, { site: "cat" });
      expect(decode(plan, report.bytes).json).toBe(report.json);
      expect(decode(plan, report.json).bytes).toEqual(report.bytes);
      const [{ attribute, supports, hash }] = report.readable as [(typeof report.readable)[number]];
      expect([supports, hash?.buckets]).toEqual([[], 8]);
      seen.add(attribute);
    }
    expect(seen.size).toBe(4);
    await expect(answered(plan, {})).rejects.toThrow('"site" has no answer');
  });

  it("is guessed among two texts, on whatever level", async () => {
    const { blind, oneReport, wholeReport, sentence } = (await Plan.fromJson(await study())).bestGuess(
      "site",
    );
    const [p, g] = [Number(KEEPS[2][1]) / 2 ** 64, 8];
    expect(blind).toBe(0.5);
    expect(oneReport).toBeCloseTo(p + ((g - 2) * (1 - p)) / (g - 1) / 2, 8);
    expect(wholeReport).toBe(oneReport);
    expect(sentence).toContain("which of two answers it is at most 73 times in 100; blind guessing: 1 in 2");
  });

  it("is refused where its levels do not fit", async () => {
    const changes: Record<string, (data: Document) => void> = {
      coarse: (data) => void (data.attributes[0].domain.divisor = 3),
      fit: (data) => {
        data.attributes[0].domain.divisor = 2 ** 29;
        data.attributes[0].name = "site to 21 bits";
      },
      tables: (data) => void (data.attributes[0].name = "site to 21 bits"),
      text: (data) => void (data.attributes[3].domain.longest = 13),
      leaks: (data) => void (data.losses.record = 1.9e9),
    };
    for (const [reason, change] of Object.entries(changes))
      await expect(study(change).then(Plan.fromJson)).rejects.toMatchObject({ reason });
    await expect(study((data) => void (data.missing = "value")).then(Plan.fromJson)).rejects.toMatchObject({
      reason: "no-answer",
    });
    const others: ((data: Document) => void)[] = [
      (data) => void (data.attributes[3].domain.cut = false),
      (data) => void (data.attributes[3].name = "page"),
    ];
    for (const change of others)
      await expect(study(change).then(Plan.fromJson)).rejects.toMatchObject({ reason: "tables" });
  });

  it("draws random bits for people without an answer", async () => {
    const plan = await Plan.fromJson(await study((data) => void (data.missing = "random")));
    expect(plan.encode({})).toEqual([-1, -1, -1, -1]);
    const report = await answered(plan, { site: null });
    expect(report.readable.length).toBe(1);
    const words = new Uint32Array([0, 0x8000_0000]);
    expect(plan.attributes.map(({ domain }) => domain.draw?.(words))).toEqual([
      1n << 19n,
      1n << 34n,
      1n << 49n,
      1n << 49n,
    ]);
  });

  it("has the values of a range in groups, the last of which may be smaller", () => {
    const income = new Range(0, 10, 100, 0, false, false);
    const level = new Coarse("income", income, 16);
    expect([level.name, level.k]).toEqual(["income by 16", 7]);
    expect([0, 1, 6].map((code) => level.label(code))).toEqual([
      "0 to under 160",
      "160 to under 320",
      "960 to under 1000",
    ]);
    expect(["0", 159, "160", 999].map((answer) => level.code(answer))).toEqual([0, 0, 1, 6]);
    const open = new Coarse("income", new Range(0, 10, 100, 0, true, true), 99);
    expect([0, 1].map((code) => open.label(code))).toEqual(["under 990", "990 or more"]);
    expect(() => new Coarse("income", income, 1)).toThrow(InvalidPlan);
    expect(() => new Coarse("income", income, 100)).toThrow(InvalidPlan);
  });
});
