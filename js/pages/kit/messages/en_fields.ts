/** Gives the messages of fields that only some questions have: build.mjs leaves out all others. */

export { en } from "./en.js";
