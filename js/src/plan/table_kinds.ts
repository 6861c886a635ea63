/** Reads questions that are reported together, as cells of a table, and those that are known anyway. */

export { domains } from "../domains/product.js";
export { readKnown } from "./known.js";
