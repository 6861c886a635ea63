/** Draws shares on a grid: darker cells or blocks have larger shares. */

import type { Grid } from "../../src/index.js";
import type { PlanMap } from "../../src/plan/maps.js";
import type { Row } from "../kit/api.js";
import { h, svg } from "../kit/dom.js";
import type { View } from "../kit/map_labels.js";
import { outlineOf } from "../kit/map_outline.js";
import { NOISY } from "../kit/phrases.js";
import { legend, townsOf } from "./map_legend.js";
import { percent, spoken } from "./readings.js";

const TALLEST = 420;
const WORDS = 60; // pixels across that the numbers of a block take
const SIDE = 4; // blocks in either direction, as the collector makes them

/** Where neighboring rows or columns are put together: at most four parts, whose sizes differ by one at most. */
export function evenEnds(size: number): number[] {
  const parts = Math.ceil(size / Math.ceil(size / SIDE));
  return Array.from({ length: parts + 1 }, (_, part) => Math.floor((size * part) / parts));
}

/** A part of the map: its first row and column from the south-west, and how many of each it has. */
interface Box {
  readonly row: Row;
  readonly south: number;
  readonly west: number;
  readonly tall: number;
  readonly wide: number;
}

/** Single cells, or blocks of them, in the order of the rows. */
function boxesOf(rows: readonly Row[], grid: Grid, blocks: boolean): Box[] {
  const line = (size: number): number[] =>
    blocks ? evenEnds(size) : Array.from({ length: size + 1 }, (_, i) => i);
  const [down, across] = [line(grid.rows), line(grid.columns)];
  const wide = across.length - 1;
  return rows.slice(0, (down.length - 1) * wide).map((row, i) => {
    const [south, west] = [Math.floor(i / wide), i % wide];
    const at = (ends: number[], part: number): [number, number] => {
      const start = ends[part] as number;
      return [start, (ends[part + 1] as number) - start];
    };
    const [first, tall] = at(down, south);
    const [left, columns] = at(across, west);
    return { row, south: first, west: left, tall, wide: columns };
  });
}

/**
 * The map, as wide as there is room, with north at the top. Rows are in the order of the cells, or of blocks
 * of them, in which their shares are written. What the survey draws under the cells is drawn here too.
 */
export function map(
  name: string,
  rows: readonly Row[],
  grid: Grid,
  width: number,
  level: number,
  blocks: boolean,
  under?: PlanMap,
): HTMLElement {
  const [high, broad] = grid.meters; // so that it has the shape that it has on the ground
  const scale = Math.min((width - 4) / (grid.columns * broad), TALLEST / (grid.rows * high));
  const [cell, tall] = [broad * scale, high * scale];
  const isAbove = ({ low_together: low }: Row): boolean => (low ?? 0) > 0;
  const clear = rows.filter(({ noisy }) => !noisy);
  const parts = boxesOf(rows, grid, blocks);
  const peak = Math.max(...clear.map(({ share }) => share), 0);
  const most = Math.max(peak, 2 / parts.length); // else the only one that can be read would be the darkest
  const boxes = parts.map(({ row, ...box }) => {
    const [x, y] = [box.west * cell, (grid.rows - box.south - box.tall) * tall];
    const [w, t] = [box.wide * cell, box.tall * tall];
    const dark = row.noisy ? 0 : Math.max(0, row.share / most);
    const words = (text: string, dy: number, small: boolean): SVGElement =>
      svg(
        "text",
        {
          class: `block${dark > 0.7 ? " light" : ""}${small ? " small" : ""}`,
          x: (x + w / 2).toFixed(2),
          y: (y + t / 2 + dy).toFixed(2),
        },
        text,
      );
    return [
      svg(
        "rect",
        {
          class: `cell${isAbove(row) ? " sure" : ""}${row.noisy ? " noisy" : ""}`,
          x: (x + 1).toFixed(2),
          y: (y + 1).toFixed(2),
          width: Math.max(1, w - 1).toFixed(2),
          height: Math.max(1, t - 1).toFixed(2),
          "fill-opacity": row.noisy ? null : dark.toFixed(3),
        },
        svg("title", {}, spoken(row)),
      ),
      ...(blocks
        ? [
            words(row.noisy ? "noisy" : percent(row.share, 0), -1, false),
            words(`${percent(row.low, 0).replace(" %", "")} to ${percent(row.high, 0)}`, 13, true),
          ]
        : []),
    ];
  });
  const above = rows.filter(isAbove);
  const largest = [...above].sort((a, b) => b.share - a.share).slice(0, 3);
  const [across, down] = [cell * grid.columns, tall * grid.rows];
  const outline = under ? outlineOf(under, across, down) : [];
  const written = blocks ? parts.map(wordsIn) : [];
  const drawing = svg(
    "svg",
    {
      class: "map",
      role: "img",
      "aria-label": `Estimates of ${name}`,
      width: (across + 2).toFixed(1),
      height: (down + 2).toFixed(1),
    },
    svg("desc", {}, rows.map(spoken).join("; ")),
    boxes.map(([box]) => box),
    under?.lines !== undefined && outline, // over cells, which would hide it, and under words
    boxes.flatMap(([, ...words]) => words),
    under && townsOf(under, across, down, written),
  );
  const confidence = `${Number((100 * level).toFixed(3))} % confidence`;
  const corner = (latitude: number, longitude: number): string =>
    `${Math.abs(latitude)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude)}° ${longitude < 0 ? "W" : "E"}`;
  const ends = `From ${corner(grid.south, grid.west)} to ${corner(grid.north, grid.east)}.`;
  return h(
    "figure",
    {},
    drawing,
    legend(most, clear.length < rows.length, above.length > 0, blocks),
    h("figcaption", { class: "soft" }, `${ends} ${blocks ? ofBlocks() : ofCells()}`),
  );

  /** Where the numbers of a block stand. */
  function wordsIn({ south, west, tall: high, wide }: Box): View {
    const [x, y] = [(west + wide / 2) * cell, (grid.rows - south - high / 2) * tall];
    return { x: x - WORDS / 2, y: y - 14, width: WORDS, height: 30 };
  }

  function ofBlocks(): string {
    return `Each block has its share, and its interval with ${confidence}.${gray()} The downloads have every cell.`;
  }

  function gray(): string {
    return clear.length < rows.length ? ` Gray is ${NOISY}.` : "";
  }

  function ofCells(): string {
    const bordered = above.length;
    const sure = bordered
      ? `With ${confidence}, ${bordered === 1 ? "the cell with a border is" : `all ${bordered} cells with a border are`} above 0: these intervals are wider than those of single cells, so that all ${rows.length} hold at once.`
      : `With ${confidence} for all ${rows.length} cells at once, no cell is certainly above 0 yet.`;
    const which = bordered > largest.length ? "The largest of these" : "They are";
    const note = bordered
      ? ` ${which}, each with its own interval: ${largest.map(spoken).join("; ")}.`
      : clear.length
        ? ""
        : ` Every cell is ${NOISY}.`;
    return `${clear.length ? `The largest share is ${percent(peak)}. ` : ""}${sure}${note}${gray()}`;
  }
}
