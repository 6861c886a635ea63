/** Defines text that nobody listed: a few letters of an alphabet, as one number. */

import { InvalidValue, must, shown } from "../errors.js";
import { wholeNumber } from "../exact.js";
import { type Code, type Halves, wordOf } from "../randomness/words.js";
import { checkedFields, checkedInteger, checkedString } from "../strict.js";
import { isMissing, labelOf, NO_ANSWER, type Values } from "./values.js";

const FEWEST_BITS = 8;
const MOST_BITS = 62;
const MOST_LETTERS = 1 << 12;

const HEXADECIMAL = /^0x[0-9a-f]{1,20}$/i;
const DECIMAL = /^\d{1,20}$/;

/** What stands for the rest of a text of which only the first letters are known. */
export const MORE = "…";

/** Text of at most `longest` letters; a longer one is cut, or refused. */
export class FreeText implements Values {
  readonly kind = "text";
  readonly isUnlisted = true;
  readonly k: number;
  /** How many bits a text has. */
  readonly bits: number;
  /** How many of them a letter has: its number in the alphabet, from 1 on; 0 ends a text. */
  private readonly width: number;

  constructor(
    readonly alphabet: string,
    readonly longest: number,
    /** Whether a longer text is cut. */
    readonly cut: boolean,
  ) {
    const many = alphabet.length;
    const isPlain = [...alphabet].every((letter) => letter.length === 1 && letter === letter.normalize());
    const isRight = isPlain && new Set(alphabet).size === many && many > 1 && many <= MOST_LETTERS;
    must(
      isRight,
      "alphabet",
      () => `an alphabet is 2 to ${MOST_LETTERS} different letters, got ${shown(alphabet)}`,
    );
    this.width = 32 - Math.clz32(many);
    wholeNumber("text", "longest, the number of letters,", longest, 1, MOST_BITS);
    this.bits = this.width * longest;
    wholeNumber("text", "bits of a text", this.bits, FEWEST_BITS, MOST_BITS);
    this.k = 2 ** this.bits;
  }

  /** The alphabet in words, its runs of letters shortened. */
  get letters(): string {
    const runs: string[] = [];
    for (const letter of this.alphabet) {
      const last = runs.at(-1);
      if (last && last.charCodeAt(last.length - 1) + 1 === letter.charCodeAt(0))
        runs[runs.length - 1] += letter;
      else runs.push(letter);
    }
    return runs.flatMap((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : [...run])).join(" ");
  }

  /**
   * A text in the letters of the alphabet, where that has letters of one case only, or no space: "Whats App"
   * is "whatsapp" in a-z. The page shows it; all else is refused as it is.
   */
  fold(text: string): string {
    const has = (pattern: RegExp): boolean => pattern.test(this.alphabet);
    const spaced = this.alphabet.includes(" ") ? text.replace(/ +/g, " ") : text.replace(/ /g, "");
    const [small, large] = [has(/\p{Ll}/u), has(/\p{Lu}/u)];
    const folded = small === large ? spaced : small ? spaced.toLowerCase() : spaced.toUpperCase();
    const kept = this.cut ? this.cutText(folded) : folded;
    return [...kept].every((letter) => this.alphabet.includes(letter)) ? folded : text;
  }

  /** The letters of a text that are reported. */
  cutText(text: string): string {
    return text.slice(0, this.longest);
  }

  /**
   * A text from its number, of which only so many of the first bits may be known; hexadecimal digits where no
   * text has this number.
   */
  label(code: Code, bits = this.bits): string {
    const [whole, width] = [Math.floor(bits / this.width), BigInt(this.width)];
    const rest = (letters: number): bigint => BigInt(code) >> (BigInt(bits) - width * BigInt(letters));
    const numbers = Array.from({ length: whole }, (_, i) => Number(BigInt.asUintN(this.width, rest(i + 1))));
    const end = [...numbers, 0].indexOf(0);
    const tail = BigInt.asUintN(bits - this.width * end, BigInt(code));
    if ((end < whole && tail) || numbers.some((number) => number > this.alphabet.length))
      return `0x${code.toString(16)}`;
    const text = numbers.slice(0, end).map((number) => this.alphabet[number - 1]);
    return text.join("") + (end < whole || bits === this.bits ? "" : MORE);
  }

  code(answer: unknown, name: string): Code {
    if (isMissing(answer)) return NO_ANSWER;
    const text = labelOf(answer);
    if (text.length > this.longest && !this.cut)
      throw new InvalidValue(`${shown(text)} is longer than the ${this.longest} letters of ${shown(name)}`);
    const kept = this.cutText(text);
    const wrong = [...kept].find((letter) => !this.alphabet.includes(letter));
    if (wrong !== undefined) {
      const folded = this.fold(text);
      const hint = folded === text ? "" : `; did you mean ${shown(folded)}?`;
      throw new InvalidValue(
        `${shown(text)} has ${shown(wrong)}, which is not in the alphabet of ${shown(name)} (${this.letters})${hint}`,
      );
    }
    let code = 0n;
    for (let i = 0; i < this.longest; i++)
      code =
        (code << BigInt(this.width)) |
        BigInt(i < kept.length ? this.alphabet.indexOf(kept[i] as string) + 1 : 0);
    return code;
  }

  draw(words: Halves, bits = this.bits): Code {
    return drawBits(words, bits);
  }
}

/** Whole numbers of so many bits, such as codes of errors. */
export class Codes implements Values {
  readonly kind = "code";
  readonly isUnlisted = true;
  readonly k: number;

  constructor(readonly bits: number) {
    wholeNumber("text", "bits of a code", bits, FEWEST_BITS, MOST_BITS);
    this.k = 2 ** bits;
  }

  label(code: Code, bits = this.bits): string {
    const spare = bits === this.bits ? 0 : bits % 4;
    const digits = (BigInt(code) >> BigInt(spare)).toString(16);
    return bits === this.bits ? `0x${digits}` : `0x${digits.padStart(Math.floor(bits / 4), "0")}${MORE}`;
  }

  code(answer: unknown, name: string): Code {
    if (isMissing(answer)) return NO_ANSWER;
    const isWhole = typeof answer === "bigint" || Number.isSafeInteger(answer);
    const isText = typeof answer === "string" && (HEXADECIMAL.test(answer) || DECIMAL.test(answer));
    const code = isWhole || isText ? BigInt(String(answer).toLowerCase()) : -1n;
    if (code >= 0n && !(code >> BigInt(this.bits))) return code;
    throw new InvalidValue(
      `${shown(answer)} is not a code of ${shown(name)}: a whole number below 2^${this.bits}, or hexadecimal digits such as 0x7ce`,
    );
  }

  draw(words: Halves, bits = this.bits): Code {
    return drawBits(words, bits);
  }
}

/** The first bits of a word. */
const drawBits = (words: Halves, bits: number): Code => wordOf(words, 0) >> BigInt(64 - bits);

/** Reads text from a plan. */
export const readFreeText = (data: unknown): FreeText => {
  const { alphabet, longest, cut } = checkedFields(data, "a text", ["kind", "alphabet", "longest", "cut"]);
  must(typeof cut === "boolean", "type", () => `cut is true or false, got ${shown(cut)}`);
  return new FreeText(checkedString(alphabet, "alphabet"), checkedInteger(longest, "longest"), cut);
};

/** Reads codes from a plan. */
export const readCodes = (data: unknown): Codes =>
  new Codes(checkedInteger(checkedFields(data, "a code", ["kind", "bits"]).bits, "bits"));
