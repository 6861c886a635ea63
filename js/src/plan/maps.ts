/** Reads the maps of a survey: lines or an image under the cells of a grid, and the names of towns. */

import type { Domain } from "../domains/domain.js";
import { checkedText } from "../domains/values.js";
import { must, NOT_CANONICAL, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { checkedFields, checkedInteger, checkedList, checkedString, type Fields } from "../strict.js";

/** The largest coordinate: x from the west of the box to its east, y from its north to its south. */
export const SIDE = 4095;
const MOST_POINTS = 4800;
const MOST_BYTES = 150_000;
const MOST_PIXELS = 4096; // in a row, and in a column: a small file may unpack to more than a device holds
const MOST_TOWNS = 200;
const LONGEST = 60;
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SIGNATURES = ["\x89PNG\r\n\x1a\n", "\xff\xd8\xff"];
const FIELDS = ["image", "lines", "towns"];

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
  /** A PNG or JPEG file in base64, which covers the box. */
  readonly image?: string;
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
  const map: Fields = checkedFields(data, "a map", there);
  const lines = "lines" in map ? checkedList(map.lines, "the lines of a map") : [];
  const towns = "towns" in map ? checkedList(map.towns, "the towns of a map") : [];
  const image = "image" in map ? checkedString(map.image, "the image of a map") : "";
  const points = lines.reduce((sum: number, line) => sum + checkedLine(line), 0);
  must(points <= MOST_POINTS, "maps", () => `the lines of a map have at most ${MOST_POINTS} points`);
  must(towns.length <= MOST_TOWNS, "maps", () => `a map has at most ${MOST_TOWNS} towns`);
  for (const town of towns) checkTown(town);
  if (image) checkImage(image);
  const sizes = [lines.length, towns.length, image.length];
  must(sizes.some(Boolean), "maps", () => "a map has lines, an image or towns");
  must(!lines.length || !image, "maps", () => "a map has lines or an image, not both");
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

const checkImage = (text: string): void => {
  const isShort = text.length <= (MOST_BYTES / 3) * 4 && BASE64.test(text);
  const bytes = isShort ? atob(text) : "";
  must(isShort && btoa(bytes) === text, "maps", () => `an image is base64 of at most ${MOST_BYTES} bytes`);
  const isKnown = SIGNATURES.some((start) => bytes.startsWith(start));
  must(isKnown, "maps", () => "the image of a map is a PNG or JPEG file");
  const isSmall = sizeOf(bytes).every((side) => side > 0 && side <= MOST_PIXELS);
  must(isSmall, "maps", () => `the image of a map has at most ${MOST_PIXELS} x ${MOST_PIXELS} pixels`);
};

/** Width and height in the header of an image; NaN beyond its end, and zeros where there are none. */
const sizeOf = (bytes: string): readonly [number, number] => {
  const number = (at: number, length: number): number => {
    let value = 0;
    for (let i = at; i < at + length; i++) value = 256 * value + bytes.charCodeAt(i);
    return value;
  };
  if (bytes[0] === "\x89") return bytes.slice(12, 16) === "IHDR" ? [number(16, 4), number(20, 4)] : [0, 0];
  let at = 2;
  while (bytes[at] === "\xff") {
    while (bytes[at] === "\xff") at++;
    const kind = number(at++, 1);
    if (kind === 0x01 || (kind >= 0xd0 && kind < 0xd8)) continue;
    const length = number(at, 2);
    if (kind === 0x00 || (kind >= 0xd8 && kind < 0xdb) || !(length >= 2)) break;
    if (kind >= 0xc0 && kind < 0xd0 && ![0xc4, 0xc8, 0xcc].includes(kind))
      return [number(at + 5, 2), number(at + 3, 2)];
    at += length;
  }
  return [0, 0];
};
