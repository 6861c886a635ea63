/**
 * Refuses texts of operators that imitate what a survey page says itself: that a guarantee was verified.
 *
 * Letters are compared as people see them. Case, accents, spaces and signs do not count, and letters of other scripts that
 * look like Latin ones are taken for these; so are digits. A small l is taken for an i.
 */

import { must } from "./errors.js";

/** Characters that look like a Latin letter, by that letter. */
const ALIKE: Readonly<Record<string, string>> = {
  a: "аɑαᴀ4@",
  b: "вʙƅьβ",
  c: "сᴄ¢",
  d: "ԁɗᴅđ",
  e: "еєεᴇҽ3€",
  f: "ғƒϝ",
  g: "ɡɢց9",
  h: "нһհʜħ",
  i: "іιıɩɪlӏ1|!łʟ",
  j: "јϳᴊ",
  k: "кκᴋ",
  m: "мᴍ",
  n: "ηոɴпи",
  o: "оοօᴏ0øσө",
  p: "рρᴘ",
  q: "ԛզ",
  r: "гʀ",
  s: "ѕꜱ5$ƽ",
  t: "тτᴛ7ŧ",
  u: "υսᴜцʋ",
  v: "νѵᴠ",
  w: "ԝωᴡшա",
  x: "хχ×",
  y: "уγʏүч",
  z: "ᴢ2ʐ",
};

/** What the box of a survey page begins with, in its languages, and what would be taken for that. */
const PHRASES = [
  "verified on this device",
  "verified on your device",
  "verified by your device",
  "verified by deniable",
  "verified by this device",
  "checked on this device",
  "checked on your device",
  "protects your answers well",
  "protects your answers a little",
  "hardly protects your answers",
  "auf diesem Gerät geprüft",
  "auf Ihrem Gerät geprüft",
  "von Ihrem Gerät geprüft",
  "auf diesem Gerät verifiziert",
  "von Deniable geprüft",
  "geprüft auf diesem Gerät",
  "geprüft auf Ihrem Gerät",
  "schützt Ihre Antworten gut",
  "schützt Ihre Antworten ein wenig",
  "schützt Ihre Antworten kaum",
  "vérifié sur cet appareil",
  "vérifié sur votre appareil",
  "vérifié par votre appareil",
  "vérifié par Deniable",
  "protège bien vos réponses",
  "protège un peu vos réponses",
  "ne protège guère vos réponses",
  "verificado en este dispositivo",
  "verificado en su dispositivo",
  "verificado por su dispositivo",
  "comprobado en este dispositivo",
  "verificado por Deniable",
  "protege bien sus respuestas",
  "protege un poco sus respuestas",
  "apenas protege sus respuestas",
  "verificado por Deniable",
  "verificado neste dispositivo",
  "verificado no seu dispositivo",
  "verificado neste aparelho",
  "verificado no seu aparelho",
  "verificado pelo seu dispositivo",
  "verificado pelo seu aparelho",
  "protege bem as suas respostas",
  "protege um pouco as suas respostas",
  "quase não protege as suas respostas",
];

const LETTERS = new Map(
  Object.entries(ALIKE).flatMap(([letter, signs]) =>
    [...signs].map((sign): [string, string] => [sign, letter]),
  ),
).set("ß", "ss");

/** The Latin letters that a person sees in a text, and nothing else. */
const skeleton = (text: string): string =>
  [...text.normalize("NFKD").toLowerCase().normalize("NFKD")]
    .map((sign) => LETTERS.get(sign) ?? (/^[a-z]$/.test(sign) ? sign : ""))
    .join("");

const forbidden = PHRASES.map(skeleton);
const shortest = Math.min(...forbidden.map(({ length }) => length));

/** Refuse a text that says what only the survey page itself says. */
export const refuseImitation = (text: string, what: string): void => {
  if (text.length < shortest) return;
  const seen = skeleton(text);
  must(
    !forbidden.some((phrase) => seen.includes(phrase)),
    "text",
    () => `${what} imitates what the survey page says of its own check`,
  );
};
