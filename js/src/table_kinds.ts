/**
 * Reads questions that are reported together, as cells of a table, or on several levels, and those that are
 * known anyway.
 */

import * as levels from "./coarse.js";
import * as tables from "./product.js";

export const domains = { ...tables.domains, ...levels.domains };

export { readKnown } from "./known.js";
export { checkTables, guessFactor } from "./product.js";
