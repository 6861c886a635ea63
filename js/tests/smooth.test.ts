/** Ranges whose shares are smooth: what a report of a square wave says, and how often an answer is guessed. */

import { describe, expect, it } from "vitest";
import vectors from "../../spec/vectors/smooth.json" with { type: "json" };
import { decode } from "../src/client/report.js";
import { Plan } from "../src/plan/plan.js";
import type { Document } from "./helpers.js";

const named = (name: string): Document =>
  (vectors as Document[]).find((one) => one.name.startsWith(name)) as Document;

describe("a square wave", () => {
  it("promises the guess that is exact: every bin is likeliest from a value in whose window it is", async () => {
    const plan = await Plan.fromJson(named("few values").plan);
    const [{ k, window, keep }] = JSON.parse(named("few values").plan).mechanism.parts;
    const exact = ((k + window - 1) * (Number(keep) / 2 ** 64)) / window / k;
    const { blind, oneReport, wholeReport } = plan.bestGuess("age");
    expect([blind, oneReport, wholeReport].map((one) => one.toFixed(6))).toEqual(
      [1 / k, exact, exact].map((one) => one.toFixed(6)),
    );
    expect(oneReport).toBeGreaterThanOrEqual(exact - 1e-12); // it is rounded up
  });

  it("reads a report as the values in whose window its bin is", async () => {
    const { plan: text, bytes } = named("few values");
    const plan = await Plan.fromJson(text);
    const [{ k, window }] = JSON.parse(text).mechanism.parts;
    const raw = Uint8Array.from(bytes.match(/../g).map((pair: string) => Number.parseInt(pair, 16)));
    const bin = raw.at(-1) as number;
    const [{ supports }] = decode(plan, raw).readable as [Document];
    const values = [...Array(k).keys()].filter((value) => value <= bin && bin < value + window);
    expect(supports).toEqual(values.map((value) => `${18 + value} to under ${19 + value}`));
  });
});
