/** Reads text that nobody listed, and the mechanism for it. */

export { domains } from "./free_text.js";
export { mechanisms } from "./linear.js";
