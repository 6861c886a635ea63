/** Reads the losses that a plan states, and refuses less than is true. */

import { must } from "../errors.js";
import { type Loss, toNano } from "../exact.js";
import { FIGURES, type Figures } from "../mechanisms/repeated.js";
import type { RareKinds } from "../plan/rare_kinds.js";
import { checkedFields, checkedInteger, isObject } from "../strict.js";

/** Losses in billionths of a nat, rounded up; null where there is no bound. */
export interface Losses {
  /** Of one report, between any two people. */
  readonly record: number;
  /** Of one report, between people who differ in one attribute. */
  readonly attribute: number;
  /** For studies that ask again: what a person's reports give away together. */
  readonly repeated: Figures<number> | null;
  /** For metric values: what is lost per unit of distance. The worst case is in the others. */
  readonly metric?: MetricLosses;
}

/** What a report loses about metric attributes, and about all others. */
export interface MetricLosses {
  /** Of all other attributes, the metric ones being the same. */
  readonly rest: number;
  /** From one bin of a range to the next, or per kilometer between the middles of two cells. */
  readonly units: readonly {
    readonly name: string;
    readonly unit: "step" | "kilometer";
    readonly loss: number;
  }[];
}

/**
 * What all reports of a person to the plan give away together, in billionths: whatever changes, which is what devices
 * count and people are told, and if no answer changes. Null where there is no bound.
 */
export const lossOfAll = ({
  record,
  repeated,
}: Losses): { readonly counted: number | null; readonly unchanged: number | null } => ({
  counted: repeated ? repeated.changing_values : record,
  unchanged: repeated ? repeated.same_value : record,
});

/** What a plan says. */
export const statedLosses = (data: unknown, rare?: RareKinds): Losses => {
  const metric = isObject(data) && data.metric;
  must(rare || !metric, "losses", () => "losses per unit are for metric attributes");
  const fields = checkedFields(data, "losses", [
    "record",
    "attribute",
    "repeated",
    ...(metric ? ["metric"] : []),
  ]);
  const { repeated } = fields;
  if (repeated !== null) {
    const figures = checkedFields(repeated, "repeated losses", FIGURES);
    for (const name of FIGURES) if (figures[name] !== null) checkedInteger(figures[name], "a loss");
  }
  return {
    record: checkedInteger(fields.record, "a loss"),
    attribute: checkedInteger(fields.attribute, "a loss"),
    repeated: repeated as Losses["repeated"],
    ...(metric && rare ? { metric: rare.statedMetric(metric) } : {}),
  };
};

/** The true loss in billionths, or a refusal where it is above what is stated. */
export const refuseLess = (name: string, claim: number | null, loss: Loss | null): number | null => {
  const truth = loss === null ? null : toNano(loss);
  must(claim === null || (truth !== null && BigInt(claim) >= truth), "leaks", () => {
    const spent = truth === null ? "have no bound" : `lose ${nats(Number(truth))}`;
    const what = name.replaceAll("_", " ");
    return `the plan states a loss of ${nats(claim as number)} (${what}), but its thresholds ${spent}; do not answer it`;
  });
  return truth === null || truth >= 2n ** 53n ? null : Number(truth);
};

const nats = (nano: number): string => (nano / 1e9).toFixed(9);
