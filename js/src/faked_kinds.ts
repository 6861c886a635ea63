/** Reads records with fakes. */

import { FAKED } from "./faked.js";
import type { RecordKind } from "./records.js";

export const records: Readonly<Record<string, RecordKind>> = { faked: FAKED };
