/** Reads what is hashed by a public pool or by a random matrix, and the text that the latter is for. */

import { mechanisms as pooled } from "./pooled.js";
import { domains, mechanisms as linear } from "./text_kinds.js";

export const mechanisms = { ...pooled, ...linear };
export { domains };
