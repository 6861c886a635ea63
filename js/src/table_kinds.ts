/** Reads questions that are reported together, as cells of a table. */

export { checkTables, domains } from "./product.js";
