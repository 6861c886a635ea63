/** Reads the mechanism for ranges whose shares are smooth. */

export { mechanisms } from "./square_wave.js";
