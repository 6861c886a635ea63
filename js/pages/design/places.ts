/** Shows the fields of a place: where the map ends, its cells, and what hides a place. */

import { isMetric, type Keys, type Question } from "./draft.js";

const DEGREE = 111_195; // meters of a degree of latitude
const LEVEL = 2; // half of what a device gives away unless its person allows more

type Field = (key: string, label: string, hint?: string) => HTMLElement;

/** The meters between opposite corners, rounded up; undefined while the map has no ends. */
function diagonalOf({ south, west, north, east }: Keys): number | undefined {
  if (![south, west, north, east].every((edge) => typeof edge === "number")) return undefined;
  const [s, w, n, e] = [south, west, north, east] as [number, number, number, number];
  const wide = (e > w ? e - w : e - w + 360) * Math.cos(((s + n) * Math.PI) / 360);
  const meters = Math.hypot(n - s, wide) * DEGREE;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(meters)) - 1);
  return n > s && Number.isFinite(meters) ? Math.ceil(meters / unit) * unit : undefined;
}

/** Hide a place behind all others of the map, so that devices accept the survey. */
export function hideNear(question: Question): void {
  const { keys } = question;
  const radius = diagonalOf(keys);
  Object.assign(keys, { level: LEVEL, ...(radius === undefined ? {} : { radius }) });
  question.radius = radius ?? Number.NaN;
}

/** The fields of a place; the distance follows the ends of the map until somebody writes one. */
export function showPlace(question: Question, makeField: Field, hides: HTMLElement): HTMLElement[] {
  const { id, keys } = question;
  const side = (key: string, label: string, hint = ""): HTMLElement => {
    const field = makeField(key, label, hint);
    field.addEventListener("input", () => {
      const isOwn = keys.radius !== undefined && keys.radius !== question.radius;
      if (!("level" in keys) || isOwn || question.radius === undefined) return;
      hideNear(question);
      if (Number.isNaN(question.radius)) delete keys.radius;
      const shown = document.getElementById(`q${id}-radius`) as HTMLInputElement | null;
      if (shown) shown.value = keys.radius === undefined ? "" : String(keys.radius);
    });
    return field;
  };
  return [
    side("south", "South", "Degrees of latitude."),
    side("north", "North"),
    side("west", "West", "Degrees of longitude."),
    side("east", "East"),
    makeField("rows", "Rows of cells"),
    makeField("columns", "Columns of cells"),
    makeField(
      "map",
      "File of the map",
      "GeoJSON, in the study’s folder. Without one, people see cells and no land.",
    ),
    hides,
    ...(isMetric(question) ? distances(question, makeField) : []),
  ];
}

function distances({ keys }: Question, makeField: Field): HTMLElement[] {
  if ("epsilon" in keys && !("level" in keys || "radius" in keys))
    return [makeField("epsilon", "Epsilon per meter")];
  return [
    makeField("level", "At most this is lost …", "Epsilon between two places …"),
    makeField("radius", "… within so many meters", "… this far apart; of a new map, its diagonal."),
  ];
}
