/** Reads records with fakes. */

import { FAKED } from "../records/faked.js";
import type { RecordKind } from "../records/records.js";

export const records: Readonly<Record<string, RecordKind>> = { faked: FAKED };
