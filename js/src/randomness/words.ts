/**
 * Draws words from a device's secret: the same 64-bit words give the same report.
 *
 * Word c of a row is two halves of 32 bits: the low one at 2 c, the high one at 2 c + 1.
 */

import { InvalidParameter } from "../errors.js";

export type Halves = Uint32Array<ArrayBuffer>;
export type Bytes = Uint8Array<ArrayBuffer>;

const AT_ONCE = 65_536; // bytes that a browser's generator gives in one call
const BLOCKS = 512; // HMACs under way at a time

/** A probability in words out of 2^64, as two halves. */
export type Threshold = readonly [high: number, low: number];

export const threshold = (whole: bigint): Threshold => [Number(whole >> 32n), Number(whole & 0xffff_ffffn)];

/** Bytes from the operating system's generator: the only source of secrets. */
export function randomBytes(count: number): Bytes {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += AT_ONCE) crypto.getRandomValues(bytes.subarray(at, at + AT_ONCE));
  return bytes;
}

/** Fresh words. */
export const system = (width: number): Halves => new Uint32Array(randomBytes(8 * width).buffer);

/** Whether word c is below the threshold. */
export const chance = (words: Halves, c: number, [high, low]: Threshold): boolean => {
  const most = words[2 * c + 1] as number;
  return most < high || (most === high && (words[2 * c] as number) < low);
};

/** The high half of word c times m: an integer from 0 to m - 1, for m up to 2^32. */
export function below(words: Halves, c: number, m: number): number {
  const high = words[2 * c + 1] as number;
  const low = words[2 * c] as number;
  if (m <= 0x20_0000) return Math.floor((high * m + Math.floor((low * m) / 0x1_0000_0000)) / 0x1_0000_0000);
  return Number((wordOf(words, c) * BigInt(m)) >> 64n);
}

/** Word c as a whole. */
export const wordOf = (words: Halves, c: number): bigint =>
  (BigInt(words[2 * c + 1] as number) << 32n) | BigInt(words[2 * c] as number);

/** `count` different integers below `bound`, a word each, by Floyd's sampling: in the order of the draws. */
export function sampled(words: Halves, count: number, bound: number): number[] {
  const taken = new Set<number>();
  for (let draw = 0; draw < count; draw++) {
    const last = bound - count + draw;
    const drawn = below(words, draw, last + 1);
    taken.add(taken.has(drawn) ? last : drawn);
  }
  return [...taken];
}

export type Label = string | Code | Uint8Array;

/** A value as an integer; one that has more bits than a number holds exactly is a bigint. */
export type Code = number | bigint;

/**
 * The words that a device's secret gives for one plan: `count` of them from `start` on, of the key stream
 * with these labels.
 */
export type Memory = (labels: readonly Label[], start: number, count: number) => Promise<Halves>;

/** HMAC-SHA256 in counter mode, so that nothing is stored but the secret. */
export async function remembered(secret: Uint8Array, planId: string): Promise<Memory> {
  if (!(secret instanceof Uint8Array && secret.length >= 16))
    throw new InvalidParameter("secret must be at least 16 bytes");
  const key = await subtle().importKey(
    "raw",
    new Uint8Array(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const plan = encodedLabel(planId);
  return async (labels, start, count) => {
    const [head, first, last] = [
      [...plan, ...labels.flatMap(encodedLabel)],
      start >> 2,
      (start + count + 3) >> 2,
    ];
    const words = new Uint32Array(8 * (last - first));
    for (let from = first; from < last; from += BLOCKS) {
      const blocks = Array.from({ length: Math.min(BLOCKS, last - from) }, async (_, i) => {
        const block = await subtle().sign("HMAC", key, new Uint8Array(head.concat(littleEndian(from + i))));
        const view = new DataView(block);
        for (let half = 0; half < 8; half++)
          words[8 * (from + i - first) + half] = view.getUint32(4 * half, true);
      });
      await Promise.all(blocks);
    }
    return words.subarray(2 * (start - 4 * first));
  };
}

/** The plans that the kept words of a question come from. */
export interface Strand {
  /** The words of the first plan that has the question, then of each that has more values. */
  readonly memories: readonly Memory[];
  /** Where kept values may turn, how many values each of these plans has, and its threshold. */
  readonly firsts: readonly (readonly [k: number, keep: bigint, removed: readonly number[]])[];
}

/** One record's words: noise and, column by column, those that the device keeps. */
export class Row {
  constructor(
    readonly fresh: Halves,
    private readonly memory: Memory,
    private readonly start = 0,
    /** Whose noise the secret gives; 0 where the noise is what it was made with. */
    private readonly round = 0,
    private readonly attribute = 0,
    /** Where the kept words of the record, and of each attribute, come from, if not from this plan alone. */
    private readonly strands: readonly Strand[] = [],
    private readonly strand = 0,
  ) {}

  /** How many values each plan of a question has, where its kept values may turn. */
  get firsts(): Strand["firsts"] {
    return this.strands[this.strand]?.firsts ?? [];
  }

  /** The columns from this one on; attributes are numbered from `attribute` on. */
  from(column: number, attribute = 0): Row {
    const { memory, start, round, strands, strand } = this;
    return new Row(
      this.fresh.subarray(2 * column),
      memory,
      start + column,
      round,
      this.attribute + attribute,
      strands,
      strand,
    );
  }

  /**
   * This row with the noise of an attribute and its value, or of the bytes of several values; for a fake, of an
   * attribute alone.
   */
  async noise(attribute: number, count: number, value: Code | Uint8Array = -1): Promise<Row> {
    const { memory, start, round, strands } = this;
    const strand = 1 + this.attribute + attribute;
    if (!round) return new Row(this.fresh, memory, start, 0, 0, strands, strand);
    let next = value;
    if (!(next instanceof Uint8Array)) next++; // which takes a bigint, too
    const labels = ["noise", round, this.attribute + attribute, next];
    return new Row(await memory(labels, 0, count), memory, start, 0, 0, strands, strand);
  }

  /** The first words that are kept for a value; without one, for no value. A plan of the strand gives them. */
  recall(count: number, value = -1, plan = 0): Promise<Halves> {
    const memory = this.strands[this.strand]?.memories[plan] ?? this.memory;
    return memory([value + 1], this.start, count);
  }
}

/** WebCrypto, which browsers have only on pages from https or from the device itself. */
export function subtle(): SubtleCrypto {
  const crypto = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (!crypto) throw new InvalidParameter("this page has no WebCrypto: serve it by https");
  return crypto;
}

/** Kind, length, content: no two lists of labels have the same encoding. */
const encodedLabel = (label: Label): number[] => {
  const isBytes = label instanceof Uint8Array;
  const content = isBytes ? label : new TextEncoder().encode(`${label}`);
  const kind = isBytes ? "b" : typeof label === "string" ? "s" : "i";
  return [kind.charCodeAt(0), ...littleEndian(content.length), ...content];
};

/** A small integer in 8 bytes. */
const littleEndian = (number: number): number[] => {
  const high = Math.floor(number / 0x1_0000_0000);
  return [0, 8, 16, 24]
    .map((shift) => (number >>> shift) & 0xff)
    .concat([0, 8, 16, 24].map((shift) => (high >>> shift) & 0xff));
};
