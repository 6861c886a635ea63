/** Reads the losses that a plan states, and refuses less than is true. */

import type { Attribute } from "../domains/attribute.js";
import { must } from "../errors.js";
import { type Loss, toNano } from "../exact.js";
import { FIGURES, type Figures } from "../mechanisms/repeated.js";
import type { RecordMechanism } from "../records/records.js";
import { checkedFields, checkedInteger, checkedList, checkedString, isObject } from "../strict.js";
import type { Together } from "./together.js";

/** What losses are computed from: what is asked, how a record of it becomes a report, and how many of them. */
export interface Recipe {
  readonly attributes: readonly Attribute[];
  readonly mechanism: RecordMechanism;
  /** How many reports one device makes; null where people are asked once. */
  readonly reports: number | null;
  /** What reports to the plans that it continues give away with its own; left out where there are none. */
  readonly together?: Together;
}

/** Losses in billionths of a nat, rounded up; null where there is no bound. */
export interface Losses {
  /** The loss of one report, between any two people. */
  readonly record: number;
  /** The loss of one report, between people who differ in one attribute. */
  readonly attribute: number;
  /** For studies that ask again: what a person's reports give away together. */
  readonly repeated: Figures<number> | null;
  /** The same of all reports to the plan and to those that it continues. */
  readonly chain?: Figures<number>;
  /** For metric values: what is lost per unit of distance. The worst case is in the others. */
  readonly metric?: MetricLosses;
}

/** What a report loses about metric attributes, and about all others. */
export interface MetricLosses {
  /** The loss about all other attributes, the metric ones being the same. */
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

/** The losses of a plan with those that it continues, where it continues some. */
export const chained = (losses: Losses): Losses =>
  losses.chain === undefined ? losses : { ...losses, repeated: losses.chain };

/** Reads the losses that a plan states. */
export const statedLosses = (data: unknown): Losses => {
  const hasMetric = isObject(data) && Object.hasOwn(data, "metric");
  const hasChain = isObject(data) && Object.hasOwn(data, "chain");
  const fields = checkedFields(data, "losses", [
    "record",
    "attribute",
    "repeated",
    ...(hasMetric ? ["metric"] : []),
    ...(hasChain ? ["chain"] : []),
  ]);
  const { repeated, chain } = fields;
  for (const several of [...(repeated === null ? [] : [repeated]), ...(hasChain ? [chain] : [])]) {
    const figures = checkedFields(several, "repeated losses", FIGURES);
    for (const name of FIGURES) if (figures[name] !== null) checkedInteger(figures[name], "a loss");
  }
  return {
    record: checkedInteger(fields.record, "a loss"),
    attribute: checkedInteger(fields.attribute, "a loss"),
    repeated: repeated as Losses["repeated"],
    ...(hasMetric ? { metric: statedMetric(fields.metric) } : {}),
    ...(hasChain ? { chain: chain as Figures<number> } : {}),
  };
};

/** Reads the losses per unit of distance that a plan states. */
const statedMetric = (data: unknown): MetricLosses => {
  const { rest, units } = checkedFields(data, "metric losses", ["rest", "units"]);
  for (const entry of checkedList(units, "units")) {
    const { name, unit, loss } = checkedFields(entry, "the loss per unit", ["name", "unit", "loss"]);
    for (const text of [name, unit]) checkedString(text, "name and unit");
    checkedInteger(loss, "the loss per unit");
  }
  return { rest: checkedInteger(rest, "the loss of the rest"), units: units as MetricLosses["units"] };
};

/** The true loss in billionths, or a refusal where it is above what is stated. */
export const refuseLess = (
  name: string,
  claim: number | null,
  loss: Loss | null,
  bias = 0n,
): number | null => {
  const truth = loss === null ? null : toNano(loss) + bias;
  must(claim === null || (truth !== null && BigInt(claim) >= truth), "leaks", () => {
    const spent = truth === null ? "have no bound" : `lose ${nats(Number(truth))}`;
    const what = name.replaceAll("_", " ");
    return `the plan states a loss of ${nats(claim as number)} (${what}), but its thresholds ${spent}; do not answer it`;
  });
  return truth === null || truth >= 2n ** 53n ? null : Number(truth);
};

const nats = (nano: number): string => (nano / 1e9).toFixed(9);
