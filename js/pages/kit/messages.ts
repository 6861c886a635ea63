/** Speaks one language at a time: looks a message up by its name, and fills in what is in braces. */

import type { Child } from "./dom.js";
import type { pages } from "./messages/en.json";

export type Key = keyof typeof pages;
/** All messages of one language: a missing one does not compile. */
export type Messages = Readonly<Record<Key, string>>;
/** Messages that are there for one and for several. */
type Counted<K> = K extends `${infer Name}_one` ? Name : never;

let messages: Messages;
let language = "en";

/** Speak this language from now on; numbers and dates follow the locale. */
export function speak(catalog: Messages, tag: string): void {
  messages = catalog;
  language = tag;
}

/** What is spoken now. */
export function spoken(): { readonly catalog: Messages; readonly tag: string } {
  return { catalog: messages, tag: language };
}

/** A message. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  return messages[key].replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? count(value) : value;
  });
}

/** A message with elements in it. */
export function rich(key: Key, values: Readonly<Record<string, Child>>): Child[] {
  return messages[key].split(/\{(\w+)\}/).map((part, i) => (i % 2 ? values[part] : part));
}

/** "1 report", "2 reports". */
export function plural(key: Counted<Key>, number: number): string {
  const form = new Intl.PluralRules(language).select(number) === "one" ? "one" : "other";
  return t(`${key}_${form}` as Key, { n: number });
}

/** A number as people write it. */
export function count(number: number): string {
  return number.toLocaleString(language, { maximumFractionDigits: 20 });
}

export function moment(text: string): string {
  return new Date(text).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}

export function clock(at: Date): string {
  return at.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
}

/** A month such as 2024-06. */
export function month(text: string): string {
  const format = { month: "long", year: "numeric", timeZone: "UTC" } as const;
  return new Date(`${text}-01T00:00:00Z`).toLocaleDateString(language, format);
}
