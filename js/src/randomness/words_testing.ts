/** Takes given words instead of drawing them, for test vectors. Nothing that is shipped imports this. */

import { type Halves, Row, remembered } from "./words.js";

/** A device's row with these fresh words. */
export async function fixedRow(
  words: readonly (string | bigint)[],
  secret: Uint8Array,
  planId: string,
): Promise<Row> {
  return new Row(halves(words), await remembered(secret, planId));
}

/** Words as halves. */
export function halves(words: readonly (string | bigint)[]): Halves {
  const halves = new Uint32Array(2 * words.length);
  for (const [c, word] of words.entries()) {
    halves[2 * c] = Number(BigInt(word) & 0xffff_ffffn);
    halves[2 * c + 1] = Number(BigInt(word) >> 32n);
  }
  return halves;
}
