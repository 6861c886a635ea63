/** Gives the messages of fields for text: build.mjs leaves out all others. */

export { fr } from "./fr.js";
