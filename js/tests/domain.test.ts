import { expect, it } from "vitest";
import { Categories } from "../src/domains/categories.js";
import { Range } from "../src/domains/range.js";
import { InvalidPlan, InvalidValue } from "../src/errors.js";

const age = new Range(0, 10, 10, 0, false, true);
const share = new Range(-5, 1, 10, 1, false, false); // -0.5 to under 0.5 by 0.1

it("finds the bin of a number, given as a number or as text", () => {
  expect(
    [0, 9.99, 10, 104, "42", " 4e1 ", "1_000".replace("_", "")].map((one) => age.code(one, "age")),
  ).toEqual([0, 0, 1, 9, 4, 4, 9]);
  expect([-0.5, -0.4, "-0.30000", 0.1, 0.3, "0.3", 0.4999999].map((one) => share.code(one, "share"))).toEqual(
    [0, 1, 2, 6, 8, 8, 9],
  );
  expect(age.label(1)).toBe("10 to under 20");
  expect(age.label(9)).toBe("90 or more");
  expect(share.label(0)).toBe("-0.5 to under -0.4");
  expect(share.label(5)).toBe("0.0 to under 0.1");
});

it("refuses what is no number of the range", () => {
  for (const wrong of [-1, "x", "0x10", "1_0", true, {}, "1 2", "--1"])
    expect(() => age.code(wrong, "age")).toThrow(InvalidValue);
  for (const wrong of [0.5, "0.5", -0.51, Number.POSITIVE_INFINITY])
    expect(() => share.code(wrong, "s")).toThrow(InvalidValue);
});

it("knows a missing answer", () => {
  for (const none of [null, undefined, "", Number.NaN]) {
    expect(age.code(none, "age")).toBe(-1);
    expect(new Categories(["a", "b"]).code(none, "letter")).toBe(-1);
  }
});

it("knows labels by the text that Python has for them", () => {
  const known = new Categories(["1", "True", "0.5", "1e-07", "1.5e-05", "1000000000000000000000", "-3"]);
  expect([1, true, 0.5, 1e-7, 1.5e-5, 1e21, -3n].map((one) => known.code(one, "x"))).toEqual([
    0, 1, 2, 3, 4, 5, 6,
  ]);
  expect(() => known.code("2", "x")).toThrow('"2" is not a value of "x" (1, True, 0.5, 1e-07');
  for (const wrong of ["toString", "__proto__", {}, [], () => 1, Symbol("x")]) {
    expect(() => known.code(wrong, "x")).toThrow(InvalidValue);
  }
});

it("refuses what nobody sees, and what is seen otherwise than it is", () => {
  const hidden = [
    "\u202eyes",
    "yes\u200b",
    "\u2066x\u2069",
    "\u{e0041}",
    "a\u00adb",
    "\ufeffa",
    "a\u200db",
    " a",
    "a\u00a0",
    "می\u200c",
  ];
  for (const label of [...hidden, "e\u0301"])
    expect(() => new Categories(["a", label]), label).toThrow(InvalidPlan);
  for (const label of [
    "می\u200cخواهم",
    "👨\u200d👩\u200d👧",
    "❤️\u200d🔥",
    "क्\u200dष",
    "où",
    "not in universe",
  ]) {
    expect(new Categories(["a", label]).code(label.normalize("NFD"), "x"), label).toBe(1);
  }
});

it("refuses domains that no plan has", () => {
  const wrong = [
    () => new Categories(["a"]),
    () => new Categories(["a", "a"]),
    () => new Categories(["a", ""]),
    () => new Categories(["a", "b\n"]),
    () => new Categories(["a", "\ud800"]),
    () => new Categories(["a", "\u2028"]),
    () => new Range(0, 10, 10, 1, false, false),
    () => new Range(0, 0, 10, 0, false, false),
    () => new Range(0, 1, 1, 0, false, false),
    () => new Range(0, 1, 2 ** 20 + 1, 0, false, false),
    () => new Range(10 ** 15, 1, 2, 0, false, false),
    () => new Range(0, 1, 2, 16, false, false),
  ];
  for (const make of wrong) expect(make).toThrow(InvalidPlan);
});
