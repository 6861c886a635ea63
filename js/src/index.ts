/** Verifies a plan, turns answers into one randomized report, sends it, and records what was given away. */

export {
  Client,
  type ClientOptions,
  type Delivery,
  type PostponeOptions,
  type Receipt,
  type ReportOptions,
  type SendOptions,
  type WaitingOptions,
} from "./client/client.js";
export {
  browserStore,
  type Entry,
  Ledger,
  type Lifetime,
  type Lost,
  memoryStore,
  type Store,
} from "./client/ledger.js";
export { decode, fromBytes, fromJson, type Report } from "./client/report.js";
export type { Answers, Attribute, Condition, Missing } from "./domains/attribute.js";
export { Categories } from "./domains/categories.js";
export type { Coarse } from "./domains/coarse.js";
export type { Domain } from "./domains/domain.js";
export type { Codes, FreeText } from "./domains/free_text.js";
export type { Grid } from "./domains/grid.js";
export type { Numbers } from "./domains/numbers.js";
export { Range } from "./domains/range.js";
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
export type { BestGuess } from "./losses/guesses.js";
export type { Losses, MetricLosses } from "./losses/losses.js";
export type { Part, Said } from "./mechanisms/mechanism.js";
export type { Figures } from "./mechanisms/repeated.js";
export type { PlanMap, Town } from "./plan/maps.js";
export { Plan } from "./plan/plan.js";
export type { AttributeTexts, Text, Texts } from "./plan/texts.js";
