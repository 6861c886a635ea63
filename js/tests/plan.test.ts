import { describe, expect, it } from "vitest";
import { InvalidParameter, InvalidPlan } from "../src/errors.js";
import { logUp, toNano } from "../src/exact.js";
import { direct } from "../src/mechanisms/shapes.js";
import { Plan } from "../src/plan/plan.js";
import { canonical } from "../src/strict.js";
import { type Document, FULL, sealed, small, tampered } from "./helpers.js";

describe("a plan at the edge", () => {
  it("is taken with the last threshold that keeps the stated loss, and refused with the next one", async () => {
    const stated = 1_000_000_000n;
    let [low, high] = [FULL / 2n, FULL - 1n]; // by halves: low keeps it, high does not
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (toNano(logUp(direct(3, middle).ratio)) <= stated) low = middle;
      else high = middle;
    }
    const plan = (keep: bigint): Promise<string> =>
      small((data) => {
        data.mechanism.parts[0].keep = String(keep);
        data.losses.record = data.losses.attribute = Number(stated);
      });
    expect((await Plan.fromJson(await plan(low))).verify().record).toBe(Number(stated));
    await expect(plan(high).then(Plan.fromJson)).rejects.toThrow("lose 1.000000001; do not answer it");
    // e = 2.718281828459045...: the edge is where keep / (1 - keep) * 2 is e, to the last of 2^64 words
    const e = 2718281828459045235360287471352662497757n; // times 10^39
    const found = (keep: bigint): boolean => keep * 2n * 10n ** 39n <= e * (FULL - keep);
    expect([found(low), found(high)]).toEqual([true, false]);
  });

  it("is refused where it states a billionth less than is true", async () => {
    const plan = await Plan.fromJson(await small());
    const { record } = plan.verify();
    await expect(small((data) => (data.losses.record = record - 1)).then(Plan.fromJson)).rejects.toThrow(
      InvalidPlan,
    );
    expect(
      (await Plan.fromJson(await small((data) => (data.losses.record = record + 1)))).verify().record,
    ).toBe(record);
  });
});

describe("a plan that was tampered with is refused", () => {
  const changes: [string, (data: Document) => void][] = [
    ["an unknown field", (data) => (data.extra = 1)],
    ["an unknown field of a mechanism", (data) => (data.mechanism.parts[0].extra = 1)],
    ["a missing field", (data) => delete data.title],
    ["another version", (data) => (data.version = 3)],
    ["a version in text", (data) => (data.version = "2")],
    ["an unknown kind", (data) => (data.mechanism.parts[0].kind = "gaussian")],
    ["the kind of an object's ancestors", (data) => (data.mechanism.parts[0].kind = "constructor")],
    ["a threshold as a number", (data) => (data.mechanism.parts[0].keep = 5)],
    [
      "a threshold with a zero first",
      (data) => (data.mechanism.parts[0].keep = `0${data.mechanism.parts[0].keep}`),
    ],
    ["a threshold of 2^64", (data) => (data.mechanism.parts[0].keep = String(FULL))],
    ["a threshold that is too small", (data) => (data.mechanism.parts[0].keep = "5")],
    ["another k", (data) => (data.mechanism.parts[0].k = 4)],
    ["another record mechanism", (data) => (data.mechanism.kind = "split")],
    ["no attributes", (data) => (data.attributes = [])],
    ["the same name twice", (data) => data.attributes.push(data.attributes[0])],
    ["a name with a line feed", (data) => (data.attributes[0].name = "a\nb")],
    ["half of a pair of surrogates", (data) => (data.title = "\ud83d")],
    ["rounds where nothing is kept", (data) => (data.rounds = 2)],
    ["losses of rounds that are not there", (data) => (data.losses.repeated = {})],
    ["nobody", (data) => (data.people = 0)],
    ["more people than a float tells apart", (data) => (data.people = 2 ** 54)],
    ["a policy that is none", (data) => (data.missing = "drop")],
    ["a policy of an object's ancestors", (data) => (data.missing = "toString")],
    ["a negative loss", (data) => (data.losses.record = -1)],
    ["a loss that is not there", (data) => (data.losses.record = null)],
  ];
  it.each(changes)("%s", async (_, change) => {
    await expect(small(change).then(Plan.fromJson)).rejects.toThrow(InvalidPlan);
  });
});

it("a plan of version 1 is refused with what to do", async () => {
  const old = small((data) => {
    data.share = data.mechanism;
    delete data.mechanism;
    data.version = 1;
  });
  const sentence =
    "this plan has version 1, and this program reads version 2: make it again with `deniable plan`";
  await expect(old.then(Plan.fromJson)).rejects.toThrow(new InvalidPlan("version", sentence));
});

it.each([3, 2 ** 40])("a plan of version %d is refused, since a newer program wrote it", async (version) => {
  const newer = small((data) => (data.version = version));
  const sentence = `this plan has version ${version}, and this program reads version 2: a newer program wrote it, so upgrade this one`;
  await expect(newer.then(Plan.fromJson)).rejects.toThrow(new InvalidPlan("version", sentence));
});

describe("a text that is no plan is refused", () => {
  it("in its reformatted forms, but for a line feed at its end", async () => {
    const text = await small();
    await expect(Plan.fromJson(`${text}\n`)).resolves.toBeInstanceOf(Plan);
    const twice = text.replace('"people":1000', '"people":1000,"people":1000');
    const point = text.replace('"people":1000', '"people":1000.0');
    const escaped = text.replace("Colors", "\\u0043olors");
    for (const other of [
      JSON.stringify(JSON.parse(text), null, 1),
      twice,
      point,
      escaped,
      `\u00a0${text}`,
      `\ufeff${text}`,
    ]) {
      await expect(Plan.fromJson(other)).rejects.toThrow(InvalidPlan);
    }
  });

  it("whatever it is", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const texts = [
      "",
      "{}",
      "[]",
      "null",
      "1",
      '"plan"',
      deep,
      `{"version":2,"x":${deep}}`,
      "{".repeat(1000),
      `"${"x".repeat(2 ** 24)}"`,
    ];
    for (const text of texts) await expect(Plan.fromJson(text)).rejects.toThrow(InvalidPlan);
  });

  it("with a byte changed anywhere", async () => {
    const text = await small();
    for (let i = 0; i < text.length; i++) {
      const other = text.slice(0, i) + (text[i] === "1" ? "2" : "1") + text.slice(i + 1);
      await expect(Plan.fromJson(other)).rejects.toThrow(InvalidPlan);
    }
  });
});

describe("what an attacker can guess", () => {
  it("is at most R / (R + k - 1)", async () => {
    const plan = await Plan.fromJson(await small());
    const { blind, oneReport, allReports, sentence } = plan.bestGuess("color");
    expect(blind).toBeCloseTo(1 / 3, 12);
    expect(oneReport).toBeGreaterThanOrEqual(0.6);
    expect(oneReport).toBeLessThan(0.6 + 1e-8);
    expect(allReports).toBe(oneReport);
    expect(sentence).toBe(
      "anyone who sees your report guesses right at most 60 times in 100; blind guessing: 1 in 3",
    );
    expect(() => plan.bestGuess("colour")).toThrow(InvalidParameter);
  });

  it("is that of the whole report, and then of one that is known to hold the answer", async () => {
    const text = await small();
    const plan = await tampered(text, (data) => {
      const [asked, part] = [data.attributes[0], data.mechanism.parts[0]];
      data.attributes = ["color", "other", "third"].map((name) => ({ ...asked, name }));
      data.mechanism = { kind: "sample", parts: [part, part, part], reported: 1 };
    });
    const { blind, wholeReport, oneReport, sentence } = plan.bestGuess("other");
    expect(wholeReport).toBeCloseTo(oneReport / 3 + (2 / 3) * blind, 8);
    expect(sentence).toBe(
      "anyone who sees your report guesses right at most 43 times in 100; anyone who knows that it holds this answer: 60 times in 100; blind guessing: 1 in 3",
    );
  });

  it("is that of a report that holds some answers more often than others", async () => {
    const text = await small();
    const plan = await tampered(text, (data) => {
      const [asked, part] = [data.attributes[0], data.mechanism.parts[0]];
      data.attributes = ["first", "color", "other", "third"].map((name) => ({ ...asked, name }));
      const sampled = { kind: "sample", parts: [part, part, part], reported: 1, weights: [3, 5, 2] };
      data.mechanism = { kind: "split", parts: [part, sampled] };
      data.losses.record *= 2;
    });
    for (const [name, chance] of Object.entries({ first: 1, color: 0.3, other: 0.5, third: 0.2 })) {
      const { blind, wholeReport, oneReport } = plan.bestGuess(name);
      expect(wholeReport).toBeCloseTo(chance * oneReport + (1 - chance) * blind, 8);
    }
  });

  it("is exact for a subset", async () => {
    const plan = await tampered(await small(), (data) => {
      data.attributes[0].domain.labels = ["a", "b", "c", "d", "e"];
      data.mechanism.parts[0] = { k: 5, keep: String((FULL * 6n) / 10n), kind: "subset", size: 2 };
    });
    expect(plan.bestGuess("color").wholeReport).toBeCloseTo(0.3, 8);
  });

  it("is said in few words where they are true", async () => {
    const labels = ["a", "b", "c", "d", "e"];
    const plan = await tampered(await small(), (data) => {
      data.attributes[0].domain.labels = labels;
      data.mechanism.parts[0] = { k: 5, keep: String((FULL * 33n) / 100n), kind: "direct" };
    });
    expect(plan.bestGuess("color").sentence).toBe(
      "anyone who sees your report guesses right at most 1 time in 3; blind guessing: 1 in 5",
    );
  });
});

it("canonical text is sorted by code points", async () => {
  expect(canonical({ "\ufb01": 1, "🙂": 2, a: [1, "é"], b: null })).toBe(
    '{"a":[1,"é"],"b":null,"\ufb01":1,"🙂":2}',
  );
  expect(await sealed(JSON.parse(await small()))).toBe(await small());
});

it("has names and titles that are what they look like", async () => {
  for (const text of ["\u202eevil", "a\u200bb", "\u{e0041}", " a", "a ", "a\u2066b\u2069", "a\tb"]) {
    await expect(Plan.fromJson(await small((data) => (data.title = text)))).rejects.toThrow(
      "a title must be visible text",
    );
    const named = small((data) => (data.attributes[0].name = text));
    await expect(named.then(Plan.fromJson)).rejects.toThrow("an attribute's name must be visible text");
  }
  for (const text of ["می\u200cخواهم", "👨\u200d👩\u200d👧", "Étude 🙂"]) {
    expect((await Plan.fromJson(await small((data) => (data.title = text)))).title).toBe(text);
  }
});

describe("texts that imitate the box of the survey page", () => {
  const imitations = [
    "Verified on this device",
    "\u2713 VERIFIED  ON  THIS  DEVICE",
    "V\u0435rifi\u0435d \u043en this d\u0435vice", // Cyrillic letters
    "\uff36\uff45\uff52\uff49\uff46\uff49\uff45\uff44 on this device", // full width
    "v e r i f i e d - o n - t h i s - d e v i c e",
    "Verlf1ed 0n this device",
    "This survey protects your answers well",
    "Auf diesem Ger\u00e4t gepr\u00fcft",
    "V\u00e9rifi\u00e9 sur cet appareil",
    "Comprobado en este dispositivo",
    "Verificado neste dispositivo",
    "\u{1f165}\u{1f154}\u{1f161}\u{1f158}\u{1f155}\u{1f158}\u{1f154}\u{1f153} on this device", // circles
    "\ua4e6\ua4f0\ua4e3\ua4f2\ua4dd\ua4f2\ua4f0\ua4d3 on this device", // Lisu letters
    "\u13d9\u13ac\u13a1IFI\u13ac\u13a0 on this device", // Cherokee letters
    "Verified on this clevice",
    "Verified | on this device!",
    "Verified locally on your phone",
    "Gepr\u00fcft von diesem Ger\u00e4t",
    "Contr\u00f4l\u00e9e par cet appareil",
    "Confirmada por su m\u00f3vil",
    "Comprovado pelo seu telem\u00f3vel",
    "Anyone who sees all your reports picks yours at most 51 times in 100",
  ];
  it.each(imitations)("are refused: %s", async (text) => {
    const inTitle = small((data) => (data.title = text));
    await expect(inTitle.then(Plan.fromJson)).rejects.toThrow("imitates");
    const introduction = { en: text.replaceAll(" ", "\n") };
    const inTexts = small((data) => (data.texts = { introduction, language: "en" }));
    await expect(inTexts.then(Plan.fromJson)).rejects.toThrow();
  });

  it("are not ordinary texts", async () => {
    const text = await small((data) => (data.title = "Do you use this device every day?"));
    await expect(Plan.fromJson(text)).resolves.toBeTruthy();
  });
});
