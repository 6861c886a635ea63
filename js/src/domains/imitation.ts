/**
 * Refuses texts of operators that imitate what a survey page says itself: that a guarantee was verified.
 *
 * Letters are compared as people see them. Case, accents, spaces and signs do not count, and letters of other scripts that
 * look like Latin ones are taken for these; so are digits. A small l is taken for an i.
 */

import TABLE from "../../../src/deniable/domain/imitation.json";
import { must } from "../errors.js";

/** Characters that look like a Latin letter, by that letter. */
const ALIKE: Readonly<Record<string, string>> = TABLE.alike;
/** What the box of a survey page says, in its languages, and what would be taken for that: one word of each. */
const FORMS: readonly (readonly (readonly string[])[])[] = TABLE.forms;
/** Where letters in black circles, in black squares and in flags begin, from A to Z. */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];
/** Two letters that look like one; the last is c and l. */
const PAIRS = [
  ["rn", "m"],
  ["vv", "w"],
  ["ci", "d"],
] as const;

const LETTERS = new Map(
  Object.entries(ALIKE).flatMap(([letter, signs]) =>
    [...signs].map((sign): [string, string] => [sign.toLowerCase(), letter]),
  ),
).set("ß", "ss");
for (const first of ALPHABETS)
  for (const [i, letter] of [..."abcdefghijkimnopqrstuvwxyz"].entries()) // an l is taken for an i
    LETTERS.set(String.fromCodePoint(first + i), letter);

/** The Latin letters that a person sees in a text, and nothing else. */
const skeleton = (text: string): string =>
  [...text.normalize("NFKD").toLowerCase().normalize("NFKD")]
    .map((sign) => LETTERS.get(sign) ?? (/^[a-z]$/.test(sign) ? sign : ""))
    .join("");

const forbidden = new RegExp(
  FORMS.map((form) => form.map((words) => `(?:${words.map(skeleton).join("|")})`).join("")).join("|"),
);
const shortest = Math.min(
  ...FORMS.map((form) =>
    form.reduce((sum, words) => sum + Math.min(...words.map(({ length }) => length)), 0),
  ),
);

/** Refuse a text that says what only the survey page itself says. */
export const refuseImitation = (text: string, what: string): void => {
  if ([...text].length < shortest) return;
  const seen = skeleton(text);
  const paired = PAIRS.reduce((letters, [pair, letter]) => letters.replaceAll(pair, letter), seen);
  const bare = skeleton(text.replace(/\P{L}/gu, "")); // where signs stand between words
  must(
    ![seen, paired, bare].some((letters) => forbidden.test(letters)),
    "text",
    () => `${what} imitates what the survey page says of its own check`,
  );
};
