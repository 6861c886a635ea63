/** Reads questions of several attributes, conditions, and values that are counted one by one. */

export { boundGuess } from "./bounds.js";
export { counted } from "./counted.js";
export { checkQuestions, encodeAnswers } from "./questions.js";
export { boundRelated } from "./related.js";
