/** Reads questions on several levels, and checks all views of questions: levels, and tables as well. */

export { domains } from "../domains/coarse.js";
export { checkTables, guessFactor } from "./views.js";
