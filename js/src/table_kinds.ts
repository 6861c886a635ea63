/** Reads questions that are reported together, as cells of a table, and those that are known anyway. */

export { readKnown } from "./known.js";
export { domains } from "./product.js";
