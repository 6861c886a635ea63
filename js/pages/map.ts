/** Shares of places on their grid: the fuller a cell, the larger its share; a border where it is surely above 0. */

import type { Grid } from "../src/index.js";
import { percent, spoken } from "./charts.js";
import { h, svg } from "./dom.js";
import type { Row } from "./results.js";

const TALLEST = 420;

/** The map, as wide as there is room, with north at the top; rows are in the order of the cells. */
export function map(name: string, rows: readonly Row[], grid: Grid, width: number): HTMLElement {
  const [high, wide] = grid.meters; // so that it has the shape that it has on the ground
  const scale = Math.min((width - 4) / (grid.columns * wide), TALLEST / (grid.rows * high));
  const [cell, tall] = [wide * scale, high * scale];
  const most = Math.max(...rows.map(({ frequency }) => frequency), 1e-9);
  const cells = rows.slice(0, grid.k).map((row, code) =>
    svg(
      "rect",
      {
        class: row.low > 0 ? "cell sure" : "cell",
        x: ((code % grid.columns) * cell + 1).toFixed(2),
        y: ((grid.rows - 1 - Math.floor(code / grid.columns)) * tall + 1).toFixed(2),
        width: Math.max(1, cell - 1).toFixed(2),
        height: Math.max(1, tall - 1).toFixed(2),
        "fill-opacity": Math.max(0, row.frequency / most).toFixed(3),
      },
      svg("title", {}, spoken(row)),
    ),
  );
  const largest = [...rows].sort((one, other) => other.frequency - one.frequency).slice(0, 3);
  const drawing = svg(
    "svg",
    {
      class: "map",
      role: "img",
      "aria-label": `Estimates of ${name}`,
      width: (cell * grid.columns + 2).toFixed(1),
      height: (tall * grid.rows + 2).toFixed(1),
    },
    svg("desc", {}, rows.map(spoken).join("; ")),
    cells,
  );
  const corner = (latitude: number, longitude: number): string =>
    `${Math.abs(latitude)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude)}° ${longitude < 0 ? "W" : "E"}`;
  return h(
    "figure",
    {},
    drawing,
    h(
      "figcaption",
      { class: "soft" },
      `From ${corner(grid.south, grid.west)} to ${corner(grid.north, grid.east)}. The fullest cell has ${percent(most)}; those with a border are surely above 0. The largest: ${largest.map(spoken).join("; ")}.`,
    ),
  );
}
