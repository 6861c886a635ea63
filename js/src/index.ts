/** Verifies a plan, turns answers into one randomized report, sends it, and records what was given away. */

export type { Attribute, Condition, Missing } from "./attribute.js";
export { Client, type ClientOptions, type Receipt, type ReportOptions, type SendOptions } from "./client.js";
export type { Coarse } from "./coarse.js";
export { Categories, type Domain, Range } from "./domain.js";
export {
  AboveCap,
  DeniableError,
  InvalidParameter,
  InvalidPlan,
  InvalidReport,
  InvalidValue,
  NotSent,
  type Reason,
} from "./errors.js";
export type { Codes, FreeText } from "./free_text.js";
export type { Grid } from "./grid.js";
export type { BestGuess } from "./guesses.js";
export { browserStore, type Entry, Ledger, type Lifetime, memoryStore, type Store } from "./ledger.js";
export type { Losses, MetricLosses } from "./losses.js";
export type { PlanMap, Town } from "./maps.js";
export type { Part } from "./mechanism.js";
export type { Numbers } from "./number.js";
export { type Answers, Plan } from "./plan.js";
export type { Figures } from "./repeated.js";
export type { AttributeTexts, Text, Texts } from "./texts.js";
export { decode, fromBytes, fromJson, type Report, type Said } from "./wire.js";
