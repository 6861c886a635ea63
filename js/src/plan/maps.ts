/** Reads the maps of a survey: lines under the cells of a grid, and the names of towns. */

import type { Domain } from "../domains/domain.js";
import { checkedText } from "../domains/values.js";
import { must, NOT_CANONICAL, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { checkedFields, checkedInteger, checkedList, checkedString, type Fields } from "../strict.js";

/** The largest coordinate: x from the west of the box to its east, y from its north to its south. */
export const SIDE = 4095;
const MOST_POINTS = 4800;
const MOST_TOWNS = 200;
const LONGEST = 60;
const NO_IMAGE = "a map is an outline, and images under maps are retired; give GeoJSON, or towns alone";
const FIELDS = ["lines", "towns"];

/** A name on a map, and where it is. */
export interface Town {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

/** What is drawn under the cells of one grid. */
export interface PlanMap {
  /** Each is x, y, x, y and so on. */
  readonly lines?: readonly (readonly number[])[];
  readonly towns?: readonly Town[];
}

/** The maps of a plan with these attributes, by name. */
export const readMaps = (
  data: unknown,
  attributes: readonly { readonly name: string; readonly domain: Domain }[],
): Readonly<Record<string, PlanMap>> => {
  const maps = checkedFields(data, "maps", Object.keys(Object(data)));
  must(Object.keys(maps).length, "canonical", () => `the plan ${NOT_CANONICAL}: no map`);
  for (const [name, map] of Object.entries(maps)) {
    const domain = attributes.find((each) => each.name === name)?.domain;
    must(domain?.kind === "grid", "maps", () => `${shown(name)} has a map, and is not locations on a grid`);
    readMap(map);
  }
  return maps as Readonly<Record<string, PlanMap>>;
};

const readMap = (data: unknown): void => {
  const there = FIELDS.filter((name) => Object.hasOwn(Object(data), name));
  must(!Object.hasOwn(Object(data), "image"), "maps", () => NO_IMAGE);
  const map: Fields = checkedFields(data, "a map", there);
  const lines = "lines" in map ? checkedList(map.lines, "the lines of a map") : [];
  const towns = "towns" in map ? checkedList(map.towns, "the towns of a map") : [];
  const points = lines.reduce((sum: number, line) => sum + checkedLine(line), 0);
  must(points <= MOST_POINTS, "maps", () => `the lines of a map have at most ${MOST_POINTS} points`);
  must(towns.length <= MOST_TOWNS, "maps", () => `a map has at most ${MOST_TOWNS} towns`);
  for (const town of towns) checkTown(town);
  const sizes = [lines.length, towns.length];
  must(sizes.some(Boolean), "maps", () => "a map has lines or towns");
  const isFull = there.length === sizes.filter(Boolean).length;
  must(isFull, "canonical", () => `the plan ${NOT_CANONICAL}: a map with nothing in a field`);
};

const coordinate = (data: unknown): number =>
  wholeNumber("maps", "a coordinate of a map", checkedInteger(data, "a coordinate"), 0, SIDE);

/** How many points a line has. */
const checkedLine = (data: unknown): number => {
  const line = checkedList(data, "a line of a map").map(coordinate);
  must(line.length > 3 && line.length % 2 === 0, "maps", () => "a line of a map has two points or more");
  for (let i = 2; i < line.length; i += 2) {
    const isNew = line[i] !== line[i - 2] || line[i + 1] !== line[i - 1];
    must(isNew, "maps", () => "a line of a map has the same point twice in a row");
  }
  return line.length / 2;
};

const checkTown = (data: unknown): void => {
  const { name, x, y } = checkedFields(data, "a town", ["name", "x", "y"]);
  const text = checkedText(checkedString(name, "the name of a town"), "the name of a town");
  must([...text].length <= LONGEST, "maps", () => `the name of a town has at most ${LONGEST} characters`);
  for (const side of [x, y]) coordinate(side);
};
