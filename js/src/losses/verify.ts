/** Recomputes from its integers alone what a plan gives away, and refuses one that leaks more than it states. */

import { must } from "../errors.js";
import { type Loss, logUp } from "../exact.js";
import { FIGURES, type Figures, lossesOf } from "../mechanisms/repeated.js";
import { sumOfLargest } from "../records/records.js";
import { type Losses, type Recipe, refuseLess } from "./losses.js";
import { verifyMetric } from "./metric_losses.js";
import { recordLosses, type Together } from "./together.js";

/** The true losses of a plan that states these. */
export const verifyLosses = (
  recipe: Recipe,
  stated: Losses,
  { losses: chain, bias }: Pick<Together, "losses" | "bias"> = { losses: null, bias: 0n },
): Losses => {
  const { reports, mechanism } = recipe;
  must(
    (reports === null) === (stated.repeated === null),
    "losses",
    () => "repeated losses are for a plan that asks again",
  );
  must(
    (chain === null) === (stated.chain === undefined),
    "losses",
    () => "the losses of a chain are for a plan that continues others",
  );
  const record = refuseLess(
    "record",
    stated.record,
    mechanism.loss(({ ratio }) => logUp(ratio)),
    bias,
  );
  const largest = sumOfLargest(mechanism.ratios.map(logUp), 1);
  const attribute = refuseLess("attribute", stated.attribute, largest, bias);
  const checked = (losses: readonly (Loss | null)[], claims: Figures<number> | null | undefined) =>
    Object.fromEntries(
      FIGURES.map((name, i) => [
        name,
        refuseLess(name, claims?.[name] ?? null, losses[i] as Loss | null, bias),
      ]),
    ) as unknown as Figures<number>;
  // all attributes that one person reports, together; which ones is drawn once and kept
  const repeated =
    reports === null
      ? null
      : checked(
          recordLosses(
            mechanism,
            mechanism.mechanisms.map((part) => lossesOf(part, reports)),
            reports,
          ),
          stated.repeated,
        );
  const metric = verifyMetric(recipe, stated.metric, bias);
  return {
    record: record as number,
    attribute: attribute as number,
    repeated,
    ...(chain && { chain: checked(chain, stated.chain) }),
    ...(metric && { metric }),
  };
};
