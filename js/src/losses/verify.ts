/** Recomputes from its integers alone what a plan gives away, and refuses one that leaks more than it states. */

import { must } from "../errors.js";
import { type Loss, logUp } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { FIGURES, isRepeated } from "../mechanisms/repeated.js";
import { sumOfLargest } from "../records/records.js";
import { type Losses, type Recipe, refuseLess } from "./losses.js";
import { verifyMetric } from "./metric_losses.js";

/** The true losses of a plan that states these. */
export const verifyLosses = (recipe: Recipe, stated: Losses): Losses => {
  const { reports, mechanism } = recipe;
  must(
    (reports === null) === (stated.repeated === null),
    "losses",
    () => "repeated losses are for a plan that asks again",
  );
  const record = refuseLess(
    "record",
    stated.record,
    mechanism.loss(({ ratio }) => logUp(ratio)),
  );
  const attribute = refuseLess("attribute", stated.attribute, sumOfLargest(mechanism.ratios.map(logUp), 1));
  // all attributes that one person reports, together; which ones is drawn once and kept
  const again = reports === null ? [] : mechanism.mechanisms.filter(isRepeated);
  const each = new Map<Mechanism, readonly (Loss | null)[]>(
    again.map((part) => [part, part.losses(reports as number)]),
  );
  const repeated = FIGURES.map((name, i) => {
    const hasBound = [...each.values()].every((figures) => figures[i] !== null);
    const figure = (part: Mechanism): Loss => each.get(part)?.[i] ?? 0n;
    const total = hasBound ? mechanism.loss(figure, false, [i, reports as number]) : null;
    return [name, refuseLess(name, stated.repeated?.[name] ?? null, total)];
  });
  const metric = verifyMetric(recipe, stated.metric);
  return {
    record: record as number,
    attribute: attribute as number,
    repeated: reports === null ? null : Object.fromEntries(repeated),
    ...(metric && { metric }),
  };
};
