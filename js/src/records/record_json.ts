/** Lists the kinds of record mechanisms, and reads them from a plan. */

import { must } from "../errors.js";
import { MECHANISM_KINDS, readMechanism } from "../mechanisms/mechanism_json.js";
import { checkedFields, checkedKind, checkedList } from "../strict.js";
import { readFaked } from "./faked.js";
import { readNearBits, readNearSets } from "./near.js";
import { checkedSeveral, type RecordMechanism, single, split } from "./records.js";
import { readSample } from "./weighted.js";

export type Reader = (data: unknown) => RecordMechanism;

const readSingle: Reader = (data) => {
  const parts = checkedList(checkedFields(data, "a single mechanism", ["kind", "parts"]).parts, "parts");
  must(parts.length === 1, "parts", () => `a single mechanism has one part, got ${parts.length}`);
  return single(readMechanism(parts[0]));
};

/** The kinds that can be a part of a split. */
export const PARTS: Readonly<Record<string, Reader>> = {
  sample: readSample,
  faked: readFaked,
  "near-sets": readNearSets,
  "near-bits": readNearBits,
};

const readPart: Reader = (data) => {
  const kinds = [...MECHANISM_KINDS, ...Object.keys(PARTS)];
  const read = PARTS[checkedKind(data, "a part of a split", kinds)];
  return read ? read(data) : single(readMechanism(data));
};

const readSplit: Reader = (data) => {
  const { parts } = checkedFields(data, "a split mechanism", ["kind", "parts"]);
  return split(checkedSeveral(checkedList(parts, "parts")).map(readPart));
};

/** Reads the mechanism for the records of a plan. */
export const readRecordMechanism = (data: unknown): RecordMechanism => {
  const kinds: Readonly<Record<string, Reader>> = { single: readSingle, split: readSplit, ...PARTS };
  const kind = checkedKind(data, "a record mechanism", Object.keys(kinds));
  return (kinds[kind] as Reader)(data);
};
