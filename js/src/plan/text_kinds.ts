/** Reads text that nobody listed, and the mechanism for it. */

export { domains } from "../domains/free_text.js";
export { mechanisms } from "../mechanisms/linear.js";
