/** Chooses the language of the page and of the operator's texts, and lets people choose another. */

import type { Plan } from "../../src/index.js";
import type { Text } from "../../src/plan/texts.js";
import { recalled, remember } from "../kit/collector.js";
import { find, h } from "../kit/dom.js";
import { type Messages, speak, t } from "../kit/messages.js";

/** The languages of this page, each with a file of messages. */
const LANGUAGES: readonly string[] = ["en", "de", "fr", "es", "pt"];
const QUESTIONS_IN: Readonly<Record<string, string>> = {
  en: "questions in {name}",
  de: "Fragen auf {name}",
  fr: "questions en {name}",
  es: "preguntas en {name}",
  pt: "perguntas em {name}",
}; // in every language at once: each is read before it is chosen
const RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
let chosen = "en";
let catalog = "en";
let locale = "en";

const base = (tag: string): string => tag.split("-")[0] as string;

/** The first of the wanted languages that is there, else the usual one. */
function matched(wanted: readonly string[], there: readonly string[], usual: string): string {
  for (const tag of wanted) {
    const match = there.find((other) => other === tag) ?? there.find((other) => base(other) === base(tag));
    if (match !== undefined) return match;
  }
  return usual;
}

/** Speak what the person chose, or what the browser prefers; a plan may add languages to choose from. */
export async function settle(plan: Plan | null, changed: () => unknown): Promise<void> {
  const offered = [...new Set([...LANGUAGES, ...languagesOf(plan)])];
  const before = recalled("language");
  const wanted = [...(before === null ? [] : [before]), ...navigator.languages];
  chosen = matched(wanted, offered, plan?.texts?.language ?? "en");
  catalog = matched([chosen], LANGUAGES, "en");
  // numbers as in the person's own country, where it is known
  locale = navigator.languages.find((tag) => base(tag) === base(chosen)) ?? chosen;
  await speakCatalog();
  document.documentElement.lang = catalog;
  document.documentElement.dir = RIGHT_TO_LEFT.includes(base(chosen)) ? "rtl" : "ltr";
  find("skip").textContent = t("skip");
  find("footer").textContent = t("footer");
  const field = h(
    "select",
    { "aria-label": t("language"), change: () => [remember("language", field.value), changed()] },
    offered.map((tag) =>
      h("option", { value: tag, lang: tag, selected: tag === chosen }, nameOf(tag), untranslated(plan, tag)),
    ),
  );
  find("language").replaceChildren(field);
}

const catalogs = new Map<string, Messages>();

/** The messages of a language; those that were loaded once are there without a connection, too. */
async function loadCatalog(tag: string): Promise<Messages> {
  const loaded = catalogs.get(tag);
  if (loaded) return loaded;
  const answer = await fetch(new URL(`${tag}.json`, import.meta.url));
  if (!answer.ok) throw new Error(`the messages in ${tag} cannot be loaded`);
  const { pages: messages }: { pages: Messages } = await answer.json();
  catalogs.set(tag, messages);
  return messages;
}

async function speakCatalog(): Promise<void> {
  const tag = catalog;
  const messages = await loadCatalog(tag);
  if (tag !== catalog) return speakCatalog(); // it was changed meanwhile
  speak(messages, locale);
}

/** A language's name in that language. */
function nameOf(tag: string): string {
  const name = new Intl.DisplayNames([tag], { type: "language", fallback: "code" }).of(tag) ?? tag;
  return name.charAt(0).toLocaleUpperCase(tag) + name.slice(1);
}

/** What is said in the menu of a language in which the operator asks nothing; empty where it asks. */
function untranslated(plan: Plan | null, tag: string): string {
  const { language, attributes = {} } = plan?.texts ?? {};
  const questions = Object.values(attributes).flatMap(({ question }) =>
    question ? [Object.keys(question)] : [],
  );
  const all = questions.length ? questions : [languagesOf(plan)];
  if (!language || all.every((tags) => tags.some((each) => base(each) === base(tag)))) return "";
  const other = new Intl.DisplayNames([tag], { type: "language", fallback: "code" }).of(language) ?? language;
  return ` (${(QUESTIONS_IN[base(tag)] ?? "{name}").replace("{name}", other)})`;
}

function languagesOf(plan: Plan | null): string[] {
  const { language, attributes = {}, pages: _, ...texts } = plan?.texts ?? { language: "en" };
  const each = [
    ...Object.values(texts),
    ...Object.values(attributes).flatMap((texts) => Object.values(texts)),
  ];
  return plan?.texts ? [language, ...each.flatMap((text) => Object.keys(text as object))] : [];
}

/** A text of the operator in the person's language, or in the first one; and which language that is. */
export function inLanguage(
  plan: Plan,
  text: Text | undefined,
): { readonly words: string; readonly tag: string } | null {
  if (!text) return null;
  const tag = matched([chosen], Object.keys(text), plan.texts?.language ?? "en");
  return { words: text[tag] as string, tag };
}

/** The title of a study that is not read yet, in the person's language where it has one. */
export function titleIn(titles: Readonly<Record<string, string>>): string | undefined {
  return titles[matched([chosen], Object.keys(titles), "")];
}

/** The element of a text of the operator: whichever way it is read, what is around it stays in its place. */
export function operatorText(plan: Plan, text: Text | undefined): HTMLElement | null {
  const translated = inLanguage(plan, text);
  return translated && h("bdi", { lang: translated.tag, class: "own" }, translated.words);
}

/** The paragraphs of a text. */
export function paragraphs(plan: Plan, text: Text | undefined): HTMLElement[] {
  const translated = inLanguage(plan, text);
  const each = translated?.words.split(/\n{2,}/) ?? [];
  return each.map((words) => h("p", { lang: translated?.tag, dir: "auto", class: "own" }, words));
}

/** What is asked: the question, or the attribute's name; of an option, both. */
export function asking(plan: Plan, name: string): HTMLElement {
  const { several, option, answers } = plan.attributes.find((attribute) => attribute.name === name) ?? {};
  if (several)
    return h(
      "span",
      {},
      asking(plan, several),
      ": ",
      h("bdi", {}, optionOf(plan, several, option as string)),
    );
  if (answers) return h("span", {}, asking(plan, answers), ` (${t("answered_or_not")})`);
  return operatorText(plan, plan.texts?.attributes?.[name]?.question) ?? h("bdi", {}, name);
}

/** The labels of an attribute's values in the person's language; undefined where they are as they are. */
export function labelsOf(plan: Plan, name: string): readonly string[] | undefined {
  const labels = plan.texts?.attributes?.[name]?.labels ?? {};
  const tag = matched([chosen], Object.keys(labels), "");
  if (base(tag) === base(chosen)) return labels[tag];
  // the values themselves are in the first language, but for those of a question that is answered by yes or no
  const domain = plan.asked.find((question) => question.name === name)?.domain;
  const isYesNo = domain?.kind === "categories" && String(domain.labels) === "yes,no";
  return isYesNo && catalog !== "en" ? [t("yes"), t("no")] : undefined;
}

/** What an option is called in the person's language. */
export function optionOf(plan: Plan, name: string, option: string): string {
  const options = plan.attributes.filter(({ several }) => several === name).map(({ option }) => option);
  return labelsOf(plan, name)?.[options.indexOf(option)] ?? option;
}

/** What the ends of a scale mean. */
export function endsOf(plan: Plan, name: string): readonly [string, string] | null {
  const ends = plan.texts?.attributes?.[name]?.ends;
  const tag = ends && matched([chosen], Object.keys(ends), plan.texts?.language ?? "en");
  return tag ? (ends[tag] as unknown as readonly [string, string]) : null;
}
