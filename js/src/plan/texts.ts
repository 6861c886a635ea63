/** Reads the texts of a survey: what people read before, between and after the questions, by language. */

import type { Domain } from "../domains/domain.js";
import { refuseImitation } from "../domains/imitation.js";
import { checkedText } from "../domains/values.js";
import { must, NOT_CANONICAL, shown } from "../errors.js";
import { checkedFields, checkedList, checkedString, type Fields } from "../strict.js";

/** A text in several languages, by their tags. */
export type Text = Readonly<Record<string, string>>;

/** The texts of one attribute. */
export interface AttributeTexts {
  readonly question?: Text;
  readonly help?: Text;
  /** The values as they are shown in other languages. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** What the two ends of a scale mean. */
  readonly ends?: Readonly<Record<string, readonly string[]>>;
  /** The last answer stands for all that are not listed. */
  readonly other?: true;
}

/** What a survey says in the operator's own words: plain text, never HTML. */
export interface Texts {
  /** What is shown to people who read none of the others. */
  readonly language: string;
  readonly title?: Text;
  readonly introduction?: Text;
  /** What people must agree to before anything is sent. */
  readonly consent?: Text;
  readonly responsible?: Text;
  readonly contact?: Text;
  readonly privacy_notice?: Text;
  readonly thanks?: Text;
  readonly attributes?: Readonly<Record<string, AttributeTexts>>;
  /** The questions of each page, by name. */
  readonly pages?: readonly (readonly string[])[];
}

const MOST_LANGUAGES = 20;
const LONGEST: Readonly<Record<string, number>> = {
  title: 200,
  introduction: 4000,
  consent: 8000,
  responsible: 500,
  contact: 500,
  privacy_notice: 500,
  thanks: 2000,
  question: 500,
  help: 2000,
  labels: 200,
  ends: 200,
};
const OF_SURVEY = Object.keys(LONGEST).slice(0, 7);
const OF_ATTRIBUTE = [...Object.keys(LONGEST).slice(7), "other"];
const ONE_LINE = ["title", "contact", "privacy_notice", "question", "labels", "ends"];
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$/;
const LINK = /^(https:\/\/|mailto:)[!-~]+$/;
const SCHEME = /^[a-z][a-z0-9+.-]*:\S/i;

/** The texts of a plan with these attributes and this title. */
export const readTexts = (data: unknown, title: string, attributes: readonly Asked[]): Texts => {
  const fields = withOptional(data, "texts", ["language"], [...OF_SURVEY, "attributes", "pages"]);
  const language = checkedLanguage(checkedString(fields.language, "language"));
  const languages = new Set([language]);
  const read = (text: unknown, kind: string): void => {
    const each = Object.entries(any(text, kind));
    for (const [tag, words] of each) {
      languages.add(checkedLanguage(tag));
      checked(words, kind);
    }
    must(
      each.some(([tag]) => tag === language),
      "language",
      () => `${kind} is not given in ${language}`,
    );
  };
  for (const kind of OF_SURVEY) if (kind in fields) read(fields[kind], kind);
  const about = "attributes" in fields ? any(fields.attributes, "the texts of attributes") : {};
  for (const [name, ofAttribute] of Object.entries(about)) {
    const texts = withOptional(ofAttribute, "the texts of an attribute", [], OF_ATTRIBUTE);
    must(Object.keys(texts).length, "canonical", () => `the plan ${NOT_CANONICAL}: an empty text`);
    for (const kind of ["question", "help"]) if (kind in texts) read(texts[kind], kind);
    const options = attributes.filter((each) => each.several === name);
    const domain = attributes.flatMap(domainsOf).find((each) => each.name === name)?.domain;
    must(domain || options.length, "texts", () => `${shown(name)} has a text, and is not an attribute`);
    const size = domain?.kind === "categories" ? domain.k : options.length;
    const isScale = domain?.kind === "range" && domain.unit === "whole";
    for (const [kind, many] of [
      ["labels", size],
      ["ends", isScale ? 2 : 0],
    ] as const)
      if (kind in texts)
        for (const tag of readLabels(texts[kind], kind, many, name)) languages.add(checkedLanguage(tag));
    const { ends } = texts;
    must(!ends || language in Object(ends), "language", () => `ends are not given in ${language}`);
    if ("other" in texts) {
      must(typeof texts.other === "boolean", "type", () => "other is true, or left out");
      must(texts.other, "canonical", () => `the plan ${NOT_CANONICAL}: other is not true`);
      const isList = domain ? domain.kind === "categories" : options.length;
      must(isList, "texts", () => `${shown(name)} has no last answer that stands for others`);
    }
  }
  if ("pages" in fields) readPages(fields.pages, attributes);
  must(
    languages.size <= MOST_LANGUAGES,
    "language",
    () => `texts are in at most ${MOST_LANGUAGES} languages`,
  );
  const isEmpty = Object.keys(fields).length < 2 || ("attributes" in fields && !Object.keys(about).length);
  must(!isEmpty, "canonical", () => `the plan ${NOT_CANONICAL}: an empty text`);
  const texts = fields as unknown as Texts;
  const isSame = !texts.title || texts.title[language] === title;
  must(isSame, "texts", () => `the title in ${language} is not what the texts say`);
  return texts;
};

/** What texts are about. */
interface Asked {
  readonly name: string;
  readonly domain: Domain;
  readonly several: string | null;
  readonly answers: string | null;
  readonly questions: readonly string[];
}

/** The questions of an attribute that have values of their own. */
const domainsOf = ({ name, domain, several, answers }: Asked): readonly { name: string; domain: Domain }[] =>
  "factors" in domain ? domain.factors : several || answers ? [] : [{ name, domain }];

/** Every question is on one page, once. */
const readPages = (data: unknown, attributes: readonly Asked[]): void => {
  const questionNames = new Set(
    attributes.filter((attribute) => !attribute.answers).flatMap(({ questions }) => questions),
  );
  const pages = checkedList(data, "pages").map((page) => checkedList(page, "a page"));
  const names = pages.flat().map((name) => checkedString(name, "a question's name"));
  must(
    pages.every((page) => page.length),
    "type",
    () => "a page has no question",
  );
  must(pages.length, "canonical", () => `the plan ${NOT_CANONICAL}: no pages`);
  const isWhole = names.length === questionNames.size && names.every((name) => questionNames.delete(name));
  must(isWhole, "texts", () => "pages do not have every question once");
};

const readLabels = (data: unknown, kind: string, many: number, name: string): readonly string[] => {
  const each = Object.entries(any(data, kind));
  must(each.length, "type", () => `${kind} are lists by language`);
  for (const [tag, list] of each) {
    const labels = checkedList(list, kind);
    for (const label of labels) checked(label, kind);
    must(
      new Set(labels).size === labels.length,
      "texts",
      () => `the ${kind} in ${tag} are not all different`,
    );
    must(many === labels.length, "texts", () => `${shown(name)} has not ${labels.length} ${kind}`);
  }
  return each.map(([tag]) => tag);
};

const checkedLanguage = (tag: string): string => {
  must(TAG.test(tag), "language", () => `a language is written as en, de or pt-BR, got ${shown(tag)}`);
  return tag;
};

const checked = (data: unknown, kind: string): void => {
  const text = checkedString(data, kind);
  const most = LONGEST[kind] as number;
  const isLine = ONE_LINE.includes(kind);
  const bare = isLine ? text : text.replace(/^[\n ]+|[\n ]+$/g, "");
  must([...bare].length <= most, "texts", () => `${kind} has at most ${most} characters`);
  refuseImitation(bare, kind);
  for (const line of isLine || !bare ? [bare] : bare.split("\n")) if (line || !bare) checkedText(line, kind);
  const isLink = kind === "privacy_notice" || (kind === "contact" && SCHEME.test(text));
  must(!isLink || LINK.test(text), "texts", () => `${kind} is a link that begins with https:// or mailto:`);
  must(text === bare, "canonical", () => `the plan ${NOT_CANONICAL}: space around a text`);
};

/** An object with any fields. */
const any = (data: unknown, what: string): Fields => checkedFields(data, what, Object.keys(Object(data)));

/** An object with these fields, and some of the others. */
const withOptional = (
  data: unknown,
  what: string,
  needed: readonly string[],
  others: readonly string[],
): Fields =>
  checkedFields(data, what, [...needed, ...others.filter((name) => Object.hasOwn(Object(data), name))]);
