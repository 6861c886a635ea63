/** Places the names of towns on a map, so that no two overlap, and finds the town that a cell is near. */

import type { Grid } from "../../src/index.js";
import { SIDE, type Town } from "../../src/plan/maps.js";

/** The part of a drawing that is shown, in its own units. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A name and where its first letter stands, in the units of the drawing; `dot` is the town itself. */
export interface Label {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly dot: readonly [number, number];
}

export const LETTER = 13; // pixels of a name's letters
const GAP = 6; // pixels between a dot and its name

/**
 * The names that have room in a view, those that are first in the plan first. `at` has each town in the units
 * of the drawing, of which a pixel has `unit`; `measure` says how wide a name is in pixels; no name is
 * put where something is `written` already.
 */
export function placeLabels(
  towns: readonly { readonly name: string; readonly at: readonly [number, number] }[],
  view: View,
  unit: number,
  size: number,
  measure: (name: string) => number,
  written: readonly View[] = [],
): Label[] {
  const taken: View[] = [...written];
  const labels: Label[] = [];
  for (const { name, at } of towns) {
    const [x, y] = at;
    if (!holds(view, { x, y, width: 0, height: 0 })) continue;
    const [width, height, gap] = [measure(name) * unit, size * unit, GAP * unit];
    const left = [x + gap, x - gap - width, x - width / 2, x - width / 2];
    const top = [y - height / 2, y - height / 2, y - gap - height, y + gap];
    for (const [i, corner] of left.entries()) {
      const box = { x: corner, y: top[i] as number, width, height };
      if (!holds(view, box) || taken.some((other) => overlaps(box, other))) continue;
      // a name does not cover the dot of a town that has its own
      taken.push(box, { x: x - gap / 2, y: y - gap / 2, width: gap, height: gap });
      labels.push({ name, x: box.x, y: box.y + 0.8 * height, dot: at });
      break;
    }
  }
  return labels;
}

/** How wide a name is in pixels. */
export const measureName = (name: string): number => {
  const ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) return 0.62 * LETTER * name.length;
  ruler.font = `600 ${LETTER}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(name).width + 2;
};

const holds = (view: View, box: View): boolean =>
  box.x >= view.x &&
  box.y >= view.y &&
  box.x + box.width <= view.x + view.width &&
  box.y + box.height <= view.y + view.height;

const overlaps = (a: View, b: View): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** The town that a cell is near: the nearest one, if it is at most two cells or a tenth of the box away. */
export function findNear(grid: Grid, towns: readonly Town[], code: number): string | null {
  const [high, wide] = grid.meters;
  const [down, across] = [high * grid.rows, wide * grid.columns];
  const [column, row] = [code % grid.columns, grid.rows - 1 - Math.floor(code / grid.columns)];
  const away = ({ x, y }: Town): number =>
    Math.hypot(
      ((column + 0.5) / grid.columns - x / SIDE) * across,
      ((row + 0.5) / grid.rows - y / SIDE) * down,
    );
  const [nearest] = [...towns].sort((a, b) => away(a) - away(b));
  const most = Math.max(2 * Math.max(high, wide), Math.max(down, across) / 10);
  return nearest && away(nearest) <= most ? nearest.name : null;
}
