/** Explains the colors of a map of shares, and names the towns on it. */

import { type PlanMap, SIDE } from "../../src/plan/maps.js";
import { h, svg } from "../kit/dom.js";
import { LETTER, measureName, placeLabels, type View } from "../kit/map_labels.js";
import { NOISY } from "../kit/phrases.js";
import { percent } from "./readings.js";

const STEPS = [0, 0.25, 0.5, 0.75, 1]; // of the darkest share, in the legend
const SWATCH = 22; // pixels

/** From no share to the darkest one; gray, where some cells are too noisy, and a border, where some have one. */
export function legend(most: number, noisy: boolean, sure: boolean, blocks: boolean): HTMLElement {
  const swatch = (kind: string, dark: number | null): SVGElement =>
    svg(
      "svg",
      { class: "swatch", width: SWATCH, height: 14, "aria-hidden": "true" },
      svg("rect", { class: kind, x: 1, y: 1, width: SWATCH - 2, height: 12, "fill-opacity": dark }),
    );
  const what = blocks ? "Share of people in a block" : "Share of people in a cell";
  return h(
    "p",
    { class: "legend soft" },
    h(
      "span",
      {},
      `${what}: 0 % `,
      STEPS.map((dark) => swatch("cell", dark)),
      ` ${percent(most)}`,
    ),
    noisy && h("span", {}, swatch("cell noisy", null), ` ${NOISY}`),
    sure && h("span", {}, swatch("cell sure", 0), " surely above 0"),
  );
}

/** The towns of a map, with the names that have room beside what is written on it. */
export function townsOf(under: PlanMap, width: number, height: number, written: readonly View[]): SVGElement {
  const towns = (under.towns ?? []).map(({ name, x, y }) => ({
    name,
    at: [(x / SIDE) * width, (y / SIDE) * height] as const,
  }));
  const whole = { x: 0, y: 0, width, height };
  const placed = placeLabels(towns, whole, 1, LETTER, measureName, written);
  return svg(
    "g",
    { class: "towns" },
    placed.flatMap(({ name, x, y, dot: [cx, cy] }) => [
      svg("circle", { cx, cy, r: 3 }),
      svg("text", { x, y, "font-size": LETTER, "stroke-width": 3 }, name),
    ]),
  );
}
