/** Draws what lies under the cells of a grid: the lines of a plan's map. */

import { type PlanMap, SIDE } from "../../src/plan/maps.js";
import { svg } from "./dom.js";

/** The drawing of a map, as wide and as high as said. */
export function outlineOf({ lines }: PlanMap, width: number, height: number): SVGElement[] {
  if (lines === undefined) return [];
  const [across, down] = [width / SIDE, height / SIDE];
  const point = (line: readonly number[], i: number): string =>
    `${((line[i] as number) * across).toFixed(2)} ${((line[i + 1] as number) * down).toFixed(2)}`;
  const path = (line: readonly number[]): string =>
    `M${Array.from({ length: line.length / 2 }, (_, i) => point(line, 2 * i)).join("L")}`;
  return [svg("path", { class: "outline", d: lines.map(path).join("") })];
}
