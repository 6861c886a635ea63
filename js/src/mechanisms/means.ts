/**
 * Builds mechanisms for means: a report stands for a number that is correct on average, and mostly far from
 * the answer.
 */

import { POSITIONS } from "../domains/numbers.js";
import { must } from "../errors.js";
import { cell, FULL, largest, type Ratio, wholeNumber } from "../exact.js";
import { below, chance, type Halves, type Row, wordOf } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedKind, threshold } from "../strict.js";
import { integer } from "./codecs.js";
import { checkedThreshold, type Mechanism } from "./mechanism.js";

const MOST = 1 << 12; // different reports
const MOST_BINS = 1 << 20;
const HALF = FULL >> 1n;

/** A mechanism for positions from 0 to 2^32, whose report is an integer. */
interface Mean {
  readonly words: number;
  readonly outputs: number;
  readonly ratio: Ratio;
  /**
   * How often the best guess of the half is right, numbers being spread evenly; less than 2^-40 off, and
   * rounded up.
   */
  readonly half: Ratio;
  send(position: number, words: Halves): number;
  /** The position that a report stands for. */
  stands(part: number): number;
}

/** One bit: yes with keep / 2^64 for the highest number, no with as much for the lowest. */
const duchi = (data: unknown): Mean => {
  const keep = threshold(fieldsOf(data, "duchi", "keep").keep);
  must(keep > HALF, "likelier", () => `keep must be above 2^63, got ${keep}`);
  const reach = Number(FULL) / Number(2n * keep - FULL);
  return {
    words: 1,
    outputs: 2,
    ratio: [keep, FULL - keep],
    half: [keep + HALF, 2n * FULL], // as for the number in the middle of the half
    send: (position, words) => {
      const moved = (BigInt(Math.abs(position - POSITIONS / 2)) * (keep - HALF)) >> 31n;
      return Number(wordOf(words, 0) < (position < POSITIONS / 2 ? HALF - moved : HALF + moved));
    },
    stands: (part) => ((part ? reach : -reach) + 1) * (POSITIONS / 2),
  };
};

/** A bin: mostly one of a window that moves with the number, else any other one. */
const piecewise = (data: unknown): Mean => {
  const fields = fieldsOf(data, "piecewise", "k", "keep", "window");
  const k = wholeNumber("k", "k, the number of bins,", checkedInteger(fields.k, "k"), 2, MOST_BINS);
  const window = wholeNumber("window", "window", checkedInteger(fields.window, "window"), 1, MOST_BINS);
  const outputs = checkedOutputs(k + window - 1);
  const keep = threshold(fields.keep);
  const kept = checkedThreshold(keep);
  const ratio: Ratio = [keep * cell(window)[1], (FULL - keep) * cell(k - 1)[0]];
  must(
    ratio[0] > ratio[1],
    "likelier",
    () => `keep must make the window likelier than the rest, got ${keep}`,
  );
  const inside = Number(keep) / Number(FULL);
  const slope = inside - ((1 - inside) * window) / (k - 1); // the mean report is start + slope * bin
  const others = outputs * (outputs - 1) - window * (window - 1);
  const start = (inside * (window - 1)) / 2 + ((1 - inside) * others) / (2 * (k - 1));
  return {
    words: 3,
    outputs,
    ratio,
    half: halfOf(k, window, keep),
    send: (position, words) => {
      const fine = position * (k - 1); // of 2^32 parts of a bin
      const bin = Math.floor(fine / POSITIONS) + Number((words[5] as number) < fine % POSITIONS);
      if (chance(words, 0, kept)) return bin + below(words, 1, window);
      const other = below(words, 1, k - 1);
      return other + (other >= bin ? window : 0);
    },
    stands: (part) => ((part - start) / slope / (k - 1)) * POSITIONS,
  };
};

/** The guess by a piecewise report: of each, the half that it is likelier from. */
const halfOf = (k: number, window: number, keep: bigint): Ratio => {
  const outside = (FULL - keep) * cell(k - 1)[1];
  const extra = keep * cell(window)[1] - outside;
  // how much of the lower half a bin stands for, in eighths: half a bin at the end, and what is left of it
  // in the middle
  const lower = Array.from({ length: k }, (_, bin) => {
    const left = Math.min(2, Math.max(-2, k - 1 - 2 * bin)); // from it to the middle, in halves of a bin
    return ([0, 1, 4, 7, 8][left + 2] as number) - (bin ? 0 : 4);
  });
  const all = BigInt(4 * (k - 1));
  let [low, high, sum] = [0, 0, 0n];
  for (let report = 0; report < k + window - 1; report++) {
    low += (lower[report] ?? 0) - (lower[report - window] ?? 0);
    high += (lower[k - 1 - report] ?? 0) - (lower[k - 1 - report + window] ?? 0);
    sum += all * outside + BigInt(Math.max(low, high)) * extra;
  }
  return [sum, 2n * all * FULL * FULL];
};

/** Piecewise with a probability of share / 2^64, else one bit; the report shows which. */
const hybrid = (data: unknown): Mean => {
  const fields = fieldsOf(data, "hybrid", "duchi", "piecewise", "share");
  const [fine, coarse] = [piecewise(fields.piecewise), duchi(fields.duchi)];
  const mostly = threshold(fields.share);
  const share = checkedThreshold(mostly);
  return {
    words: 5,
    outputs: checkedOutputs(fine.outputs + 2),
    ratio: largest([fine.ratio, coarse.ratio]),
    half: mixed(mostly, fine.half, coarse.half),
    send: (position, words) =>
      chance(words, 0, share)
        ? fine.send(position, words.subarray(2))
        : fine.outputs + coarse.send(position, words.subarray(8)),
    stands: (part) => (part < fine.outputs ? fine.stands(part) : coarse.stands(part - fine.outputs)),
  };
};

const checkedOutputs = (outputs: number): number => {
  must(outputs <= MOST, "outputs", () => `a number has at most ${MOST} different reports, got ${outputs}`);
  return outputs;
};

/** The first with a probability of share / 2^64, else the second. */
const mixed = (share: bigint, [a, b]: Ratio, [c, d]: Ratio): Ratio => [
  share * a * d + (FULL - share) * c * b,
  FULL * b * d,
];

const fieldsOf = (data: unknown, kind: string, ...names: string[]): Readonly<Record<string, unknown>> => {
  checkedKind(data, "a mechanism", [kind]);
  return checkedFields(data, `a ${kind} mechanism`, ["kind", ...names]);
};

/** Reads a mechanism for a mean as part of a record. */
const averaged =
  (make: (data: unknown) => Mean) =>
  (data: unknown): Mechanism => {
    const { words, outputs, ratio, half, send, stands } = make(data);
    return {
      k: POSITIONS + 1,
      words,
      ratio,
      codec: integer(outputs),
      guess: { chance: half, among: 2, what: " in which half of the range your number is" },
      encode: (value: number, { fresh }: Row) => send(value, fresh),
      stands,
      isUnlisted: true,
    };
  };

export const readDuchi = averaged(duchi);
export const readPiecewise = averaged(piecewise);
export const readHybrid = averaged(hybrid);
