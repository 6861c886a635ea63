/** Draws the text that many people gave, with intervals, and says what may be wrong. */

import type { Discovered, Row } from "../kit/api.js";
import { type Child, h } from "../kit/dom.js";
import { count, several } from "../kit/phrases.js";
import { shares } from "./charts.js";
import type { Mode } from "./panels.js";
import { percent } from "./readings.js";
import { table } from "./tables.js";

/** The texts that were found, the most common first, and the sentences about them. */
export function showFound(
  name: string,
  { found: rows, people, least, sentences }: Discovered,
  mode: Mode,
  width: number,
): Child {
  const heading = rows.length ? `${several(rows.length, "value")} found` : "Nothing was found";
  const drawn = rows.map(
    ({ value, share, low, high, people: many }): Row => ({
      attribute: name,
      value,
      share,
      low,
      high,
      count: many,
      noisy: false,
      moved_from: null,
      method: "found",
      unbiased: share,
      stderr: 0,
      unbiased_low: low,
      unbiased_high: high,
      n: people,
    }),
  );
  const lines = rows.map((row) => [
    row.value,
    percent(row.share, 2),
    percent(row.low, 2),
    percent(row.high, 2),
    `${percent(row.low_at_once, 2)} to ${percent(row.high_at_once, 2)}`,
    row.people < least ? `fewer than ${count(least)}` : count(row.people),
  ]);
  const heads = ["Value", "Share", "From", "To", "All at once", "People"];
  return [
    h("h3", {}, heading),
    rows.length > 0 &&
      (mode === "tables" ? table(`Found of ${name}`, heads, lines) : shares(name, drawn, width)),
    sentences.map((sentence) => h("p", { class: "soft" }, sentence)),
  ];
}
