/** Holds the study that is being made: the keys of its file, and those that this page does not know. */

export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type Keys = { [key: string]: Value };

/** One question; `was` is the short name that it has in the file. */
export interface Question {
  readonly id: number;
  readonly was: string | null;
  name: string;
  keys: Keys;
  isOpen: boolean;
  /** The meters that this page has filled in for a place; not a number while it has no map. */
  radius?: number;
}

/** The survey's first language, in which plain texts are, and the one in which texts are written now. */
export interface Language {
  readonly usual: string;
  readonly now: string;
}

export interface Draft {
  study: Keys;
  questions: Question[];
  people: number;
}

/** What the server reads and writes. */
export interface Written {
  readonly study: Keys;
  readonly questions: readonly { readonly name: string; readonly keys: Keys; readonly was: string | null }[];
}

export type Kind =
  | "choice"
  | "yesno"
  | "several"
  | "scale"
  | "range"
  | "number"
  | "date"
  | "place"
  | "text"
  | "other";

export const KINDS: Readonly<Record<Exclude<Kind, "other">, string>> = {
  choice: "One of several",
  yesno: "Yes or no",
  several: "All that apply",
  scale: "A scale",
  range: "A number, in steps",
  number: "A number, for its mean",
  date: "A month or a year",
  place: "A place on a map",
  text: "Text that nobody listed",
};

const ENDS = ["low", "high", "open_low", "open_high"];
const SIDES = ["south", "west", "north", "east"];
const OF_KIND: Readonly<Record<Kind, readonly string[]>> = {
  choice: ["values", "other"],
  yesno: ["values", "yes_no"],
  several: ["several", "exactly", "at_most", "other"],
  scale: ["scale", "ends", "privacy", "epsilon"],
  date: ["dates", "by", "privacy", "epsilon"],
  range: [...ENDS, "step", "queries", "privacy", "epsilon"],
  number: [...ENDS, "mean"],
  place: [...SIDES, "rows", "columns", "map", "privacy", "epsilon", "level", "radius"],
  text: ["alphabet", "longest", "cut", "levels"],
  other: [],
};
const OF_ALL = [
  "question",
  "help",
  "importance",
  "missing",
  "only_if",
  "answered",
  "known",
  "repeat",
  "labels",
];
const FIRST: Readonly<Record<Exclude<Kind, "other">, Keys>> = {
  choice: { values: [] },
  yesno: { yes_no: true },
  several: { several: [] },
  scale: { scale: [1, 7] },
  date: { dates: ["2020-01-01", "2029-12-31"], by: "year" },
  range: { low: 0, high: 100, step: 10 },
  number: { low: 0, high: 100, mean: true },
  place: { rows: 10, columns: 10, level: 2 },
  text: { alphabet: "a-z", longest: 10 },
};

let last = 0;

export function makeQuestion(name: string, keys: Keys, was: string | null, isOpen: boolean): Question {
  return { id: ++last, name, keys, was, isOpen };
}

export function kindOf(keys: Keys): Kind {
  const { values } = keys;
  if ("yes_no" in keys) return "yesno";
  if ("several" in keys) return "several";
  if ("scale" in keys) return "scale";
  if ("dates" in keys) return "date";
  if (Array.isArray(values)) return values.join("\n") === "yes\nno" ? "yesno" : "choice";
  if (SIDES.some((side) => side in keys) || "rows" in keys) return "place";
  if ("alphabet" in keys || "longest" in keys) return "text";
  if ("mean" in keys) return "number";
  return "low" in keys || "high" in keys || "step" in keys ? "range" : "other";
}

/** What a question is called in words. */
export function kindName(kind: Kind): string {
  return kind === "other" ? "Another kind" : KINDS[kind];
}

/** Make it another kind of question; what all kinds have stays, and so does what is known to nobody here. */
export function changeKind(question: Question, kind: Exclude<Kind, "other">): void {
  const before = kindOf(question.keys);
  const kept = Object.entries(question.keys).filter(
    ([key]) => !OF_KIND[before].includes(key) || (ENDS.includes(key) && OF_KIND[kind].includes(key)),
  );
  question.keys = { ...FIRST[kind], ...Object.fromEntries(kept) };
  if (kind === "place") question.radius = Number.NaN;
}

/** The keys of a question that this page does not show. */
export function unshown({ keys }: Question): string[] {
  const known = [...OF_ALL, ...OF_KIND[kindOf(keys)]];
  return Object.keys(keys).filter((key) => !known.includes(key));
}

/** Whether it has an epsilon of its own. */
export function isMetric({ keys }: Question): boolean {
  return kindOf(keys) === "place" ? keys.privacy !== "equal" : keys.privacy === "metric";
}

const isTable = (value: Value | undefined): value is { readonly [key: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The table below a key, made if it is missing and wanted. */
export function tableOf(keys: Keys, name: string): Keys {
  const table = keys[name];
  return isTable(table) ? (table as Keys) : {};
}

/** What is written by language; what is not, is in the first one. */
function byLanguage(value: Value | undefined, usual: string): Keys {
  if (isTable(value)) return { ...value };
  return value === undefined || value === null ? {} : { [usual]: value };
}

function writeOne(keys: Keys, name: string, { usual, now }: Language, value: Value | undefined): void {
  const all = byLanguage(keys[name], usual);
  if (value === undefined) delete all[now];
  else all[now] = value;
  const languages = Object.keys(all);
  if (languages.length === 0) delete keys[name];
  else if (!isTable(keys[name]) && languages.length === 1 && usual in all) keys[name] = all[usual] as Value;
  else keys[name] = all;
}

/** A text in the language in which it is written now, the same in the first one, and what others there are. */
export function readText(
  keys: Keys,
  name: string,
  { usual, now }: Language,
): { text: string; first: string; others: string[] } {
  const all = byLanguage(keys[name], usual);
  const text = (language: string): string => readField(all[language]);
  const others = Object.keys(all).filter((tag) => tag !== now);
  return { text: text(now), first: now === usual ? "" : text(usual), others };
}

export function writeText(keys: Keys, name: string, language: Language, text: string): void {
  writeOne(keys, name, language, text === "" ? undefined : text);
}

/** What answers are called in a language, as many as there are. */
export function readLabels(keys: Keys, now: string, count: number): string[] {
  const labels = tableOf(keys, "labels")[now];
  return Array.from({ length: count }, (_, i) => readField(Array.isArray(labels) ? labels[i] : undefined));
}

export function writeLabels(keys: Keys, now: string, labels: readonly string[]): void {
  const { [now]: _, ...others } = tableOf(keys, "labels");
  const all: Keys = labels.every((label) => label === "") ? others : { ...others, [now]: labels };
  if (Object.keys(all).length) keys.labels = all;
  else delete keys.labels;
}

/** The languages of all texts, the first one first. */
export function listLanguages({ study, questions }: Draft, usual: string): string[] {
  const ofQuestions = questions.flatMap(({ keys }) => [keys.question, keys.help, keys.labels, keys.ends]);
  const texts = [study.title, ...Object.values(tableOf(study, "survey")), ...ofQuestions];
  return [...new Set([usual, ...texts.flatMap((text) => (isTable(text) ? Object.keys(text) : []))])];
}

const TOML = "$toml"; // as the server writes what JSON has no words for

/** A number or date as it is written. */
export function readField(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  return String(isTable(value) && TOML in value ? value[TOML] : value);
}

/** A value as the file writes it. */
export function inToml(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(inToml).join(", ")}]`;
  if (!isTable(value)) return JSON.stringify(value);
  if (TOML in value) return String(value[TOML]);
  const name = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${name(key)} = ${inToml(inner)}`)
    .join(", ")} }`;
}

/** What was written, as a number where it is one; the library says what is wrong with anything else. */
export function asValue(text: string, before: Value | undefined): Value | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (isTable(before) && /^\d{4}-\d{2}-\d{2}/.test(trimmed)) return { [TOML]: trimmed };
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : trimmed;
}

/** Values one per line; those that were there before stay what they were, numbers numbers. */
export function asValues(text: string, before: Value | undefined): Value[] {
  const known = new Map(
    (Array.isArray(before) ? before : []).map((value) => [String(value), value as Value]),
  );
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "").map((line) => known.get(line) ?? line);
}

/** The two ends of a list, as they are written: of a scale, of dates, or what a scale's ends are called. */
export function readPair(keys: Keys, name: string, language: Language | null): [string, string] {
  const value = keys[name];
  const pair = language === null ? value : byLanguage(value, language.usual)[language.now];
  return Array.isArray(pair) ? [readField(pair[0]), readField(pair[1])] : ["", ""];
}

export function writePair(keys: Keys, name: string, language: Language | null, pair: readonly Value[]): void {
  if (language === null) keys[name] = pair;
  else writeOne(keys, name, language, pair.every((end) => end === "") ? undefined : pair);
}

/** Where the file states how important a question is: under its name in a table of all, or at the question. */
export function importanceOf({ study }: Draft, { name, keys }: Question): [keys: Keys, key: string] {
  const listed = tableOf(study, "importance");
  return name in listed ? [listed, name] : [keys, "importance"];
}

const TABLE = " x "; // between the names of questions, where importance is that of their table

/** Let all that names a question follow its new name; pages, tables and importance forget one that was removed
 * (null). */
export function rename({ study, questions }: Draft, before: string, now: string | null): void {
  if (before === now || questions.some(({ name }) => name === before)) return; // another one has that name
  for (const { keys } of now === null ? [] : questions) {
    const { [before]: wanted, ...rest } = tableOf(keys, "only_if");
    if (wanted !== undefined) keys.only_if = { ...rest, [now as string]: wanted };
  }
  const replaced = (names: readonly Value[]): Value[] =>
    names.flatMap((name) => (name === before ? (now === null ? [] : [now]) : [name]));
  changePages(study, replaced);
  if (isTable(study.importance)) {
    const weights = Object.entries(study.importance).map(([key, weight]) => {
      const names = key.split(TABLE);
      return [replaced(names).length < names.length ? "" : replaced(names).join(TABLE), weight] as const;
    });
    study.importance = Object.fromEntries(weights.filter(([key]) => key !== ""));
  }
  const { together, target } = study;
  if (Array.isArray(together) && together.every(Array.isArray)) {
    const tables = together.map(replaced).filter((table) => table.length > 1);
    if (tables.length) study.together = tables;
    else delete study.together;
  }
  if (target !== before) return;
  if (now === null) delete study.target;
  else study.target = now;
}

/** A new question is on the last page, where the file names pages. */
export function addToPages({ study }: Draft, name: string): void {
  changePages(study, (page, isLast) => (isLast ? [...page, name] : page));
}

function changePages(
  study: Keys,
  change: (page: readonly Value[], isLast: boolean) => readonly Value[],
): void {
  const survey = tableOf(study, "survey");
  const { pages } = survey;
  if (!Array.isArray(pages) || !pages.every(Array.isArray)) return;
  survey.pages = pages
    .map((page, i) => change(page, i === pages.length - 1))
    .filter((page) => page.length > 0);
}

/** Whether people are asked once, again and again, or some questions again and others once. */
export function howOften({
  study,
  questions,
}: Pick<Draft, "study" | "questions">): "once" | "again" | "some" {
  if (questions.some(({ keys }) => "repeat" in keys)) return "some";
  return "repeat" in study ? "again" : "once";
}

/** As the file has it: a study all of whose questions have epsilons of their own has none. */
export function written({ study, questions }: Draft, budget: number): Written {
  const { epsilon: _, ...rest } = study;
  const isSilent = ({ keys }: Question): boolean =>
    ["value", true].includes((keys.missing ?? study.missing) as string);
  const hasOwn = (question: Question): boolean => isMetric(question) && !isSilent(question); // whether one answers shares epsilon
  const once = questions.filter(({ keys }) => !("repeat" in keys) && keys.known !== true);
  const askedOnce = howOften({ study, questions }) === "some" ? once : questions;
  const isShared =
    howOften({ study, questions }) !== "again" && !(questions.length > 0 && askedOnce.every(hasOwn));
  const entries = Object.entries(study).map(([key, value]) => [key, key === "epsilon" ? budget : value]);
  const whole = "epsilon" in study ? Object.fromEntries(entries) : { ...study, epsilon: budget };
  return {
    study: isShared ? whole : rest,
    questions: questions.map(({ name, keys, was }) => ({ name, keys, was })),
  };
}
