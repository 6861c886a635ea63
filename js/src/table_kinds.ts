/** Reads questions that are reported together, as cells of a table. */

export { checkTables, domains, guessFactor } from "./product.js";
