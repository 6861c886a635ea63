/** Asks for a location: typed, pasted, taken from the device, or chosen on a picture of the area. */

import type { Grid } from "../../src/index.js";
import type { PlanMap } from "../../src/plan/maps.js";
import { h } from "../kit/dom.js";
import { findNear } from "../kit/map_labels.js";
import { t } from "../kit/messages.js";
import { cellName, degrees } from "./labels.js";
import { picture } from "./map_picture.js";
import { type About, framed, type Question } from "./question.js";

const NUMBER = String.raw`([+-]?\d+(?:[.,]\d+)?)°?`;
const PAIR = new RegExp(String.raw`^\(?${NUMBER}(?:\s*;\s*|,?\s+|,)${NUMBER}\)?$`);
const TROUBLE = { 1: "location_denied", 2: "location_unknown", 3: "location_slow" } as const;

/**
 * Latitude and longitude of what was pasted or written into one field; null where it is one number, also
 * with a comma.
 */
function pairIn(text: string): [latitude: string, longitude: string] | null {
  const written = text.trim().replaceAll("\u2212", "-");
  const [, first, second] = (/^[+-]?\d+,\d+$/.test(written) ? null : written.match(PAIR)) ?? [];
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
 * The question: a map, and below it two fields for those who type. Both are filled at once when two numbers are
 * pasted into one, or are in it when it is left. `allowed` says which locations are taken.
 */
export function askLocation(grid: Grid, map: PlanMap | undefined, allowed: string, about: About): Question {
  const { j, complaint } = about;
  const optional = about.optional ? h("input", { type: "checkbox", id: `q${j}-none` }) : null;
  const example = t("paste_both", { example: exampleOf(grid) });
  const hint = h("p", { class: "soft hint", id: `hint-${j}` }, allowed, " ", example);
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
    const pair = pairIn(value);
    if (pair) [latitude.value, longitude.value] = pair;
  };
  const typedPair = (): string => `${plain(latitude.value)}, ${plain(longitude.value)}`;
  const set = (north: number, east: number, digits: number): void => {
    latitude.value = rounded(north, digits);
    longitude.value = rounded(east, digits);
    complaint.textContent = note.textContent = "";
    for (const input of [latitude, longitude]) input.setAttribute("aria-invalid", "false");
    mark();
  };
  const note = h("p", { class: "soft found", role: "status" });
  const { drawing, show } = picture(
    grid,
    map,
    (code) => optional?.checked || set(...grid.middle(code), digitsOf(grid)),
  );
  const mark = (): void => show(optional?.checked ? null : cellOf(grid, typedPair()));
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
        done(judgeFix(grid, typedPair(), coords.accuracy));
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
    element: framed(
      about,
      "",
      h(
        "div",
        { class: "place" },
        h(
          "div",
          { class: "located" },
          drawing,
          "geolocation" in navigator && [
            h("div", { class: "row" }, here, h("p", { class: "soft" }, t("location_private"))),
            note,
          ],
          typed,
        ),
      ),
      optional && h("label", { class: "choice none" }, optional, h("span", {}, about.none)),
    ),
    complaint,
    fields: [latitude, longitude],
    say: (answer) =>
      `${answer.split(", ").map(degrees).join(separator())} (${sayKept(grid, map, grid.code(answer, ""))})`,
    suspect: (answer) => (isSwapped(grid, answer) ? t("swapped") : ""),
    read: () => {
      for (const input of [latitude, longitude]) spread(input); // Enter sends what was not left
      if (!optional?.checked && cellOf(grid, typedPair()) === null) typed.open = true; // to move there
      return optional?.checked
        ? null
        : latitude.value.trim() || longitude.value.trim()
          ? typedPair()
          : undefined;
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
function judgeFix(grid: Grid, answer: string, accuracy: number): string {
  if (cellOf(grid, answer) === null) return t("location_outside");
  const about = accuracy < 1000 ? `${Math.ceil(accuracy)} m` : `${Math.ceil(accuracy / 1000)} km`;
  return accuracy > Math.min(...grid.meters) ? t("location_coarse", { about }) : "";
}

/** As many digits as distinguish the tenths of a cell. */
function digitsOf({ north, south, wide, rows, columns }: Grid): number {
  return Math.max(0, 1 - Math.floor(Math.log10(Math.min((north - south) / rows, wide / columns))));
}

/** An example of a location in the area. */
function exampleOf(grid: Grid): string {
  const middle = grid.middle(Math.floor(grid.rows / 2) * grid.columns + Math.floor(grid.columns / 2));
  return middle.map((degrees) => rounded(degrees, digitsOf(grid))).join(", ");
}
