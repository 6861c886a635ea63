/** Reads questions of several attributes, conditions, and values that are counted one by one. */

export { counted } from "../domains/counted.js";
export { boundGuess } from "../losses/bounds.js";
export { boundRelated } from "../losses/related.js";
export { checkQuestions, encodeAnswers } from "./questions.js";
