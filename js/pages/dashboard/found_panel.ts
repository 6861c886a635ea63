/** Draws the text that many people gave, with intervals, and says what may be wrong. */

import { type Child, h } from "../kit/dom.js";
import { count, several } from "../kit/phrases.js";
import { shares } from "./charts.js";
import type { Mode } from "./panels.js";
import { percent } from "./readings.js";
import type { Row } from "./results.js";
import { table } from "./tables.js";

/** What the collector found of one question. */
export interface Found {
  /** Everybody who reported. */
  readonly people: number;
  /** Reports of the group that decides. */
  readonly reports: number;
  /** The share of people at which a text is found about half of the time. */
  readonly limit: number;
  /** A text of fewer people, by its plain share, is not shown. */
  readonly least: number;
  /** What may be wrong, and what cannot be seen. */
  readonly sentences: readonly string[];
  readonly found: readonly {
    readonly value: string;
    readonly share: number;
    readonly low: number;
    readonly high: number;
    readonly low_at_once: number;
    readonly high_at_once: number;
    readonly people: number;
  }[];
}

/** The texts that were found, the most common first, and the sentences about them. */
export function found(
  name: string,
  { found: rows, people, least, sentences }: Found,
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
      method: "found",
      unbiased: share,
      stderr: 0,
      unbiased_low: low,
      unbiased_high: high,
      n: people,
    }),
  );
  const lines = rows.map((one) => [
    one.value,
    percent(one.share, 2),
    percent(one.low, 2),
    percent(one.high, 2),
    `${percent(one.low_at_once, 2)} to ${percent(one.high_at_once, 2)}`,
    one.people < least ? `fewer than ${count(least)}` : count(one.people),
  ]);
  const heads = ["Value", "Share", "From", "To", "All at once", "People"];
  return [
    h("h3", {}, heading),
    rows.length > 0 &&
      (mode === "tables" ? table(`Found of ${name}`, heads, lines) : shares(name, drawn, width)),
    sentences.map((sentence) => h("p", { class: "soft" }, sentence)),
  ];
}
