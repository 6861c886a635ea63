import { expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { decode, fromBytes } from "../src/client/report.js";
import { InvalidReport } from "../src/errors.js";
import { Plan } from "../src/plan/plan.js";
import { randomBytes } from "../src/randomness/words.js";
import { FRESH, small } from "./helpers.js";

it("reads back what it wrote, and nothing else", async () => {
  const plan = await Plan.fromJson(await small());
  const report = await new Client(plan, { ...FRESH, planCap: 1e9 }).report({ color: "red" });
  expect(report.bytes.length).toBe(30);
  expect(decode(plan, report.bytes).json).toBe(report.json);
  expect(decode(plan, report.json).bytes).toEqual(report.bytes);
  expect(report.readable).toEqual([
    { attribute: "color", supports: [plan.attributes[0]?.label(report.bytes[29] as number)] },
  ]);
  for (let cut = 0; cut < 30; cut++)
    expect(() => fromBytes(plan, report.bytes.subarray(0, cut))).toThrow(InvalidReport);
  for (let at = 0; at < 30; at++) {
    const other = report.bytes.slice();
    other[at] = (other[at] as number) ^ 0x80;
    if (at >= 13 && at < 29) expect(decode(plan, other).id).not.toBe(report.id);
    else expect(() => decode(plan, other)).toThrow(InvalidReport);
  }
});

it("refuses whatever else comes, with a reason", async () => {
  const plan = await Plan.fromJson(await small());
  const { json } = await new Client(plan, { ...FRESH, planCap: 1e9 }).report({ color: "red" });
  for (let run = 0; run < 2000; run++) {
    const bytes = randomBytes(run % 60);
    expect(() => decode(plan, bytes)).toThrow(InvalidReport);
    const at = run % json.length;
    const other = json.slice(0, at) + String.fromCharCode(32 + (run % 90)) + json.slice(at + (run % 3));
    try {
      expect(decode(plan, other).json).toBe(other); // another id, or another value
    } catch (problem) {
      expect(problem).toBeInstanceOf(InvalidReport);
    }
  }
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  for (const other of [
    "",
    "null",
    deep,
    json.replace(/"report":\{[^}]*\}/, `"report":${deep}`),
    json.replace("color", "__proto__"),
  ]) {
    expect(() => decode(plan, other)).toThrow(InvalidReport);
  }
});
