/** Asks for a location: typed, pasted, taken from the device, or chosen on a picture of the area. */

import type { Grid } from "../../src/index.js";
import type { PlanMap } from "../../src/plan/maps.js";
import { h } from "../kit/dom.js";
import { findNear } from "../kit/map_labels.js";
import { t } from "../kit/messages.js";
import { cellName, degrees } from "./labels.js";
import { picture } from "./map_picture.js";
import type { Question } from "./questions.js";

const NUMBER = String.raw`([+-]?\d+(?:[.,]\d+)?)°?`;
const PAIR = new RegExp(String.raw`^\(?${NUMBER}(?:\s*;\s*|,?\s+|,)${NUMBER}\)?$`);
const TROUBLE = { 1: "location_denied", 2: "location_unknown", 3: "location_slow" } as const;

/**
 * Latitude and longitude of what was pasted or written into one field; null where it is one number, also
 * with a comma.
 */
function pairIn(text: string): [latitude: string, longitude: string] | null {
  const given = text.trim().replaceAll("\u2212", "-");
  const [, first, second] = (/^[+-]?\d+,\d+$/.test(given) ? null : given.match(PAIR)) ?? [];
  return first && second ? [plain(first), plain(second)] : null;
}

const rounded = (degrees: number, digits: number): string => String(Number(degrees.toFixed(digits)));

const plain = (number: string): string => number.trim().replace(",", ".").replaceAll("\u2212", "-");

/** Whether a location outside the area would be inside with its two numbers exchanged. */
function isSwapped(grid: Grid, answer: string): boolean {
  return cellOf(grid, answer.split(",").reverse().join()) !== null;
}

function cellOf(grid: Grid, answer: string): number | null {
  try {
    return grid.code(answer, "");
  } catch {
    return null;
  }
}

/**
 * The question: a map, and below it two fields for those who type. Both are filled at once when two numbers are pasted into one, or are found in it on
 * leaving.
 */
export function askLocation(
  grid: Grid,
  map: PlanMap | undefined,
  j: number,
  optional: HTMLInputElement | null,
  complaint: HTMLElement,
  hint: HTMLElement,
): Required<Pick<Question, "fields" | "read" | "say" | "suspect">> & { readonly element: HTMLElement } {
  const field = (what: string): HTMLInputElement =>
    h("input", {
      type: "text",
      id: `q${j}-${what}`,
      inputmode: "text", // a phone's keys for decimals may have no minus
      autocomplete: "off",
      "aria-describedby": `hint-${j} ${complaint.id}`,
      input: (event) => {
        if ((event as InputEvent).inputType === "insertFromPaste") spread(event.target as HTMLInputElement);
        mark();
      },
      change: (event) => {
        // not while somebody is writing: the second number is not whole yet
        spread(event.target as HTMLInputElement);
        mark();
      },
    });
  const [latitude, longitude] = [field("latitude"), field("longitude")];
  const spread = ({ value }: HTMLInputElement): void => {
    const found = pairIn(value);
    if (found) [latitude.value, longitude.value] = found;
  };
  const given = (): string => `${plain(latitude.value)}, ${plain(longitude.value)}`;
  const set = (north: number, east: number, digits: number): void => {
    for (const [one, degrees] of [
      [latitude, north],
      [longitude, east],
    ] as const)
      one.value = rounded(degrees, digits);
    complaint.textContent = note.textContent = "";
    for (const one of [latitude, longitude]) one.setAttribute("aria-invalid", "false");
    mark();
  };
  const note = h("p", { class: "soft found", role: "status" });
  const { drawing, show } = picture(
    grid,
    map,
    (code) => optional?.checked || set(...grid.middle(code), digitsOf(grid)),
  );
  const mark = (): void => show(optional?.checked ? null : cellOf(grid, given()));
  const here = h("button", { type: "button", class: "here", click: () => locate() }, t("use_location"));
  const locate = (): void => {
    here.disabled = true;
    note.textContent = t("finding");
    const done = (text: string): void => {
      here.disabled = optional?.checked ?? false;
      note.textContent = text;
    };
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        if (optional?.checked) return done("");
        set(coords.latitude, coords.longitude, 6);
        done(found(grid, given(), coords.accuracy));
      },
      ({ code }) => done(t(TROUBLE[code as 1 | 2 | 3] ?? TROUBLE[2])),
      { timeout: 20_000, maximumAge: 60_000 },
    );
  };
  optional?.addEventListener("change", () => {
    latitude.disabled = longitude.disabled = here.disabled = optional.checked;
    note.textContent = "";
    mark();
  });
  const labelled = (what: string, input: HTMLInputElement): HTMLElement =>
    h("div", {}, h("label", { for: input.id }, what), input);
  const typed = h(
    "details",
    { class: "typed" },
    h("summary", {}, t("type_location")),
    hint,
    h(
      "div",
      { class: "coordinates" },
      labelled(t("latitude"), latitude),
      labelled(t("longitude"), longitude),
    ),
  );
  return {
    element: h(
      "div",
      { class: "located" },
      drawing,
      "geolocation" in navigator && [
        h("div", { class: "row" }, here, h("p", { class: "soft" }, t("location_private"))),
        note,
      ],
      typed,
    ),
    fields: [latitude, longitude],
    say: (answer) =>
      `${answer.split(", ").map(degrees).join(separator())} (${sayKept(grid, map, grid.code(answer, ""))})`,
    suspect: (answer) => (isSwapped(grid, answer) ? t("swapped") : ""),
    read: () => {
      for (const one of [latitude, longitude]) spread(one); // Enter sends what was not left
      if (!optional?.checked && cellOf(grid, given()) === null) typed.open = true; // to move there
      return optional?.checked ? null : latitude.value.trim() || longitude.value.trim() ? given() : undefined;
    },
  };
}

/** What stands between two numbers, which may have a comma each. */
const separator = (): string => (degrees("0.5").includes(",") ? "; " : ", ");

/** The cell that an answer is kept as; near a town, if there is one. */
function sayKept(grid: Grid, map: PlanMap | undefined, code: number): string {
  const [cell, town] = [cellName(grid.label(code)), findNear(grid, map?.towns ?? [], code)];
  return town === null ? t("the_cell", { cell }) : t("the_cell_near", { cell, town });
}

/** What to say about a location that the device has found. */
function found(grid: Grid, answer: string, accuracy: number): string {
  if (cellOf(grid, answer) === null) return t("location_outside");
  const about = accuracy < 1000 ? `${Math.ceil(accuracy)} m` : `${Math.ceil(accuracy / 1000)} km`;
  return accuracy > Math.min(...grid.meters) ? t("location_coarse", { about }) : "";
}

/** As many digits as distinguish the tenths of a cell. */
function digitsOf({ north, south, wide, rows, columns }: Grid): number {
  return Math.max(0, 1 - Math.floor(Math.log10(Math.min((north - south) / rows, wide / columns))));
}

/** An example of a location in the area. */
export function exampleOf(grid: Grid): string {
  const middle = grid.middle(Math.floor(grid.rows / 2) * grid.columns + Math.floor(grid.columns / 2));
  return middle.map((degrees) => rounded(degrees, digitsOf(grid))).join(", ");
}
