/** Draws the area of a grid with its map, and takes the cell that a person chooses on it. */

import type { Grid } from "../../src/index.js";
import { type PlanMap, SIDE } from "../../src/plan/maps.js";
import { h, svg } from "../kit/dom.js";
import { findNear, LETTER, measureName, placeLabels, type View } from "../kit/map_labels.js";
import { outlineOf } from "../kit/map_outline.js";
import { t } from "../kit/messages.js";
import { cellName } from "./labels.js";

const [WIDEST, TALLEST] = [340, 260]; // pixels of the picture
const [WIDEST_MAP, TALLEST_MAP] = [620, 480]; // and of one with a map
const FINEST = 5; // and of a cell that is drawn
const TAPPED = 24; // and of one that can be tapped
const CLEAR = 40; // and of one after the first tap
const STEP = 1.6; // times larger with each click
const DEEPEST = 6; // times larger at least, where cells are large already

/** The picture, and how to show in it which cell is chosen. */
export interface Picture {
  readonly drawing: HTMLElement;
  show(code: number | null): void;
}

/**
 * The area with its cells, north at the top. People who do not see it, or have no pointer, do not need it: the
 * fields for coordinates take the same answer.
 */
export function picture(grid: Grid, map: PlanMap | undefined, choose: (code: number) => void): Picture {
  const { rows, columns } = grid;
  const [high, wide] = grid.meters; // so that it has the shape that it has on the ground
  const [widest, tallest] = map ? [WIDEST_MAP, TALLEST_MAP] : [WIDEST, TALLEST];
  const scale = Math.min(widest / (columns * wide), tallest / (rows * high));
  const [cell, tall] = [wide * scale, high * scale];
  const [width, height] = [cell * columns, tall * rows].map((length) => Math.max(FINEST, length)) as [
    number,
    number,
  ];
  const towns = (map?.towns ?? []).map(({ name, x, y }) => ({
    name,
    at: [(x / SIDE) * width, (y / SIDE) * height] as const,
  }));
  const lines = (many: number, size: number, line: (at: number) => string): string =>
    Array.from({ length: many - 1 }, (_, i) => line((i + 1) * size)).join("");
  const across = svg("path", { class: "lines", d: lines(columns, cell, (x) => `M${x} 0V${height}`) });
  const down = svg("path", { class: "lines", d: lines(rows, tall, (y) => `M0 ${y}H${width}`) });
  const chosen = svg("rect", {
    class: "chosen",
    width: Math.max(FINEST, cell),
    height: Math.max(FINEST, tall),
  });
  const names = svg("g", { class: "towns", "aria-hidden": "true" });
  const drawing = svg(
    "svg",
    {
      class: map ? "box mapped" : "box",
      width: width + 2,
      height: height + 2,
      role: "application",
      tabindex: 0,
      "aria-label": t("map_keys"),
    },
    svg("rect", { class: "ground", width, height }),
    map && outlineOf(map, width, height),
    across,
    down,
    chosen,
    names,
  );
  const where = h("p", { class: "soft", role: "status" });
  const whole: View = { x: -1, y: -1, width: width + 2, height: height + 2 };
  const closest = Math.max(DEEPEST, (2 * CLEAR) / Math.min(cell, tall));
  let [view, code] = [whole, null as number | null];

  /** How many units of the drawing a pixel has. */
  const unit = (): number => view.width / (drawing.getBoundingClientRect().width || whole.width);
  const draw = (): void => {
    drawing.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
    drawing.classList.toggle("zoomed", view.width < whole.width);
    across.toggleAttribute("hidden", cell / unit() < FINEST);
    down.toggleAttribute("hidden", tall / unit() < FINEST);
    inward.disabled = whole.width / view.width > closest * 0.99;
    outward.disabled = view.width === whole.width;
    const placed = placeLabels(towns, view, unit(), LETTER, measureName);
    names.replaceChildren(
      ...placed.flatMap(({ name, x, y, dot: [cx, cy] }) => [
        svg("circle", { cx, cy, r: 3 * unit() }),
        svg("text", { x, y, "font-size": LETTER * unit(), "stroke-width": 3 * unit() }, name),
      ]),
    );
  };
  /** Look at a part of the same shape, as much larger as said, and keep a point where it is. */
  const zoom = (times: number, [x, y] = middleOf(view)): void => {
    const next = Math.min(closest, Math.max(1, (whole.width / view.width) * times));
    const [smaller, lower] = [whole.width / next, whole.height / next];
    const [left, top] = [(x - view.x) / view.width, (y - view.y) / view.height];
    move({ x: x - left * smaller, y: y - top * lower, width: smaller, height: lower });
  };
  const move = (to: View): void => {
    const within = (at: number, size: number, most: number): number =>
      Math.min(most - size - 1, Math.max(-1, at));
    view = { ...to, x: within(to.x, to.width, whole.width), y: within(to.y, to.height, whole.height) };
    draw();
  };
  const point = (event: { readonly clientX: number; readonly clientY: number }): [number, number] => {
    const box = drawing.getBoundingClientRect();
    const [right, below] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return [view.x + right * view.width, view.y + below * view.height];
  };
  const tap = (event: MouseEvent): void => {
    const [x, y] = point(event);
    const pixels = Math.min(cell, tall) / unit();
    if (pixels < TAPPED && !inward.disabled) {
      zoom(CLEAR / pixels, [x, y]);
      where.textContent = t("map_zoomed");
      return;
    }
    const index = (part: number, many: number): number =>
      Math.min(many - 1, Math.max(0, Math.floor(part * many)));
    choose((rows - 1 - index(y / height, rows)) * columns + index(x / width, columns));
  };
  const step = (right: number, up: number): void => {
    const [x, y] = middleOf(view);
    const start = (rows - 1 - Math.min(rows - 1, Math.floor(y / tall))) * columns + Math.floor(x / cell);
    const from = code ?? start;
    const isNew = code === null;
    const column = Math.min(columns - 1, Math.max(0, (from % columns) + (isNew ? 0 : right)));
    const row = Math.min(rows - 1, Math.max(0, Math.floor(from / columns) + (isNew ? 0 : up)));
    choose(row * columns + column);
    const [left, top] = [column * cell, (rows - 1 - row) * tall];
    const reach = (at: number, size: number, first: number, long: number): number =>
      Math.min(at, Math.max(at + size - long, first));
    move({
      ...view,
      x: reach(left, cell, view.x, view.width),
      y: reach(top, tall, view.y, view.height),
    });
  };
  const keys: Readonly<Record<string, () => void>> = {
    "+": () => zoom(STEP),
    "=": () => zoom(STEP),
    "-": () => zoom(1 / STEP),
    ArrowLeft: () => step(-1, 0),
    ArrowRight: () => step(1, 0),
    ArrowUp: () => step(0, 1),
    ArrowDown: () => step(0, -1),
  };
  drawing.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  drawing.addEventListener(
    "wheel",
    (event) => {
      // a page that scrolls must not stop at the map: two fingers on a pad come with ctrl
      if (!event.ctrlKey && document.activeElement !== drawing) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), point(event));
    },
    { passive: false },
  );
  dragging(drawing, tap, {
    drag: (right, below) => move({ ...view, x: view.x - right * unit(), y: view.y - below * unit() }),
    pinch: (times, at) => zoom(times, point(at)),
    isZoomed: () => view.width < whole.width,
  });
  const button = (sign: string, label: string, times: number): HTMLButtonElement =>
    h("button", { type: "button", "aria-label": label, title: label, click: () => zoom(times) }, sign);
  const [inward, outward] = [button("+", t("zoom_in"), STEP), button("−", t("zoom_out"), 1 / STEP)];
  const show = (next: number | null): void => {
    code = next;
    chosen.toggleAttribute("hidden", code === null);
    where.textContent = code === null ? t("choose_cell") : sayCell(grid, map, code);
    if (code === null) return;
    chosen.setAttribute("x", String((code % columns) * cell));
    chosen.setAttribute("y", String((rows - 1 - Math.floor(code / columns)) * tall));
  };
  show(null);
  draw();
  new ResizeObserver(draw).observe(drawing);
  const below = h("div", { class: "zoom" }, inward, outward, where);
  return { drawing: h("figure", {}, drawing, below), show };
}

/** A cell in words; near a town, if there is one. */
export function sayCell(grid: Grid, map: PlanMap | undefined, code: number): string {
  const [cell, town] = [cellName(grid.label(code)), findNear(grid, map?.towns ?? [], code)];
  return town === null ? t("in_cell", { cell }) : t("in_cell_near", { cell, town });
}

const middleOf = ({ x, y, width, height }: View): [number, number] => [x + width / 2, y + height / 2];

interface Hands {
  drag(right: number, below: number): void;
  pinch(times: number, at: { readonly clientX: number; readonly clientY: number }): void;
  isZoomed(): boolean;
}

/** One finger moves what is zoomed, two zoom; what did not move is a tap. */
function dragging(drawing: SVGElement, tap: (event: MouseEvent) => void, hands: Hands): void {
  const down = new Map<number, PointerEvent>();
  let moved = 0; // pixels since the first finger came down
  const apart = (): number => {
    const [first, second] = [...down.values()] as [PointerEvent, PointerEvent];
    return Math.hypot(first.clientX - second.clientX, first.clientY - second.clientY);
  };
  drawing.addEventListener("pointerdown", (event) => {
    if (!down.size) moved = 0;
    down.set(event.pointerId, event);
  });
  drawing.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const [right, below] = [event.clientX - before.clientX, event.clientY - before.clientY];
    const wide = down.size === 2 ? apart() : 0;
    down.set(event.pointerId, event);
    moved += Math.hypot(right, below);
    if (wide) hands.pinch(apart() / wide, event);
    else if (down.size === 1 && hands.isZoomed() && moved > 4) {
      drawing.setPointerCapture(event.pointerId);
      hands.drag(right, below);
    }
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    drawing.addEventListener(end, (event) => down.delete((event as PointerEvent).pointerId));
  drawing.addEventListener("click", (event) => {
    if (moved <= 8) tap(event);
    moved = 0;
  });
}
