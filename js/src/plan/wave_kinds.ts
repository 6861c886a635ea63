/** Reads the mechanism for ranges whose shares are smooth. */

export { mechanisms } from "../mechanisms/square_wave.js";
