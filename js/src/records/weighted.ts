/** Builds samples whose attributes are not all drawn equally often. */

import { must } from "../errors.js";
import type { Ratio } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { readMechanism } from "../mechanisms/mechanism_json.js";
import { below, type Code, type Row } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedList } from "../strict.js";
import { encodeValue, type RecordMechanism, sample } from "./records.js";

const MOST = 1 << 16; // of all weights together

/** Reads a sample from a plan, with weights or without. */
export const readSample = (data: unknown): RecordMechanism => {
  const hasWeights = "weights" in Object(data);
  const names = ["kind", "parts", "reported", ...(hasWeights ? ["weights"] : [])];
  const fields = checkedFields(data, "a sample mechanism", names);
  const mechanisms = checkedList(fields.parts, "parts").map(readMechanism);
  const reported = checkedInteger(fields.reported, "reported");
  const alike = sample(mechanisms, reported);
  return hasWeights ? weighted(alike, checkedWeights(fields.weights, reported, mechanisms.length)) : alike;
};

/** One number draws the attribute that the table has for it: each is there as often as its weight. */
const weighted = (alike: RecordMechanism, weights: readonly number[]): RecordMechanism => {
  const table = weights.flatMap((weight, j) => Array<number>(weight).fill(j));
  const chance = (j: number): Ratio => [BigInt(weights[j] as number), BigInt(table.length)];
  const draw = async (row: Row): Promise<number> =>
    table[below(await row.recall(1), 0, table.length)] as number;
  return {
    ...alike,
    groups: alike.groups.map((group) => ({ ...group, chance })),
    drawn: async (row) => {
      const drawn = await draw(row);
      return alike.mechanisms.map((_, j) => j === drawn);
    },
    encode: async (values, row) => {
      const j = await draw(row);
      const part = encodeValue(alike.mechanisms[j] as Mechanism, j, values[j] as Code, row.from(1));
      return Promise.all(alike.mechanisms.map((_, i) => (i === j ? part : undefined)));
    },
  };
};

const checkedWeights = (data: unknown, reported: number, size: number): readonly number[] => {
  const weights = checkedList(data, "weights").map((weight) => checkedInteger(weight, "a weight"));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  must(
    reported === 1 && weights.length === size && weights.every((weight) => weight > 0) && sum <= MOST,
    "weights",
    () => `weights are ${size} positive numbers, at most ${MOST} together, for one attribute a report`,
  );
  must(
    weights.reduce(divisor) === 1 && sum > size,
    "canonical",
    () => "weights differ, and have no common divisor",
  );
  return weights;
};

/** The largest common divisor. */
const divisor = (a: number, b: number): number => (b ? divisor(b, a % b) : a);
