/** Defines what metric mechanisms have in common. */

import type { Domain } from "../domains/domain.js";
import { must } from "../errors.js";
import type { Loss } from "../exact.js";
import type { Row } from "../randomness/words.js";
import { checkedList, threshold } from "../strict.js";
import type { Mechanism } from "./mechanism.js";

/** A mechanism whose loss is stated twice: per unit of distance, and for any two values (its ratio). */
export interface MetricMechanism extends Mechanism<number> {
  /** Words are all that it takes of a row. */
  encode(value: number, row: Pick<Row, "fresh">): number | Promise<number>;
  readonly unit: "step" | "kilometer";
  /** At most so much is lost about two values per unit of their distance. */
  perUnit(): Loss;
  /** Whether a domain has these values, in a line or on a grid. */
  fits(domain: Domain): boolean;
  /** Whether the distances that are taken for the loss are not longer than they are. */
  isShort(domain: Domain): boolean;
}

export const isMetric = (part: Mechanism): part is MetricMechanism => "perUnit" in part;

/** A list of numbers of words, not longer than `most`. */
export const table = (reason: string, data: unknown, what: string, most: number): readonly bigint[] => {
  const given = checkedList(data, what);
  must(given.length <= most, reason, () => `${what} has at most ${most} entries, got ${given.length}`);
  return given.map(threshold);
};

/** An entry that is known to be there. */
export const at = <T>(list: readonly T[], position: number): T => list[position] as T;

/** Something of each entry and the one after it. */
export const pairs = <T>(list: readonly bigint[], of: (one: bigint, next: bigint) => T): T[] =>
  list.slice(1).map((next, i) => of(at(list, i), next));
