/** Adds up what the attributes of a record lose in many reports, for one plan or for several. */

import type { Loss } from "../exact.js";
import { FIGURES } from "../mechanisms/repeated.js";
import type { RecordMechanism } from "../records/records.js";

/** Figures in their order; null where there is no bound. */
export type FigureRow = readonly (Loss | null)[];

/** What all reports to plans that continue each other give away. */
export interface Together {
  /** The figures of all plans; null where there is one plan. */
  readonly losses: FigureRow | null;
  /** Those of each attribute. */
  readonly byAttribute: readonly FigureRow[];
  /** Billionths that each figure of the last plan is more, where kept values may have turned. */
  readonly bias: bigint;
}

/** The figures of a record, from those of its attributes. */
export const recordLosses = (
  mechanism: RecordMechanism,
  each: readonly FigureRow[],
  rounds: number,
): FigureRow => {
  const byPart = new Map(mechanism.mechanisms.map((part, j) => [part, each[j] as FigureRow]));
  return FIGURES.map((_, i) =>
    each.every((figures) => figures[i] !== null)
      ? mechanism.loss((part) => byPart.get(part)?.[i] ?? 0n, false, [i, rounds])
      : null,
  );
};
