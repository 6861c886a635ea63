/** Draws shares on a grid: darker cells have larger shares, and cells with a border are above 0. */

import type { Grid } from "../src/index.js";
import { percent, spoken } from "./charts.js";
import { h, svg } from "./dom.js";
import type { Row } from "./results.js";

const TALLEST = 420;

/** The map, as wide as there is room, with north at the top; rows are in the order of the cells. */
export function map(
  name: string,
  rows: readonly Row[],
  grid: Grid,
  width: number,
  level: number,
): HTMLElement {
  const [high, wide] = grid.meters; // so that it has the shape that it has on the ground
  const scale = Math.min((width - 4) / (grid.columns * wide), TALLEST / (grid.rows * high));
  const [cell, tall] = [wide * scale, high * scale];
  const isAbove = ({ low_together: low }: Row): boolean => low !== undefined && low > 0;
  const most = Math.max(...rows.map(({ frequency }) => frequency), 1e-9);
  const cells = rows.slice(0, grid.k).map((row, code) =>
    svg(
      "rect",
      {
        class: isAbove(row) ? "cell sure" : "cell",
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
  const bordered = rows.filter(isAbove).length;
  const confidence = `${Number((100 * level).toFixed(3))} % confidence`;
  const sure = bordered
    ? `With ${confidence}, ${bordered === 1 ? "the cell with a border is" : `all ${bordered} cells with a border are`} above 0: these intervals are wider than those of single cells, so that all ${rows.length} hold at once.`
    : `With ${confidence} for all ${rows.length} cells at once, no cell is certainly above 0 yet.`;
  const corner = (latitude: number, longitude: number): string =>
    `${Math.abs(latitude)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude)}° ${longitude < 0 ? "W" : "E"}`;
  return h(
    "figure",
    {},
    drawing,
    h(
      "figcaption",
      { class: "soft" },
      `From ${corner(grid.south, grid.west)} to ${corner(grid.north, grid.east)}. The largest share is ${percent(most)}. ${sure} The largest cells, each with its own interval: ${largest.map(spoken).join("; ")}.`,
    ),
  );
}
