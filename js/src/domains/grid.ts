/** Turns latitudes and longitudes into cells of a grid, row by row from the southwest. */

import { InvalidValue, must, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { checkedFields, checkedInteger } from "../strict.js";
import { checkedValues, isMissing, NO_ANSWER, numberOf, type Values } from "./values.js";

const MOST_SIDE = 1 << 12;
const NANO = 1e9; // degrees are the integers over this
const EARTH = 6_371_008.8; // its radius in meters
const RADIAN = Math.PI / 180;

/**
 * Cells of a box of latitudes and longitudes. A box across the 180th meridian has a west that is larger
 * than its east.
 */
export class Grid implements Values {
  readonly kind = "grid";
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
  /** How many degrees of longitude the box spans. */
  readonly wide: number;

  /** From the corners in billionths of a degree. */
  constructor(
    south: number,
    west: number,
    north: number,
    east: number,
    readonly rows: number,
    readonly columns: number,
  ) {
    for (const side of [rows, columns])
      wholeNumber("grid", "the number of rows or columns", side, 2, MOST_SIDE);
    checkedValues(rows * columns);
    for (const edge of [south, north])
      wholeNumber("grid", "a latitude", edge, -89_900_000_000, 89_900_000_000);
    for (const edge of [west, east]) wholeNumber("grid", "a longitude", edge, -180 * NANO, 180 * NANO);
    [this.south, this.west, this.north, this.east] = [south / NANO, west / NANO, north / NANO, east / NANO];
    this.wide = around(this.east - this.west);
    must(
      south < north && this.wide > 0 && this.wide <= 180,
      "grid",
      () => "a grid goes north, and east by at most 180 degrees",
    );
  }

  get k(): number {
    return this.rows * this.columns;
  }

  /**
   * From row to row and from column to column in meters, at the edge nearest to a pole: never more than it
   * is.
   */
  get meters(): [number, number] {
    const { south, north, wide, rows, columns } = this;
    const [edge, half] = [RADIAN * Math.max(Math.abs(south), Math.abs(north)), (RADIAN * wide) / 2];
    const [narrow, deep] = [Math.cos(edge), Math.sin(edge)];
    const angle = 2 * Math.atan2(narrow * Math.sin(half), Math.hypot(deep, narrow * Math.cos(half)));
    return [(EARTH * RADIAN * (north - south)) / rows, (EARTH * angle) / columns];
  }

  label(code: number): string {
    const { south, west, north, wide, rows, columns } = this;
    const [row, column] = [Math.floor(code / columns), code % columns];
    const [high, across] = [(north - south) / rows, wide / columns];
    const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.min(high, across))));
    const latitude = (i: number): number => (i === rows ? north : i * high + south);
    const longitude = (i: number): number => around(west + (i * wide) / columns + 180) - 180;
    const span = (of: (i: number) => number, first: number, positive: string, negative: string): string => {
      const [[low, direction], [end, endDirection]] = [of(first), of(first + 1)].map((degrees) => {
        const size = Math.abs(degrees).toFixed(digits);
        return [size, degrees < 0 && Number(size) ? negative : positive];
      }) as [[string, string], [string, string]];
      return direction === endDirection
        ? `${low} to ${end} ${direction}`
        : `${low} ${direction} to ${end} ${endDirection}`;
    };
    return `${span(latitude, row, "N", "S")}, ${span(longitude, column, "E", "W")}`;
  }

  code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const pair: unknown = typeof answer === "string" ? answer.split(",") : answer;
    if (!Array.isArray(pair) || pair.length !== 2) throw notLocation(answer, name);
    if (pair === answer && pair.some(isMissing)) return NO_ANSWER;
    const [latitude, longitude] = pair.map(numberOf) as [number, number];
    if (!Number.isFinite(latitude + longitude)) throw notLocation(answer, name);
    const { south, west, north, east, wide, rows, columns } = this;
    const across = around(longitude - west);
    // the product can be rounded up to the number of rows, and the last row holds what is inside
    const row = Math.min(rows - 1, Math.floor(((latitude - south) / (north - south)) * rows));
    const column = Math.min(columns - 1, Math.floor((across / wide) * columns));
    const isInside = south <= latitude && latitude <= north && across <= wide && Math.abs(longitude) <= 360;
    if (isInside) return row * columns + column;
    const box = `latitude ${south} to ${north}, longitude ${west} to ${east}`;
    throw new InvalidValue(`${latitude}, ${longitude} is not in the box of ${shown(name)} (${box})`);
  }

  /** The middle of a cell. */
  middle(code: number): [latitude: number, longitude: number] {
    const { south, west, north, wide, rows, columns } = this;
    const center = (part: number, size: number, many: number): number => ((part + 0.5) * size) / many;
    const longitude = around(west + center(code % columns, wide, columns) + 180) - 180;
    return [south + center(Math.floor(code / columns), north - south, rows), longitude];
  }
}

const notLocation = (answer: unknown, name: string): InvalidValue =>
  new InvalidValue(
    `${shown(answer)} is not a location: ${shown(name)} takes a latitude and a longitude, such as 47.64, 6.86`,
  );

/** From 0 to 360 degrees, rounded as Python does. */
const around = (degrees: number): number => {
  const rest = degrees % 360;
  return rest < 0 ? rest + 360 : rest;
};

/** Reads a grid from a plan. */
export const readGrid = (data: unknown): Grid => {
  const names = ["south", "west", "north", "east", "rows", "columns"];
  const fields = checkedFields(data, "a grid", ["kind", ...names]);
  const integers = names.map((name) => checkedInteger(fields[name], name));
  return new Grid(...(integers as ConstructorParameters<typeof Grid>));
};
