/** Lists the kinds of mechanisms for one attribute, and reads them from a plan. */

import { must } from "../errors.js";
import { checkedKind, isObject } from "../strict.js";
import { readBitFlip } from "./bit_flip.js";
import { geometric } from "./geometric.js";
import { readLinear } from "./linear.js";
import { readDuchi, readHybrid, readPiecewise } from "./means.js";
import type { Mechanism } from "./mechanism.js";
import { readHashedMemoized, readMemoized, readPooledMemoized } from "./memoized.js";
import { readMemoizedMean } from "./memoized_mean.js";
import { readKept } from "./metric.js";
import { planarGeometric } from "./planar.js";
import { readPooled } from "./pooled.js";
import { readShape, SHAPE_KINDS } from "./shape_json.js";

type Reader = (data: unknown) => Mechanism;

const KINDS: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries(SHAPE_KINDS.map((kind): [string, Reader] => [kind, (data) => readShape(data)])),
  geometric: readKept(geometric),
  "planar-geometric": readKept(planarGeometric),
  duchi: readDuchi,
  piecewise: readPiecewise,
  hybrid: readHybrid,
  memoized: readMemoized,
  "hashed-memoized": readHashedMemoized,
  "pooled-memoized": readPooledMemoized,
  "memoized-mean": readMemoizedMean,
  "bit-flip": readBitFlip,
  pooled: readPooled,
  linear: readLinear,
};

export const MECHANISM_KINDS: readonly string[] = Object.keys(KINDS);

/** Reads the mechanism for one attribute. */
export const readMechanism = (data: unknown): Mechanism => {
  const isWave = isObject(data) && data.kind === "square-wave";
  must(!isWave, "kind", () => "square waves of plans are retired; the study must make its plan again");
  const kind = checkedKind(data, "a mechanism", MECHANISM_KINDS);
  return (KINDS[kind] as Reader)(data);
};
