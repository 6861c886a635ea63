/**
 * Lists the kinds that only some plans have, so that a page loads them on demand: fakes, distances, means,
 * permanent bits.
 */

import { bitFlip } from "./bitflip.js";
import type { Domain } from "./domain.js";
import { FAKED } from "./faked.js";
import { Grid } from "./grid.js";
import { MEANS } from "./means.js";
import type { Mechanism } from "./mechanism.js";
import { Numbers } from "./number.js";
import { geometric } from "./ordered.js";
import { planarGeometric } from "./planar.js";
import type { RecordKind } from "./records.js";
import { checkedBoolean, checkedFields, checkedInteger, threshold } from "./strict.js";

export const mechanisms: Readonly<Record<string, (data: unknown) => Mechanism>> = {
  geometric,
  "planar-geometric": planarGeometric,
  ...MEANS,
  "bit-flip": (data) => {
    const fields = checkedFields(data, "a bit-flip mechanism", ["kind", "k", "bits", "one", "zero"]);
    const [k, bits] = [checkedInteger(fields.k, "k"), checkedInteger(fields.bits, "bits")];
    return bitFlip(k, bits, threshold(fields.one), threshold(fields.zero));
  },
};

const numbers = (
  data: unknown,
  what: string,
  names: readonly string[],
  ends: readonly string[] = [],
): unknown[] => {
  const fields = checkedFields(data, what, ["kind", ...names, ...ends]);
  return [
    ...names.map((name) => checkedInteger(fields[name], name)),
    ...ends.map((end) => checkedBoolean(fields[end])),
  ];
};

const GRID = ["south", "west", "north", "east", "rows", "columns"];
const ENDS = ["open_low", "open_high"];

export const domains: Readonly<Record<string, (data: unknown) => Domain>> = {
  grid: (data) => new Grid(...(numbers(data, "a grid", GRID) as ConstructorParameters<typeof Grid>)),
  number: (data) =>
    new Numbers(
      ...(numbers(data, "a number", ["low", "high", "digits"], ENDS) as ConstructorParameters<
        typeof Numbers
      >),
    ),
};

export const records: Readonly<Record<string, RecordKind>> = { faked: FAKED };

export { statedMetric, verifiedMetric } from "./metric_losses.js";
