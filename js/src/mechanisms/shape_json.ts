/** Reads the set-valued shapes from a plan: integers and text, strictly. */

import { checkedFields, checkedInteger, checkedKind, threshold } from "../strict.js";
import type { Mechanism } from "./mechanism.js";
import { type Direct, direct, hadamard, hashed, packedSubset, subset, type Unary, unary } from "./shapes.js";

const SIZES = ["k", "size", "g"];

// biome-ignore lint/suspicious/noExplicitAny: each is called with just the checked fields of its row
type Make = (...numbers: any[]) => Mechanism;

const SHAPES: Readonly<Record<string, readonly [Make, ...string[]]>> = {
  direct: [direct, "k", "keep"],
  unary: [unary, "k", "one", "zero"],
  subset: [subset, "k", "size", "keep"],
  "packed-subset": [packedSubset, "k", "size", "keep"],
  hashed: [hashed, "k", "g", "keep"],
  hadamard: [hadamard, "k", "keep"],
};

export const SHAPE_KINDS: readonly string[] = Object.keys(SHAPES);

/** Reads a shape of one of these kinds. */
export const readShape = (data: unknown, kinds: readonly string[] = SHAPE_KINDS): Mechanism => {
  const kind = checkedKind(data, "a mechanism", kinds);
  const [make, ...names] = SHAPES[kind] as (typeof SHAPES)[string];
  const fields = checkedFields(data, `a ${kind} mechanism`, ["kind", ...names]);
  return make(
    ...names.map((name) =>
      SIZES.includes(name) ? checkedInteger(fields[name], name) : threshold(fields[name]),
    ),
  );
};

/** Reads a direct or a unary shape, of which a mechanism for repeated collections has two. */
export const readRound = (data: unknown): Direct | Unary =>
  readShape(data, ["direct", "unary"]) as unknown as Direct | Unary;
