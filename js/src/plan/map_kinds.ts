/** Reads the maps of plans that have one. */

export { readMaps } from "./maps.js";
