/** Exports what a page needs, and no more: every phone loads it. */

export { Client } from "./client/client.js";
export { browserStore, Ledger, memoryStore } from "./client/ledger.js";
export { fromBytes } from "./client/report.js";
export {
  AboveCap,
  DeniableError,
  InvalidParameter,
  InvalidPlan,
  InvalidReport,
  InvalidValue,
  NotSent,
} from "./errors.js";
export { Plan } from "./plan/plan.js";
