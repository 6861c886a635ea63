/** Draws estimates. Every drawing has a text that says the same, and a table to replace it. */

import {
  areaY,
  axisX,
  axisY,
  barX,
  dot,
  lineY,
  type Markish,
  plot,
  ruleX,
  ruleY,
  text,
  tickX,
} from "@observablehq/plot";
import type { DayLine, Days, Mean, Row } from "../kit/api.js";
import { h, quoted } from "../kit/dom.js";
import { count } from "../kit/phrases.js";
import { around, moved, percent, signed, spoken, within } from "./readings.js";

const ROW = 46; // pixels for one value
const LINE = 18; // and for another line of text
const NUMBERS = 190; // the width of what is said of a value
const MOVED = 110; // and of how far its share was moved, where it was
export const MOST_ROWS = 16;
const MOST_SMALL = 8;
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5]; // between the marks of a scale of shares

const TEXT = "var(--ink)";
const SOFT = "var(--soft)";
const GRID = "var(--line)";
const MAIN = "var(--accent)";
const STRONG = "var(--accent-strong)";

/** A value in each row: its share as a bar, the interval on it. Those of a long list that are largest. */
export function shares(name: string, rows: readonly Row[], width: number): HTMLElement {
  const shown = rows.length > MOST_ROWS ? largest(rows, MOST_ROWS) : rows;
  const where = { y: "value" } as const;
  const label = { fill: TEXT, stroke: "var(--card)", strokeWidth: 4, fontSize: 14 } as const;
  // letters of a name that fit next to the numbers; longer ones get a line of their own
  const said = (row: Row): string => [within(row), !row.noisy && moved(row)].filter(Boolean).join(", ");
  const numbers = NUMBERS + (shown.some((row) => !row.noisy && moved(row)) ? MOVED : 0);
  const room = (width - numbers) / 7;
  const more = shown.some((row) => String(row.value).length > room) ? LINE : 0;
  const below = 25 + more; // names and numbers have lines of their own, which no other line crosses
  const scale = outward(reach(shown));
  const clear = shown.filter(({ noisy }) => !noisy);
  const stroke = ({ noisy }: Row): string => (noisy ? SOFT : STRONG);
  const marks = marksOn(scale, Math.max(3, Math.round(width / 90)));
  const grid = shown.flatMap(({ value }) => marks.map((at) => ({ value, at })));
  const drawing = drawn(
    {
      width,
      height: shown.length * (ROW + more) + 26,
      marginLeft: 6,
      marginRight: 10,
      marginTop: 0,
      marginBottom: 26,
      x: { domain: scale },
      y: { type: "band", domain: shown.map((row) => row.value), padding: 0 },
    },
    [
      tickX(grid, { ...where, x: "at", stroke: GRID, insetTop: below }),
      axisX(marks, {
        label: null,
        tickSize: 0,
        tickFormat: (share: number) => percent(share, 0),
        fill: SOFT,
      }),
      barX(clear, {
        ...where,
        x1: 0,
        x2: "share",
        fill: MAIN,
        fillOpacity: 0.24,
        insetTop: below,
        insetBottom: 7,
        rx: 2,
        clip: true,
      }),
      tickX(shown, { ...where, x: () => 0, stroke: SOFT, insetTop: below }),
      ruleY(shown, {
        ...where,
        x1: "low",
        x2: "high",
        stroke,
        strokeWidth: 2,
        dy: 9 + more / 2,
        clip: true,
      }),
      ["low", "high"].map((x) =>
        tickX(shown, {
          ...where,
          x,
          stroke,
          strokeWidth: 2,
          insetTop: below + 2,
          insetBottom: 9,
          clip: true,
        }),
      ),
      dot(clear, {
        ...where,
        x: "share",
        r: 4,
        fill: STRONG,
        dy: 9 + more / 2,
        title: spoken,
        clip: true,
      }),
      text(shown, {
        ...where,
        text: "value",
        frameAnchor: "left",
        textAnchor: "start",
        dx: 6,
        dy: -9 - more / 2,
        ...label,
        lineWidth: (width - (more ? 20 : numbers)) / 14,
        textOverflow: "ellipsis",
      }),
      text(shown, {
        ...where,
        text: said,
        frameAnchor: "right",
        textAnchor: "end",
        dy: -9 + more / 2,
        ...label,
        fontVariant: "tabular-nums",
      }),
    ],
  );
  const others =
    rows.length > shown.length
      ? `The ${shown.length} largest of ${rows.length} values; the table has all.`
      : "";
  return figure(drawing, `Estimates of ${name}`, shown.map(spoken).join("; "), others);
}

/** For long ordered lists: the shares as a line, the intervals as a band. */
export function profile(name: string, rows: readonly Row[], width: number): HTMLElement {
  const numbered = rows.map((row, i) => ({ ...row, i }));
  const every = Math.ceil(rows.length / Math.max(3, Math.round(width / 90)));
  const drawing = drawn(
    {
      width,
      height: 280,
      marginLeft: 44,
      marginRight: 16,
      marginTop: 14,
      marginBottom: 30,
      x: { type: "linear", domain: [0, rows.length - 1] },
      y: { domain: reach(rows), nice: true },
    },
    [
      axisY({
        label: null,
        tickFormat: (share: number) => percent(share, 0),
        tickSize: 0,
        fill: SOFT,
        ticks: 5,
      }),
      axisX(
        numbered.filter(({ i }) => i % every === 0).map(({ i }) => i),
        {
          label: null,
          tickSize: 4,
          fill: SOFT,
          tickFormat: (i: number) => String(rows[i]?.value ?? "").split(" to ")[0] ?? "",
        },
      ),
      ruleY([0], { stroke: SOFT }),
      areaY(numbered, { x: "i", y1: "low", y2: "high", fill: MAIN, fillOpacity: 0.22, clip: true }),
      lineY(numbered, { x: "i", y: "share", stroke: STRONG, strokeWidth: 2, clip: true }),
    ],
  );
  return figure(drawing, `Estimates of ${name}`, rows.map(spoken).join("; "), "");
}

/** A mean with its interval, on a line from the lowest number to the highest. */
export function mean(estimate: Mean, low: number, high: number, width: number): HTMLElement {
  const ends = [Math.min(low, estimate.low), Math.max(high, estimate.high)];
  const drawing = drawn(
    {
      width,
      height: 66,
      marginLeft: 20,
      marginRight: 20,
      marginTop: 6,
      marginBottom: 28,
      x: { domain: ends },
    },
    [
      axisX({
        label: null,
        ticks: Math.max(2, Math.round(width / 110)),
        tickSize: 4,
        fill: SOFT,
        tickFormat: (number: number) => signed(count(number)),
      }),
      ruleY([0], { x1: low, x2: high, stroke: GRID, strokeWidth: 10, strokeLinecap: "round" }),
      ruleY([0], { x1: estimate.low, x2: estimate.high, stroke: STRONG, strokeWidth: 3 }),
      dot([0], { x: estimate.mean, y: 0, r: 5, fill: STRONG }),
    ],
  );
  return figure(drawing, `The mean of ${estimate.attribute}`, around(estimate), "");
}

/** A mean with more reports, or from round to round. */
export function means(
  title: string,
  along: readonly (Mean & { readonly at: number })[],
  width: number,
  kind: Kind,
): HTMLElement {
  const position = positionOf(kind);
  const [first, end] = [along[0]?.at ?? 0, along.at(-1)?.at ?? 1];
  const wide = Math.min(width, 420);
  const drawing = drawn(
    {
      width: wide,
      height: 150,
      marginLeft: 64,
      marginRight: 20,
      marginTop: 10,
      marginBottom: 24,
      x: { type: "linear", domain: [position(first), position(Math.max(end, first + 1))] },
      y: { nice: true },
    },
    [
      axisY({
        label: null,
        ticks: 4,
        tickSize: 0,
        fill: SOFT,
        tickFormat: (tick: number) => signed(count(tick)),
      }),
      axisX((first === end ? [first] : [first, end]).map(position), {
        label: null,
        tickSize: 0,
        tickFormat: (_: number, i: number) => short(i ? end : first),
        fill: SOFT,
      }),
      areaY(along, {
        x: ({ at }: { at: number }) => position(at),
        y1: "low",
        y2: "high",
        fill: MAIN,
        fillOpacity: 0.24,
      }),
      lineY(along, {
        x: ({ at }: { at: number }) => position(at),
        y: "mean",
        stroke: STRONG,
        strokeWidth: 1.75,
      }),
      dot(kind === "rounds" ? along : along.slice(-1), {
        x: ({ at }: { at: number }) => position(at),
        y: "mean",
        r: 3,
        fill: STRONG,
        title: around,
      }),
    ],
  );
  const said = along
    .map((step) => `${kind === "rounds" ? `round ${step.at}` : `${step.at} reports`}: ${around(step)}`)
    .join("; ");
  return figure(drawing, title, said, "");
}

export type Kind = "reports" | "rounds";

/** What the lines and bands of small charts mean, and what goes from left to right. */
export function legend(steps: readonly number[], kind: Kind, level: number): HTMLElement {
  const [first, end] = [steps[0] ?? 0, steps.at(-1) ?? 0];
  const ends = kind === "rounds" ? `rounds ${first} to ${end}` : `${count(first)} to ${count(end)} reports`;
  return h(
    "p",
    { class: "legend soft" },
    h("span", { class: "line" }, "estimate"),
    h("span", { class: "band" }, `${percent(level, 0)} interval`),
    h("span", {}, `from left to right: ${ends}`),
  );
}

/** Where a step is drawn: reports by their logarithm, so that halving an interval takes as far everywhere. */
const positionOf =
  (kind: Kind) =>
  (at: number): number =>
    kind === "reports" ? Math.log(at) : at;

/** One estimate of one value, at a point along a line. */
export interface Step {
  readonly at: number;
  readonly rows: readonly Row[];
}

/** How each value's interval changed from step to step: a small drawing for each value, all on one scale. */
export function steps(title: string, along: readonly Step[], width: number, kind: Kind): HTMLElement {
  const last = along.at(-1)?.rows ?? [];
  const values = (last.length > MOST_SMALL ? largest(last, MOST_SMALL) : last).map((row) => row.value);
  const all = along.flatMap(({ at, rows }) => rows.map((row) => ({ ...row, at })));
  const domain = reach(all);
  const position = positionOf(kind);
  const [first, end] = [along[0]?.at ?? 0, along.at(-1)?.at ?? 1];
  const columns = Math.max(2, Math.min(values.length, Math.floor(width / 165)));
  const small = Math.floor((width - (columns - 1) * 14) / columns);
  const drawValue = (value: Row["value"]): HTMLElement => {
    const ofValue = all.filter((row) => row.value === value);
    const drawing = drawn(
      {
        width: small,
        height: 96,
        marginLeft: 34,
        marginRight: 14,
        marginTop: 8,
        marginBottom: 20,
        x: { type: "linear", domain: [position(first), position(Math.max(end, first + 1))] },
        y: { domain },
      },
      [
        axisY({
          label: null,
          ticks: 3,
          tickSize: 0,
          tickFormat: (share: number) => percent(share, 0).replace(" ", ""),
          fill: SOFT,
          fontSize: 11,
        }),
        axisX((first === end ? [first] : [first, end]).map(position), {
          label: null,
          tickSize: 0,
          tickFormat: (_: number, i: number) => short(i ? end : first),
          fill: SOFT,
          fontSize: 11,
        }),
        ruleY([0], { stroke: GRID }),
        areaY(ofValue, {
          x: ({ at }: { at: number }) => position(at),
          y1: "low",
          y2: "high",
          fill: MAIN,
          fillOpacity: 0.24,
          curve: "linear",
          clip: true,
        }),
        lineY(ofValue, {
          x: ({ at }: { at: number }) => position(at),
          y: "share",
          stroke: STRONG,
          strokeWidth: 1.75,
          clip: true,
        }),
        dot(kind === "rounds" || ofValue.length === 1 ? ofValue : ofValue.slice(-1), {
          x: ({ at }: { at: number }) => position(at),
          y: "share",
          r: 2.5,
          fill: STRONG,
          title: spoken,
        }),
      ],
    );
    drawing.setAttribute("aria-hidden", "true");
    return h("div", { class: "small" }, h("p", { title: value }, quoted(String(value))), drawing);
  };
  const text = along
    .map(
      ({ at, rows }) =>
        `${kind === "rounds" ? `round ${at}` : `${at} reports`}: ${rows.map(spoken).join(", ")}`,
    )
    .join("; ");
  return h(
    "figure",
    { class: "steps", role: "group", "aria-label": title },
    values.map(drawValue),
    h("figcaption", { class: "unseen" }, text),
  );
}

interface DayPoint {
  readonly t: number;
  readonly number: number;
  readonly low: number;
  readonly high: number;
}

const WIDEST_BAND = 3; // times what the numbers span: of wider bands, only a part is seen
const ROOM = 0.15; // of what is drawn, above and below it

/** The ends of an axis around numbers and their bands, so that a share that doubles is seen. */
export function endsOf(points: readonly DayPoint[], share: boolean): [number, number] {
  const numbers = points.map(({ number }) => number);
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const widths = points.map(({ low, high }) => high - low).sort((a, b) => a - b);
  const span = WIDEST_BAND * Math.max(most - least, widths[widths.length >> 1] ?? 0);
  const bottom = Math.max(Math.min(...points.map(({ low }) => low)), least - span);
  const top = Math.min(Math.max(...points.map(({ high }) => high)), most + span);
  const room = ROOM * Math.max(top - bottom, 1e-9);
  return [share && bottom - room < 0.25 * (top + room) ? 0 : bottom - room, top + room];
}

/** One number a day, on an axis of its own, with the days on which it moved. */
export function byDay(line: DayLine & { readonly title: string }, days: Days, width: number): HTMLElement {
  const points = line.numbers.flatMap((number, t): DayPoint[] => {
    const [low, high] = [line.low[t], line.high[t]];
    return number == null || low == null || high == null ? [] : [{ t, number, low, high }];
  });
  const burst = new Set(days.bursts.map(({ day }) => day));
  const isBurst = ({ t }: DayPoint): boolean => burst.has(days.dates[t] ?? "");
  const quiet = points.filter((point) => !isBurst(point));
  const numbers = days.alarms.flatMap((alarm) => [alarm, ...alarm.mirrored]);
  const moved = numbers.filter(
    ({ attribute, value }) => attribute === line.attribute && value === line.value,
  );
  const begun = days.breaks
    .filter(({ name }) => [line.attribute, `${line.attribute}: ${line.value}`].includes(name))
    .map(({ day }) => days.dates.indexOf(day));
  const marked = points.filter(({ t }) => moved.some(({ day }) => day === days.dates[t]));
  const last = days.dates.length - 1;
  const parts = Math.max(1, Math.floor(width / 170)); // a date takes some 70 pixels
  const ticks = [...new Set(Array.from({ length: parts + 1 }, (_, i) => Math.round((i * last) / parts)))];
  const isShare = line.kind !== "mean";
  const where = { x: "t", clip: true } as const;
  const drawing = drawn(
    {
      width,
      height: 120,
      marginLeft: 48,
      marginRight: 30,
      marginTop: 8,
      marginBottom: 22,
      x: { type: "linear", domain: [0, Math.max(last, 1)] },
      y: { domain: endsOf(quiet.length ? quiet : points, isShare) },
    },
    [
      axisY({
        label: null,
        ticks: 4,
        tickSize: 0,
        tickFormat: (tick: number) => (isShare ? percent(tick, 1) : signed(count(tick))),
        fill: SOFT,
        fontSize: 11,
      }),
      axisX(ticks, {
        label: null,
        tickSize: 4,
        fill: SOFT,
        fontSize: 11,
        tickFormat: (t: number) => days.dates[t] ?? "",
      }),
      ruleX(begun, { stroke: SOFT, strokeDasharray: "2 3" }),
      areaY(quiet, { ...where, y1: "low", y2: "high", fill: MAIN, fillOpacity: 0.24 }),
      lineY(quiet, { ...where, y: "number", stroke: STRONG, strokeWidth: 1.5 }),
      dot(points.filter(isBurst), { ...where, y: "number", symbol: "times", stroke: SOFT, r: 3 }),
      dot(marked, { ...where, y: "number", r: 5, fill: "var(--bad)" }),
    ],
  );
  const ends = points.filter((_, i) => i === 0 || i === points.length - 1);
  const text = ends.map(
    ({ t, number }) => `${days.dates[t]}: ${isShare ? percent(number, 2) : count(number)}`,
  );
  const description = [...text, ...moved.map(({ text }) => text)].join("; ");
  const made = figure(drawing, `${line.attribute}: ${line.value} by day`, description, "");
  return h("div", { class: "line" }, h("p", { class: "named" }, quoted(line.title)), made);
}

export function largest(rows: readonly Row[], count: number): Row[] {
  const ranked = new Set([...rows].sort((a, b) => b.share - a.share).slice(0, count));
  return rows.filter((row) => ranked.has(row));
}

function reach(rows: readonly Row[]): [number, number] {
  const ends = rows.flatMap(({ low, high }) => [low, high]);
  return [Math.max(-1, Math.min(0, ...ends)), Math.min(2, Math.max(0.05, ...ends))];
}

/** The next round numbers beyond. */
function outward([low, high]: readonly [number, number]): [number, number] {
  const unit = high - low > 0.25 ? 20 : 100; // units in a whole
  return [Math.floor(low * unit + 1e-9) / unit, Math.ceil(high * unit - 1e-9) / unit];
}

/** Round numbers on a scale: as many as have room. */
function marksOn([low, high]: readonly [number, number], most: number): number[] {
  const step = STEPS.find((size) => (high - low) / size <= most) ?? 1;
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

function short(number: number): string {
  return number >= 10_000 ? `${Math.round(number / 1000)}k` : number.toLocaleString("en");
}

/**
 * Plot's own inline style is left out: the security policy refuses it, and the stylesheet has what it says.
 */
function drawn(options: Record<string, unknown>, marks: Markish[]): SVGElement {
  const drawing = plot({ axis: null, ...options, className: "plot", marks } as Parameters<
    typeof plot
  >[0]) as unknown as SVGElement;
  for (const style of drawing.querySelectorAll("style")) style.remove();
  // the whole has one
  for (const mark of drawing.querySelectorAll("[aria-label]")) mark.removeAttribute("aria-label");
  return drawing;
}

function figure(drawing: SVGElement, title: string, description: string, caption: string): HTMLElement {
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", title);
  const words = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  words.textContent = description;
  drawing.prepend(words);
  return h("figure", {}, drawing, caption && h("figcaption", { class: "soft" }, caption));
}
