/** What the design page writes: numbers that are promised, and parts of a study's file. */

import { expect, it } from "vitest";
import { inToml } from "../pages/design/draft.js";
import { atMost } from "../pages/design/figures.js";

it("rounds the factor that it promises up", () => {
  expect([Math.E, 20.0855, 1234.01].map(atMost)).toEqual(["2.72", "20.1", "1,240"]);
});

it("writes keys as the file has them, in quotes where they need these", () => {
  expect(inToml({ plain_key: 1, "two words": [true, "a"] })).toBe(
    '{ plain_key = 1, "two words" = [true, "a"] }',
  );
});
