/** What only some plans need, so that a page loads it only for them: distances, means, and bits that are kept for ever. */

import { bitFlip } from "./bitflip.js";
import type { Domain } from "./domain.js";
import { must, shown } from "./errors.js";
import { logUp } from "./exact.js";
import { Grid } from "./grid.js";
import { MEANS } from "./means.js";
import type { Mechanism } from "./mechanism.js";
import { isMetric } from "./metric.js";
import { Numbers } from "./number.js";
import { geometric } from "./ordered.js";
import { type MetricLosses, type Plan, refuseLess } from "./plan.js";
import { planarGeometric } from "./planar.js";
import { mostOf } from "./records.js";
import { checkedBoolean, checkedFields, checkedInteger, checkedList, threshold } from "./strict.js";

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

const numbers = (data: unknown, what: string, names: readonly string[], ends: readonly string[] = []): unknown[] => {
  const fields = checkedFields(data, what, ["kind", ...names, ...ends]);
  return [...names.map((name) => checkedInteger(fields[name], name)), ...ends.map((end) => checkedBoolean(fields[end]))];
};

const MOST_CELLS = 1 << 14; // a page must not freeze on a plan that somebody made for that
const GRID = ["south", "west", "north", "east", "rows", "columns"];
const ENDS = ["open_low", "open_high"];

export const domains: Readonly<Record<string, (data: unknown) => Domain>> = {
  grid: (data) => new Grid(...(numbers(data, "a grid", GRID) as ConstructorParameters<typeof Grid>)),
  number: (data) =>
    new Numbers(...(numbers(data, "a number", ["low", "high", "digits"], ENDS) as ConstructorParameters<typeof Numbers>)),
};

/** What a plan states of its distances. */
export const statedMetric = (data: unknown): MetricLosses => {
  const { rest, units } = checkedFields(data, "metric losses", ["rest", "units"]);
  for (const one of checkedList(units, "units")) {
    const { loss } = checkedFields(one, "the loss per unit", ["name", "unit", "loss"]);
    checkedInteger(loss, "the loss per unit");
  }
  return { rest: checkedInteger(rest, "the loss of the rest"), units: units as MetricLosses["units"] };
};

/** Recompute what is lost per unit of distance; refuse a plan that leaks more, or whose values have no such distances. */
export const verifiedMetric = ({ attributes, missing, parts, share, stated }: Plan): MetricLosses | undefined => {
  const units = attributes.flatMap(({ name, domain }, j) => {
    const part = parts[j] as Mechanism;
    if (!isMetric(part)) return [];
    const fits = missing !== "value" && part.fits(domain);
    must(fits, () => `${shown(name)} has values without these distances, or smaller ones than the plan says`);
    return [{ name, unit: part.unit, part }];
  });
  const { metric } = stated;
  const isSame = (metric?.units ?? []).every(({ name, unit }, i) => name === units[i]?.name && unit === units[i]?.unit);
  const isStated = isSame && metric?.units.length === (units.length || undefined);
  must(isStated, () => "a plan states the loss per unit of each attribute that has distances, in order, and of the rest");
  if (!metric) return undefined;
  const cells = units.reduce((sum, { unit, part }) => sum + (unit === "kilometer" ? part.k : 0), 0);
  must(cells <= MOST_CELLS, () => `the grids of a plan have at most ${MOST_CELLS} cells with distances together here`);
  const others = parts.filter((part) => !isMetric(part)).map(({ ratio }) => logUp(ratio));
  return {
    rest: refuseLess("the rest", metric.rest, mostOf(others, share.drawn || others.length)) as number,
    units: units.map(({ name, unit, part }, i) => {
      const truth = refuseLess(`${name} per ${unit}`, metric.units[i]?.loss as number, part.perUnit());
      return { name, unit, loss: truth as number };
    }),
  };
};
