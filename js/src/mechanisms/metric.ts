/** Defines what metric mechanisms have in common. */

import type { Domain } from "../domains/domain.js";
import { must, NOT_CANONICAL } from "../errors.js";
import { type Loss, logUp } from "../exact.js";
import type { Row } from "../randomness/words.js";
import { checkedBoolean, checkedList, isObject, threshold } from "../strict.js";
import type { Mechanism } from "./mechanism.js";
import type { Repeated } from "./repeated.js";

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
  const entries = checkedList(data, what);
  must(entries.length <= most, reason, () => `${what} has at most ${most} entries, got ${entries.length}`);
  return entries.map(threshold);
};

/** An entry that is known to be there. */
export const at = <T>(list: readonly T[], position: number): T => list[position] as T;

/** Something of each entry and the one after it. */
export const pairs = <T>(list: readonly bigint[], of: (entry: bigint, next: bigint) => T): T[] =>
  list.slice(1).map((next, i) => of(at(list, i), next));

/**
 * A reader of a mechanism whose reports may be kept: then the report of a value is drawn once, and sent again in every
 * collection.
 */
export const readKept =
  (read: (data: unknown) => MetricMechanism) =>
  (data: unknown): MetricMechanism | (MetricMechanism & Repeated<number>) => {
    if (!isObject(data) || !("kept" in data)) return read(data);
    const { kept, ...plain } = data;
    const fresh = read(plain);
    must(checkedBoolean(kept), "canonical", () => `the plan ${NOT_CANONICAL}: what is not kept says nothing`);
    const { k, ratio, words, guess } = fresh;
    return {
      ...fresh,
      forever: ratio,
      ...(guess && { always: guess.chance }),
      losses: (rounds) => {
        const loss = logUp(ratio);
        // without fresh noise a changed value shows: there is no bound on what a sequence of changes gives away
        return [loss, loss, loss, rounds === 1 ? loss : null, loss * BigInt(Math.min(rounds, k))];
      },
      encode: async (value: number, row: Row) =>
        fresh.encode(value, { fresh: await row.recall(words, value) }),
    };
  };
