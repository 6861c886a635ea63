/** What the drawings of the dashboard show of long lists. */

import { expect, it } from "vitest";
import { largest } from "../pages/dashboard/charts.js";
import type { Row } from "../pages/kit/api.js";

it("shows the largest shares of a long list, in the order of the list", () => {
  const rows = [0.1, 0.4, 0.2, 0.3].map((share) => ({ share, value: `${share}` }) as Row);
  expect(largest(rows, 2).map(({ value }) => value)).toEqual(["0.4", "0.3"]);
});
