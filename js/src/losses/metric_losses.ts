/**
 * Verifies what a plan states about its distances: the loss per unit, and the loss of all other attributes.
 */

import { must, shown } from "../errors.js";
import { logUp } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { isMetric } from "../mechanisms/metric.js";
import { type MetricLosses, type Recipe, refuseLess } from "./losses.js";

const MOST_CELLS = 1 << 14; // a page must not freeze on a plan that somebody made for that

/**
 * Recompute what is lost per unit of distance; refuse a plan that leaks more, or whose values have no such
 * distances.
 */
export const verifyMetric = (
  { attributes, mechanism }: Recipe,
  metric: MetricLosses | undefined,
  bias: bigint,
): MetricLosses | undefined => {
  const units = attributes.flatMap(({ name, domain }, j) => {
    const part = mechanism.mechanisms[j] as Mechanism;
    if (!isMetric(part)) return [];
    must(part.fits(domain), "fit", () => `${shown(name)} has values without these distances`);
    must(part.isShort(domain), "steps", () => `${shown(name)} has smaller distances than the plan says`);
    return [{ name, unit: part.unit, part }];
  });
  const isSame = (metric?.units ?? []).every(
    ({ name, unit }, i) => name === units[i]?.name && unit === units[i]?.unit,
  );
  const isStated = isSame && metric?.units.length === (units.length || undefined);
  must(
    isStated,
    "losses",
    () => "a plan states the loss per unit of each metric attribute, in order, and of the rest",
  );
  if (!metric) return undefined;
  const cells = units.reduce((sum, { unit, part }) => sum + (unit === "kilometer" ? part.k : 0), 0);
  must(
    cells <= MOST_CELLS,
    "cells",
    () => `the grids of a plan have at most ${MOST_CELLS} metric cells together here`,
  );
  const others = mechanism.loss((part) => (isMetric(part) ? 0n : logUp(part.ratio)));
  return {
    rest: refuseLess("the rest", metric.rest, others, bias) as number,
    units: units.map(({ name, unit, part }, i) => {
      const truth = refuseLess(`${name} per ${unit}`, metric.units[i]?.loss as number, part.perUnit());
      return { name, unit, loss: truth as number };
    }),
  };
};
