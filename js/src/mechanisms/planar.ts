/** Builds the mechanism for locations: a cell moves on its grid, so distant cells differ most. */

import { must } from "../errors.js";
import { divideUp, FULL, type Loss, largest, logUp, type Ratio, wholeNumber } from "../exact.js";
import { wordOf } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedList } from "../strict.js";
import { integer } from "./codecs.js";
import { at, type MetricMechanism, table } from "./metric.js";

const MOST = 1 << 11;
const ERROR = 2 ** -44; // more than a difference of two logarithms of words is off by
const MOST_NEAR = 1 << 12; // pairs that are compared in integers
const KILOMETER = 10n ** 6n; // in millimeters

type Rows = readonly (readonly bigint[])[];

/** noise[a][b]: how many of the 2^64 words move a cell by a rows and b columns, to either side. */
export const planarGeometric = (data: unknown): MetricMechanism => {
  const fields = checkedFields(data, "a planar-geometric mechanism", ["kind", "noise", "steps"]);
  const noise = checkedList(fields.noise, "noise").map((row) => table("noise", row, "a row of noise", MOST));
  const [rows, columns] = [noise.length, noise[0]?.length ?? 0];
  const isTable =
    rows > 1 && columns > 1 && rows * columns <= MOST && noise.every((row) => row.length === columns);
  must(isTable, "noise", () => `noise is a table of two rows and columns or more, and at most ${MOST} cells`);
  const every = sum(mirrored(noise.map((row) => sum(mirrored(row)))));
  must(every === FULL, "noise", () => "the words of all displacements must add up to 2^64");
  const lengths = checkedList(fields.steps, "steps");
  const steps = lengths.map((step) =>
    wholeNumber("steps", "a step, in millimeters,", checkedInteger(step, "a step"), 1, 2 ** 40),
  );
  must(steps.length === 2, "steps", () => "steps are the height and the width of a cell");
  const shells = sent(noise);
  const tables = shells.filter((shell) => shell[0]?.length);
  const [inside, row, column, corner] = shells.map((shell) => extreme(shell, (a, b) => a > b)) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const [high, wide] = [BigInt(rows - 2), BigInt(columns - 2)];
  // over all outputs
  const likeliest = high * wide * inside + 2n * (wide * row + high * column) + 4n * corner;
  return {
    k: rows * columns,
    words: 1,
    ratio: largest(
      tables.map((table): Ratio => [extreme(table, (a, b) => a > b), extreme(table, (a, b) => a < b)]),
    ),
    codec: integer(rows * columns),
    guess: { chance: [likeliest, BigInt(rows * columns) * FULL], among: rows * columns },
    encode: (value, { fresh }) => {
      let word = wordOf(fresh, 0);
      const [row, column] = [Math.floor(value / columns), value % columns];
      for (let down = 1 - rows; ; down++) {
        for (let right = 1 - columns; right < columns; right++) {
          word -= at(at(noise, Math.abs(down)), Math.abs(right));
          if (word < 0n) return within(row + down, rows) * columns + within(column + right, columns);
        }
      }
    },
    unit: "kilometer",
    perUnit: () => perKilometer(tables, rows, columns, steps as [number, number]),
    fits: (domain) => domain.kind === "grid" && domain.rows === rows && domain.columns === columns,
    isShort: (domain) =>
      domain.kind === "grid" &&
      domain.meters.every((length, i) => at(steps, i) <= 1000 * length * (1 + 1e-9)),
  };
};

const within = (index: number, size: number): number => Math.min(size - 1, Math.max(0, index));
const sum = (words: readonly bigint[]): bigint => words.reduce((a, b) => a + b);
const mirrored = <T>(list: readonly T[]): readonly T[] => [...list.slice(1).reverse(), ...list];

/** Each entry with all that come after it. */
const gathered = (words: readonly bigint[]): readonly bigint[] => {
  let all = 0n;
  return [...words].reverse().map((word) => (all += word)).reverse(); // biome-ignore format: one thought
};

const turned = (rows: Rows): Rows => at(rows, 0).map((_, j) => rows.map((row) => at(row, j)));

/** Each row with all rows that come after it. */
const fallen = (rows: Rows): Rows => turned(turned(rows).map(gathered));

/**
 * How many words send a cell from so far away: one inside the grid, in its first or last row, at a side, in
 * a corner.
 */
const sent = (noise: Rows): readonly Rows[] => {
  const inner = <T>(list: readonly T[]): readonly T[] => (list.length > 2 ? list.slice(0, -1) : []);
  const wide = (rows: Rows): Rows => rows.map((row) => mirrored(inner(row)));
  const across = noise.map(gathered);
  return [mirrored(inner(wide(noise))), wide(fallen(noise)), mirrored(inner(across)), fallen(across)];
};

/** The largest entry, or the smallest; 0 where there is none. */
const extreme = (rows: Rows, isMore: (a: bigint, b: bigint) => boolean): bigint =>
  rows.flat().reduce((best, entry) => (isMore(entry, best) ? entry : best), rows[0]?.[0] ?? 0n);

/** All pairs of entries of a table that are so far apart. */
interface Apart {
  readonly rows: Rows;
  readonly logs: readonly Float64Array[];
  readonly down: number;
  readonly right: number;
  /** In millimeters. */
  readonly length: number;
  /** The largest difference of their logarithms, as a float. */
  readonly gap: number;
}

/**
 * The largest loss per kilometer. Logarithms as floats say which pairs may have it; those are compared in
 * integers. Where they are too many to compare, which no honest table has, the bound is what the floats
 * cannot exceed.
 */
const perKilometer = (
  tables: readonly Rows[],
  rows: number,
  columns: number,
  [high, wide]: [number, number],
): Loss => {
  const pairs: Apart[] = [];
  for (const table of tables) {
    const logs = table.map((row) => Float64Array.from(row, (words) => Math.log(Number(words))));
    for (let down = 0; down < Math.min(rows, table.length); down++) {
      const most = Math.min(columns, at(table, 0).length) - 1;
      for (let right = down ? -most : 1; right <= most; right++) {
        const length = Math.hypot(down * high, right * wide);
        pairs.push({ rows: table, logs, down, right, length, gap: largestGap(logs, down, right) });
      }
    }
  }
  const worst = pairs.reduce((most, { gap, length }) => Math.max(most, (gap - ERROR) / length), 0);
  const bound = pairs.reduce((most, { gap, length }) => Math.max(most, (gap + ERROR) / length), 0);
  let [near, best] = [0, [0n, 1n] as Ratio]; // the best is squared
  for (const pair of pairs) {
    if ((pair.gap + ERROR) / pair.length < worst) continue;
    const ratios = nearest(pair);
    near += ratios.length;
    // a loss is in 2^-320
    if (near > MOST_NEAR) return BigInt(Math.ceil(bound * 1e6 * (1 + 1e-15) * 2 ** 40)) << 280n;
    const loss = logUp(largest(ratios));
    best = largest([best, [loss ** 2n, BigInt(pair.down * high) ** 2n + BigInt(pair.right * wide) ** 2n]]);
  }
  return rootUp(divideUp(best[0] * KILOMETER ** 2n, best[1]));
};

const largestGap = (logs: readonly Float64Array[], down: number, right: number): number => {
  let gap = 0;
  const [from, to] = [Math.max(0, -right), at(logs, 0).length - Math.max(0, right)];
  for (let i = down; i < logs.length; i++) {
    const [above, here] = [logs[i - down] as Float64Array, logs[i] as Float64Array];
    for (let j = from; j < to; j++) {
      const apart = Math.abs((above[j] as number) - (here[j + right] as number));
      if (apart > gap) gap = apart;
    }
  }
  return gap;
};

/** The ratios that may be the largest of these. */
const nearest = ({ rows, logs, down, right, gap }: Apart): Ratio[] => {
  const ratios: Ratio[] = [];
  for (let i = down; i < rows.length && ratios.length <= MOST_NEAR; i++) {
    for (const [j, entry] of at(rows, i - down).entries()) {
      const other = rows[i]?.[j + right];
      const apart = (logs[i - down]?.[j] as number) - (logs[i]?.[j + right] as number);
      if (other !== undefined && Math.abs(apart) >= gap - 2 * ERROR)
        ratios.push(entry > other ? [entry, other] : [other, entry]);
    }
  }
  return ratios;
};

/** The square root, rounded up. */
const rootUp = (square: bigint): bigint => {
  let root = 1n << BigInt(Math.ceil(square.toString(16).length * 2)); // not below it
  for (;;) {
    const next = (root + square / root) >> 1n;
    if (next >= root) break;
    root = next;
  }
  return root * root < square ? root + 1n : root;
};
