/** Exports what a page needs, and no more: every phone loads it. */

export { Client } from "./client.js";
export {
  AboveCap,
  DeniableError,
  InvalidParameter,
  InvalidPlan,
  InvalidReport,
  InvalidValue,
  NotSent,
} from "./errors.js";
export { browserStore, Ledger, memoryStore } from "./ledger.js";
export { Plan } from "./plan.js";
export { fromBytes } from "./wire.js";
