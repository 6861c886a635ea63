/**
 * Lists the kinds that only some plans have, so that a page loads them on demand: fakes, distances, means,
 * permanent answers, public pools, weights, maps, questions of several attributes, levels; and text and smooth ranges, which are files of
 * their own.
 */

import * as pool from "../mechanisms/pooled.js";
import * as weights from "../records/weighted.js";
import * as asked from "./asked_kinds.js";
import * as distances from "./distance_kinds.js";
import * as faked from "./faked_kinds.js";
import * as kept from "./kept_kinds.js";
import * as maps from "./map_kinds.js";
import * as numbers from "./number_kinds.js";
import * as tables from "./table_kinds.js";
import * as views from "./view_kinds.js";

const TEXTS = /"kind":"(linear|text|code)"/;
const WAVES = /"kind":"square-wave"/;

const mechanisms = {
  ...distances.mechanisms,
  ...numbers.mechanisms,
  ...kept.mechanisms,
  ...pool.mechanisms,
};
const domains = { ...distances.domains, ...numbers.domains, ...tables.domains, ...views.domains };

const records = { ...faked.records, ...weights.records };

/** All kinds but those of text and of smooth ranges. */
export const common = { ...asked, ...distances, ...maps, ...tables, ...views, mechanisms, domains, records };

export type RareKinds = typeof common;

/** The kinds for a canonical text. */
export const load = async (text: string): Promise<RareKinds> => {
  const texts = TEXTS.test(text) ? await import("./text_kinds.js") : null;
  const waves = WAVES.test(text) ? await import("./wave_kinds.js") : null;
  return {
    ...common,
    mechanisms: { ...mechanisms, ...texts?.mechanisms, ...waves?.mechanisms },
    domains: { ...domains, ...texts?.domains },
  };
};
