/** Gives the messages of fields for text: build.mjs leaves out all others. */

export { en } from "./en.js";
