/** Names the languages in which the texts of a survey are written, and chooses among them. */

import { type Draft, type Language, listLanguages } from "./draft.js";
import { select } from "./fields.js";

const SPOKEN = ["en", "de", "fr", "es", "pt"]; // by the survey itself

export function nameLanguage(code: string): string {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** What a text says in the first language, or in which others it is there, too. */
export function otherTexts(
  { first, others }: { readonly first: string; readonly others: readonly string[] },
  { usual }: Language,
  hint = "",
): string {
  if (first) return `In ${nameLanguage(usual)}: ${first}`;
  return others.length ? `Also in: ${others.join(", ")}.` : hint;
}

/** The language in which texts are written now. */
export function showLanguage(
  draft: Draft,
  { usual, now }: Language,
  changed: (language: string) => void,
): HTMLElement {
  const there = listLanguages(draft, usual);
  const all = [...new Set([...there, ...SPOKEN, now])];
  const label = (code: string): string =>
    `${nameLanguage(code)}${code === usual ? " (the first)" : there.includes(code) ? "" : " (nothing yet)"}`;
  return select(
    {
      id: "writing",
      label: "Texts below are in",
      hint: "Title, questions, answers and all other texts can be written in each.",
    },
    Object.fromEntries(all.map((code) => [code, label(code)])),
    now,
    changed,
  );
}

/** The language of texts that are written in one only. */
export function showFirst(
  draft: Draft,
  { usual }: Language,
  changed: (language: string) => void,
): HTMLElement {
  const all = [...new Set([usual, ...listLanguages(draft, usual), ...SPOKEN])];
  return select(
    { id: "language", label: "The survey’s first language", hint: "Every text is there in this one." },
    Object.fromEntries(all.map((code) => [code, nameLanguage(code)])),
    usual,
    changed,
  );
}
