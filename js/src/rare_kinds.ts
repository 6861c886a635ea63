/**
 * Lists the kinds that only some plans have, so that a page loads them on demand: fakes, distances, means,
 * permanent answers, public pools, weights, maps, questions of several attributes.
 */

import * as distances from "./distance_kinds.js";
import * as kept from "./kept_kinds.js";
import * as numbers from "./number_kinds.js";
import * as pool from "./pooled.js";
import * as tables from "./table_kinds.js";

export const mechanisms = {
  ...distances.mechanisms,
  ...numbers.mechanisms,
  ...kept.mechanisms,
  ...pool.mechanisms,
};
export const domains = { ...distances.domains, ...numbers.domains, ...tables.domains };

export { boundGuess, boundRelated, checkQuestions, counted, encodeAnswers } from "./asked_kinds.js";
export { statedMetric, verifiedMetric } from "./distance_kinds.js";
export { records } from "./faked_kinds.js";
export { readMaps } from "./map_kinds.js";
export { checkTables, guessFactor, readKnown } from "./table_kinds.js";
