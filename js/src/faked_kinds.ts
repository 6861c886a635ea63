/** Reads records with fakes, and samples with weights. */

import { FAKED } from "./faked.js";
import type { RecordKind } from "./records.js";
import { WEIGHTED } from "./weighted.js";

export const records: Readonly<Record<string, RecordKind>> = { faked: FAKED, sample: WEIGHTED };
