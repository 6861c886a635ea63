/** Says what changed since the round before. */

import { type Child, h } from "./dom.js";
import { figured, NOISY, signed } from "./readings.js";
import type { Estimates, Mean, Row, View } from "./results.js";
import { table } from "./tables.js";

const WIDEST = 0.5; // of the interval of a change, in shares: a wider one is not read

/** What changed since the round before. Kept answers make rounds depend on each other: both intervals add up. */
export function change(
  view: View,
  name: string,
  of: (found: Estimates) => readonly Row[],
  meanOf: (found: Estimates) => Mean | undefined,
): Child {
  const later = view.estimates;
  const number = later?.round ?? 1;
  const earlier = view.series
    .filter(({ round }) => (round ?? 1) < number)
    .sort((one, other) => (other.round ?? 1) - (one.round ?? 1))[0];
  if (!later || !earlier) return null;
  const before = new Map(of(earlier).map((row) => [row.value, row]));
  const points = (share: number): string => signed((100 * share).toFixed(1));
  const lines = of(later).flatMap((row) => {
    const old = before.get(row.value);
    if (!old) return [];
    // of unbiased shares, as `deniable estimate --change-from` has it, cut to what is possible
    const ends = [
      row.unbiased - old.unbiased,
      row.unbiased_low - old.unbiased_high,
      row.unbiased_high - old.unbiased_low,
    ].map((one) => Math.max(-1, Math.min(1, one)));
    const [by = 0, low = 0, high = 0] = ends;
    return [[row.value, high - low > WIDEST ? NOISY : points(by), points(low), points(high)]];
  });
  const [old, now] = [meanOf(earlier), meanOf(later)];
  if (old && now)
    lines.push([
      "Mean",
      ...[
        now.unbiased - old.unbiased,
        now.unbiased_low - old.unbiased_high,
        now.unbiased_high - old.unbiased_low,
      ].map((one) => figured(one, now)),
    ]);
  const since = `Change since round ${earlier.round ?? 1}`;
  return h(
    "details",
    { class: "change" },
    h("summary", { "data-name": `change in ${name}` }, since),
    h(
      "p",
      { class: "soft" },
      "In percentage points, or in the unit of the mean. The intervals hold whoever answered in each round.",
    ),
    table(`${since}: ${name}`, ["Value", "Change", "From", "To"], lines),
  );
}
