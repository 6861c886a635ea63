/** Builds permanent bits of a histogram (dBitFlipPM). Nothing is fresh, so equal reports say "unchanged". */

import { sound } from "../errors.js";
import { largest, logUp, wholeNumber } from "../exact.js";
import { type Row, sampled } from "../randomness/words.js";
import { checkedFields, checkedInteger, threshold } from "../strict.js";
import { ascending, bits, checkedFields as checkedPart } from "./codecs.js";
import { type BitFlipPart, type Codec, checkedK, type Mechanism, type Nobody } from "./mechanism.js";
import type { Repeated } from "./repeated.js";
import { unary } from "./shapes.js";

/** The report is `count` of the k values, drawn once and public, and one kept random bit for each of them. */
export const bitFlip = (k: number, count: number, one: bigint, zero: bigint): Repeated<BitFlipPart> => {
  checkedK(k, 1 << 16);
  wholeNumber("bits", "bits, the number of values asked about,", count, 1, k);
  const coins = unary(Math.max(2, count), one, zero);
  // two of the bits can differ where both values are asked about; with one bit, only one can
  const ratio = count === 1 ? largest([coins.up, coins.down]) : coins.ratio;
  const encode = async (value: number, row: Row): Promise<BitFlipPart> => {
    const about = sampled(await row.recall(count), count, k).sort((a, b) => a - b);
    const position = about.indexOf(value);
    const kept = await row.from(count).recall(coins.words, position + 1);
    const set = coins.flip(position < 0 ? [] : [position], kept).filter((bit) => bit < count);
    return { about, set: set.map((bit) => about[bit] as number) };
  };
  return {
    k,
    words: count + coins.words,
    ratio,
    codec: flippedCodec(count, k),
    forever: ratio,
    say: ({ about, set }, label) => ({ supports: set.map(label), about: about.map(label) }),
    losses: (rounds) => {
      const loss = logUp(ratio);
      const patterns = count + Number(count < k);
      // without fresh noise a changed value shows: there is no bound on what a sequence of changes gives away
      const changing = rounds === 1 ? loss : null;
      return [loss, loss, loss, changing, loss * BigInt(Math.min(rounds, patterns))];
    },
    nobody: {
      ...(coins.nobody as Nobody<readonly number[]>),
      words: count + coins.words,
      isAboutOne: count === 1,
      encode: (row) => encode(-1, row),
    },
    encode,
  };
};
const flippedCodec = (count: number, k: number): Codec<BitFlipPart> => {
  const [values, coins] = [ascending(count, k), bits(count)];
  return {
    size: values.size + coins.size,
    write: ({ about, set }, bytes, at) => {
      values.write(about, bytes, at);
      const isSet = new Set(set);
      coins.write(
        [...about.keys()].filter((position) => isSet.has(about[position] as number)),
        bytes,
        at + values.size,
      );
    },
    read: (bytes, at) => {
      const about = values.read(bytes, at) as number[];
      return {
        about,
        set: (coins.read(bytes, at + values.size) as number[]).map((position) => about[position] ?? k),
      };
    },
    check: (data) => {
      const fields = checkedPart(data, "about,set");
      const about = values.check(fields.about);
      const set = bits(k).check(fields.set);
      const known = new Set(about);
      sound(
        set.every((value) => known.has(value)),
        "form",
        () => "only values that it is about can be set",
      );
      return { about, set };
    },
  };
};

/** Reads permanent bits of a histogram from a plan. */
export const readBitFlip = (data: unknown): Mechanism => {
  const fields = checkedFields(data, "a bit-flip mechanism", ["kind", "k", "bits", "one", "zero"]);
  const [k, count] = [checkedInteger(fields.k, "k"), checkedInteger(fields.bits, "bits")];
  return bitFlip(k, count, threshold(fields.one), threshold(fields.zero)) as unknown as Mechanism;
};
