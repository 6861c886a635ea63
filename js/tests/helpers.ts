import { makeReport } from "../src/client/client.js";
import type { Report } from "../src/client/report.js";
import { fromHexadecimal } from "../src/hexadecimal.js";
import { Plan } from "../src/plan/plan.js";
import { fixedRow } from "../src/randomness/words_testing.js";
import { canonical } from "../src/strict.js";

export interface Case {
  readonly name: string;
  readonly plan: string;
  readonly secret: string;
  readonly round: number;
  readonly id: string;
  readonly answers: Record<string, unknown>;
  readonly words: readonly string[];
  readonly bytes: string;
  readonly json: string;
}

// biome-ignore lint/suspicious/noExplicitAny: tests tamper with documents
export type Document = any;

/** The report of a case's words. */
export async function reported(plan: Plan, one: Case): Promise<Report> {
  const row = await fixedRow(one.words, fromHexadecimal(one.secret), plan.id);
  const id = new Uint32Array(fromHexadecimal(one.id).buffer);
  return makeReport(plan, one.answers, one.round, row, async () => id);
}

/** For devices that answer once and keep nothing. */
export const FRESH = { fresh: true };

/** A document with its id made right again after it was tampered with. */
export async function sealed(data: Document): Promise<string> {
  const { id: _, ...body } = data;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(body)));
  const id = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return canonical({ ...body, id });
}

/** A plan from a document that was tampered with. */
export async function tampered(text: string, change: (data: Document) => void): Promise<Plan> {
  const data = JSON.parse(text);
  change(data);
  return Plan.fromJson(await sealed(data));
}

export const FULL = 1n << 64n;

/** A plan for one question with three values by randomized response: e^loss is 3 but for the rounding. */
export async function small(change: (data: Document) => void = () => undefined): Promise<string> {
  const keep = (FULL * 3n) / 5n;
  const data: Document = {
    attributes: [{ domain: { kind: "categories", labels: ["red", "green", "blue"] }, name: "color" }],
    losses: { attribute: 1098612289, record: 1098612289, repeated: null },
    missing: "refuse",
    people: 1000,
    rounds: null,
    mechanism: { kind: "single", parts: [{ k: 3, keep: String(keep), kind: "direct" }] },
    title: "Colors",
    version: 2,
  };
  change(data);
  return sealed(data);
}

const files = import.meta.glob<Case[]>("../../spec/vectors/metric/reports.json", {
  eager: true,
  import: "default",
});
const cases = Object.values(files).flat();
/** The first case of a mechanism in the vectors of distances and means. */
export const named = (name: string): Case => cases.find((one) => one.name === `${name}, 0`) as Case;
export const MOST = 2 ** 53 - 1;

/** A plan for one attribute that states no more than has to be there. */
export const alone = (
  name: string,
  domain: Document,
  part: Document,
  unit?: string,
  loss = MOST,
): Promise<string> =>
  small((data) => {
    data.attributes = [{ domain, name }];
    data.mechanism.parts = [part];
    data.losses = { attribute: MOST, record: MOST, repeated: null };
    if (unit) data.losses.metric = { rest: 0, units: [{ loss, name, unit }] };
  });

/** Tails of 2^64 words that fall by ever fewer of them. */
export const tailsOf = (k: number): bigint[] => {
  const steps = Array.from({ length: k - 1 }, (_, m) => (FULL >> 20n) / BigInt(m + 4) + 1n);
  const tails = [1n];
  for (const step of steps.slice(1).reverse()) tails.unshift((tails[0] as bigint) + step);
  return [FULL - (tails[0] as bigint), ...tails];
};

export const years = (k: number): Document => ({
  bins: k,
  digits: 0,
  kind: "range",
  low: 0,
  open_high: false,
  open_low: false,
  step: 1,
});

export const box = (rows: number, columns: number): Document => ({
  columns,
  east: 10 * 1e9,
  kind: "grid",
  north: 50 * 1e9,
  rows,
  south: 45 * 1e9,
  west: 5 * 1e9,
});

/** Words for displacements by a function of rows and columns; what is left over goes to none. */
export const noiseOf = (rows: number, columns: number, of: (a: number, b: number) => number): bigint[][] => {
  const noise = Array.from({ length: rows }, (_, a) =>
    Array.from({ length: columns }, (_, b) => BigInt(of(a, b))),
  );
  let others = 0n;
  for (const [a, row] of noise.entries()) {
    for (const [b, words] of row.entries()) if (a || b) others += words * (a ? 2n : 1n) * (b ? 2n : 1n);
  }
  (noise[0] as bigint[])[0] = FULL - others;
  return noise;
};

export const texts = (noise: readonly (readonly bigint[])[]): string[][] =>
  noise.map((row) => row.map(String));

/** One unit of work: a thousand products of whole numbers, which is what plans and reports take. */
function calibrate(): bigint {
  let product = 1n;
  for (let i = 1n; i <= 1000n; i++) product = (product * (FULL - i) + i) % (FULL * FULL - 1n);
  return product;
}

/**
 * How many units of work take as long as the work does, in the middle one of some runs. Units are clocked for
 * as long as the work just took, so that others who work on this machine slow both alike.
 */
export async function units(work: () => Promise<unknown>, runs = 7): Promise<number> {
  await work();
  const ratios: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    await work();
    const middle = performance.now();
    let count = 0;
    do {
      calibrate();
      count++;
    } while (performance.now() - middle < middle - started);
    ratios.push(((middle - started) * count) / (performance.now() - middle));
  }
  return ratios.sort((a, b) => a - b)[(runs - 1) / 2] as number;
}
