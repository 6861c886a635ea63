/** Gives the messages that are loaded on demand: build.mjs leaves out those that are there at first. */

export { en } from "./en.js";
