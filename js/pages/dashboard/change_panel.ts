/** Says what changed since the round before. */

import type { Domain } from "../../src/index.js";
import type { Estimates, Mean, Row } from "../kit/api.js";
import { type Child, h } from "../kit/dom.js";
import { NOISY } from "../kit/phrases.js";
import { figured, signed } from "./readings.js";
import type { View } from "./results.js";
import { table } from "./tables.js";

const WIDEST = 0.5; // of the interval of a change, in shares or parts of a range: a wider one is not read

/** What changed since the round before. Kept answers make rounds depend on each other: both intervals add up. */
export function change(
  view: View,
  name: string,
  of: (estimates: Estimates) => readonly Row[],
  meanOf: (estimates: Estimates) => Mean | undefined,
): Child {
  const later = view.estimates;
  const number = later?.round ?? 1;
  const earlier = view.series
    .filter(({ round }) => (round ?? 1) < number)
    .sort((a, b) => (b.round ?? 1) - (a.round ?? 1))[0];
  if (!later || !earlier) return null;
  const before = new Map(of(earlier).map((row) => [row.value, row]));
  const points = (share: number): string => signed((100 * share).toFixed(1));
  const lines = of(later).flatMap((row) => {
    const old = before.get(row.value);
    if (!old) return [];
    const [by, low, high] = changeOf(old, row, 1);
    return [[String(row.value), high - low > WIDEST ? NOISY : points(by), points(low), points(high)]];
  });
  const [old, now] = [meanOf(earlier), meanOf(later)];
  const domain = view.plan.attributes.find((attribute) => attribute.name === name)?.domain;
  if (old && now && domain) {
    const reach = reachOf(domain);
    const [by, low, high] = changeOf(old, now, reach);
    const shown = { ...now, low, high };
    const figures = [by, low, high].map((figure) => figured(figure, shown));
    lines.push(["Mean", ...(high - low > WIDEST * reach ? [NOISY, ...figures.slice(1)] : figures)]);
  }
  const since = `Change since round ${earlier.round ?? 1}`;
  return h(
    "div",
    { class: "change" },
    h("h3", {}, since),
    h(
      "p",
      { class: "soft" },
      "In percentage points, or in the unit of the mean. The intervals hold whoever answered in each round.",
    ),
    table(`${since}: ${name}`, ["Value", "Change", "From", "To"], lines),
  );
}

type Unbiased = Pick<Row, "unbiased" | "unbiased_low" | "unbiased_high">;

/** The change of unbiased numbers with its ends, as `deniable estimate --change-from` has it, cut to what is possible. */
function changeOf(old: Unbiased, now: Unbiased, reach: number): [by: number, low: number, high: number] {
  const cut = (end: number): number => Math.max(-reach, Math.min(reach, end));
  return [
    cut(now.unbiased - old.unbiased),
    cut(now.unbiased_low - old.unbiased_high),
    cut(now.unbiased_high - old.unbiased_low),
  ];
}

/** The largest change of a mean that there can be: a number's range, or from the middle of the first bin to the last. */
function reachOf(domain: Domain): number {
  if (domain.kind === "number") return domain.high - domain.low;
  return domain.kind === "range" ? ((domain.bins - 1) * domain.step) / 10 ** domain.digits : 1;
}
