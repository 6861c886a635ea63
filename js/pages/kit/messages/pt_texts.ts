/** Gives the messages of fields for text: build.mjs leaves out all others. */

export { pt } from "./pt.js";
