/** Reads values with distances, their mechanisms, and what plans state of them. */

import type { Domain } from "../domains/domain.js";
import { Grid } from "../domains/grid.js";
import { readKept } from "../mechanisms/kept_metric.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { geometric } from "../mechanisms/ordered.js";
import { planarGeometric } from "../mechanisms/planar.js";
import { checkedFields, checkedInteger } from "../strict.js";

const GRID = ["south", "west", "north", "east", "rows", "columns"];

export const mechanisms: Readonly<Record<string, (data: unknown) => Mechanism>> = {
  geometric: readKept(geometric),
  "planar-geometric": readKept(planarGeometric),
};

export const domains: Readonly<Record<string, (data: unknown) => Domain>> = {
  grid: (data) => {
    const fields = checkedFields(data, "a grid", ["kind", ...GRID]);
    const numbers = GRID.map((name) => checkedInteger(fields[name], name));
    return new Grid(...(numbers as ConstructorParameters<typeof Grid>));
  },
};

export { statedMetric, verifiedMetric } from "../losses/metric_losses.js";
