/** Shows how one answer depends on another that was asked together with it. */

import type { Plan } from "../../src/index.js";
import { isFull, type Mechanism } from "../../src/mechanisms/mechanism.js";
import type { Cross, Row } from "../kit/api.js";
import { askJson } from "../kit/collector.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { NOISY, sentence, several } from "../kit/phrases.js";
import { shares } from "./charts.js";
import type { Mode } from "./panels.js";
import { percent } from "./readings.js";
import { inRound } from "./results.js";
import { table } from "./tables.js";

/** One question by another. */
export interface Pair {
  readonly of: string;
  readonly by: string;
}

/** Every table that reports hold, with either question in the rows. */
export function pairsOf({ attributes, known, mechanisms }: Plan): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const [j, attribute] of attributes.entries()) {
    const isGrouped = attribute.answers === null && !isFull(mechanisms[j] as Mechanism);
    for (const by of isGrouped ? (known?.names ?? []) : [])
      for (const of of attribute.columns) pairs.set(JSON.stringify([of, by]), { of, by });
  }
  for (const { columns } of attributes)
    for (const [i, by] of columns.entries())
      for (const of of columns.slice(i + 1))
        for (const pair of [
          { of, by },
          { of: by, by: of },
        ])
          pairs.set(JSON.stringify([pair.of, pair.by]), pair);
  return [...pairs.values()];
}

/** Ask the collector for a table of a round. */
export function fetchCross(
  plan: Plan,
  { of, by }: Pair,
  round: number,
  { level, weights, token }: { readonly level: string; readonly weights: string; readonly token: string },
): Promise<Cross> {
  const query = new URLSearchParams({ of, by, level, weights });
  return askJson<Cross>(`plans/${plan.id}/cross?${inRound(round)}${query}`, { token });
}

/** Whether the answers depend on each other, or changed; what experts ask for is folded. */
export function tested({ sentence: text, statistic, degrees }: Cross["test"]): Child {
  return [
    h("p", { class: "test" }, sentence(text)),
    degrees > 0 &&
      h(
        "details",
        { class: "more" },
        h("summary", { "data-name": "test-more" }, "More"),
        h(
          "p",
          { class: "soft" },
          `Chi-square ${statistic.toFixed(2)}, ${several(degrees, "degree")} of freedom.`,
        ),
      ),
  ];
}

/** A table: for each row, the share of its people with each answer; as a drawing, of one answer. */
export function cross(counts: Cross, column: string, mode: Mode, width: number): Child {
  const { of, by, n, rows, columns, cells, note, weighted, cautions, test } = counts;
  const cell = (row: string, answer: string): Cross["cells"][number] | undefined =>
    cells.find((each) => each.row === row && each.column === answer);
  const spoken = (row: string, answer: string): string => {
    const part = cell(row, answer);
    if (!part?.known || part.share === null) return NOISY;
    return `${percent(part.shown, 1)} (${percent(part.low, 1)} to ${percent(part.high, 1)})`;
  };
  const drawn = rows.flatMap((row): Row[] => {
    const part = cell(row, column);
    if (!part) return [];
    const { low, high, known, shown: share } = part;
    const figures = { share, low, high, unbiased: share, unbiased_low: low, unbiased_high: high };
    const noisy = !known || part.share === null;
    return [
      { ...figures, attribute: of, value: row, count: 0, noisy, method: "", stderr: 0, moved_from: null, n },
    ];
  });
  return [
    h(
      "p",
      { class: "soft" },
      `Of the people in each row of ${by}, the share with each answer to ${of}; ${several(n, "report")} hold both.`,
    ),
    Object.entries(counts.questions).map(([name, text]) =>
      h("p", { class: "soft asked" }, quoted(name), ": ", quoted(text)),
    ),
    mode === "tables"
      ? table(
          `${of} by ${by}`,
          [by, ...columns],
          rows.map((row) => [row, ...columns.map((answer) => spoken(row, answer))]),
        )
      : shares(`${of}: ${column}, by ${by}`, drawn, width),
    [weighted, ...cautions, note].filter(Boolean).map((text) => h("p", { class: "soft" }, sentence(text))),
    tested(test),
  ];
}
