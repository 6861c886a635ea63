/** Gives the messages of fields that only some questions have: build.mjs leaves out all others. */

export { pt } from "./pt.js";
