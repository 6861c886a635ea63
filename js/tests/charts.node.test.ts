/** What the drawings of the dashboard show of long lists. */

import { expect, it } from "vitest";
import { largest } from "../pages/dashboard/charts.js";
import { listRanges } from "../pages/dashboard/panels.js";
import type { Row } from "../pages/kit/api.js";

it("shows the largest shares of a long list, in the order of the list", () => {
  const rows = [0.1, 0.4, 0.2, 0.3].map((share) => ({ share, value: `${share}` }) as Row);
  expect(largest(rows, 2).map(({ value }) => value)).toEqual(["0.4", "0.3"]);
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
