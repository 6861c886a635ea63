/** What the drawings of the dashboard show of long lists. */

import { expect, it } from "vitest";
import { largest } from "../pages/dashboard/charts.js";
import { listRanges } from "../pages/dashboard/panels.js";
import { exactLoss, roundLoss } from "../pages/dashboard/readings.js";
import type { Row } from "../pages/kit/api.js";

it("shows the largest shares of a long list, in the order of the list", () => {
  const rows = [0.1, 0.4, 0.2, 0.3].map((share) => ({ share, value: `${share}` }) as Row);
  expect(largest(rows, 2).map(({ value }) => value)).toEqual(["0.4", "0.3"]);
});

it("rounds a loss up, but not for what a plan states beyond a round number", () => {
  const shown = [2_000_000_006, 2_000_000_000, 1_999_999_991, 2_000_001_000, 66_904_161_867].map(roundLoss);
  expect(shown).toEqual(["2", "2", "2", "2.001", "66.905"]);
  expect([2_000_000_006, 66_904_161_867].map(exactLoss)).toEqual(["2.000000006", "66.904161867"]);
});

it("offers the share of a range where more than two numbers are in order, but for short scales", () => {
  const domain = (kind: string, bins: number, unit = ""): object => ({ kind, bins, unit });
  const domains = {
    color: domain("categories", 9),
    two: domain("range", 2),
    age: domain("range", 3),
    scale: domain("range", 10, "whole"),
    years: domain("range", 3, "year"),
    long: domain("range", 11, "whole"),
  };
  const attributes = Object.entries(domains).map(([name, domain]) => ({ name, domain }));
  expect(listRanges({ attributes } as never)).toEqual(["age", "years", "long"]);
});
