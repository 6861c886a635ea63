/** Keeps reports of metric values: the report of a value is drawn once, and sent again in every collection. */

import { must, NOT_CANONICAL } from "../errors.js";
import { logUp } from "../exact.js";
import type { Row } from "../randomness/words.js";
import { checkedBoolean, isObject } from "../strict.js";
import type { MetricMechanism } from "./metric.js";
import type { Repeated } from "./repeated.js";

/** A reader of a mechanism, and of the same with reports that are kept. */
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
