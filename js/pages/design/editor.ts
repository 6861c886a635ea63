/** Shows the questions as a list: each is written, moved and removed here. */

import { h, quoted } from "../kit/dom.js";
import { several } from "../kit/phrases.js";
import { showAnswered, showCondition, showKnown, showMissing, showRepeat } from "./asking.js";
import {
  addToPages,
  asValue,
  asValues,
  changeKind,
  type Draft,
  importanceOf,
  inToml,
  isMetric,
  type Keys,
  KINDS,
  type Kind,
  kindName,
  kindOf,
  type Language,
  makeQuestion,
  type Question,
  readField,
  readLabels,
  readPair,
  readText,
  rename,
  unshown,
  type Value,
  writeLabels,
  writePair,
  writeText,
} from "./draft.js";
import { area, button, figure, line, select, tick } from "./fields.js";
import { nameLanguage, otherTexts } from "./languages.js";
import { hideNear, showPlace } from "./places.js";

const LONGEST = "The fewer, the rarer the text that is found.";

export interface Editing {
  readonly draft: Draft;
  /** In which language texts are written. */
  language(): Language;
  /** Something was changed. */
  changed(): void;
  announce(text: string): void;
}

/** Draw the list; after a change of its order the focus is where it was. */
export function showQuestions(section: HTMLElement, editing: Editing, focus?: string): void {
  const { questions } = editing.draft;
  const items = questions.map((question, i) => h("li", {}, card(section, editing, question, i)));
  const add = (kind: Exclude<Kind, "other">): void => {
    const question = makeQuestion(freshName(questions), {}, null, true);
    changeKind(question, kind);
    for (const other of questions) other.isOpen = false;
    questions.push(question);
    addToPages(editing.draft, question.name);
    showQuestions(section, editing, `q${question.id}-name`);
    const field = document.getElementById(`q${question.id}-name`) as HTMLInputElement | null;
    field?.select();
    editing.changed();
  };
  section.replaceChildren(
    h("h2", { id: "questions-title" }, "Questions"),
    questions.length === 0
      ? h("p", { class: "soft" }, "A study asks at least one question. Add the first one:")
      : h("ol", { class: "questions" }, items),
    h(
      "div",
      { class: "adding", role: "group", "aria-label": "Add a question" },
      h("span", { class: "soft" }, "Add:"),
      Object.entries(KINDS).map(([kind, label]) =>
        button(label, () => add(kind as Exclude<Kind, "other">), { id: `add-${kind}` }),
      ),
    ),
  );
  if (focus) document.getElementById(focus)?.focus();
}

function freshName(questions: readonly Question[]): string {
  const names = new Set(questions.map(({ name }) => name));
  for (let i = questions.length + 1; ; i++) if (!names.has(`question${i}`)) return `question${i}`;
}

/** A question, folded to its name, text, kind and what is known of it; one at a time is open. */
function card(section: HTMLElement, editing: Editing, question: Question, i: number): HTMLElement {
  const { id } = question;
  const short = h("strong", { id: `q${id}-short` });
  const about = h("span", { class: "soft about" });
  const name = (): void => {
    const wording = readText(question.keys, "question", editing.language());
    short.replaceChildren(quoted(question.name || "(no name)"));
    about.replaceChildren(
      h("span", {}, kindName(kindOf(question.keys))),
      ...(wording.text || wording.first ? [" · ", quoted(wording.text || wording.first)] : []),
    );
  };
  const renamed = (): void => {
    name();
    const choice = document.getElementById(`q${id}-kind`);
    if (choice instanceof HTMLSelectElement) choice.value = kindOf(question.keys);
    editing.changed();
  };
  name();
  const summary = h(
    "summary",
    { id: `q${id}-summary`, click: () => stay(summary) },
    short,
    h("span", { class: "verdict", id: `q${id}-verdict` }),
    about,
  );
  const details = h(
    "details",
    { class: "asked", name: "question", open: question.isOpen },
    summary,
    fields(section, editing, question, i, renamed),
  );
  details.addEventListener("toggle", () => (question.isOpen = details.open));
  return details;
}

/** Keep an element where it is on the screen, whatever folds above it. */
function stay(element: HTMLElement): void {
  const { top } = element.getBoundingClientRect();
  requestAnimationFrame(() => scrollBy(0, element.getBoundingClientRect().top - top));
}

function fields(
  section: HTMLElement,
  editing: Editing,
  question: Question,
  i: number,
  changed: () => void,
): HTMLElement {
  const { id, keys } = question;
  const at = `q${id}`;
  const language = editing.language();
  const wording = readText(keys, "question", language);
  const help = readText(keys, "help", language);
  const kind = kindOf(keys);
  const changeTo = (value: string): void => {
    changeKind(question, value as Exclude<Kind, "other">);
    showQuestions(section, editing, `${at}-kind`);
    editing.changed();
  };
  const hidden = unshown(question);
  return h(
    "div",
    { class: "fields" },
    naming(editing, question, changed),
    kind === "other"
      ? h("p", { class: "soft wide" }, "The file has a kind of question that this page does not show.")
      : select({ id: `${at}-kind`, label: "Kind" }, KINDS, kind, changeTo),
    line(
      {
        id: `${at}-question`,
        label: "What people are asked",
        wide: true,
        hint: otherTexts(wording, language),
      },
      wording.text,
      (text) => {
        writeText(keys, "question", language, text);
        changed();
      },
    ),
    ofKind(section, editing, question, kind, changed),
    h(
      "details",
      { class: "wide more" },
      h("summary", {}, "Help, importance and who is asked"),
      area(
        { id: `${at}-help`, label: "Help below the question", hint: otherTexts(help, language) },
        help.text,
        2,
        (text) => {
          writeText(keys, "help", language, text);
          changed();
        },
      ),
      figureOf(
        question,
        "importance",
        "Importance",
        "3 weighs as much as three ordinary questions when a plan is chosen; 1 unless given.",
        changed,
        () => importanceOf(editing.draft, question),
      ),
      showMissing(question, changed),
      showCondition(editing.draft, question, i, changed),
      showAnswered(editing.draft, question, changed),
      showKnown(editing.draft, question, changed),
      showRepeat(editing.draft, question, changed),
    ),
    hidden.length > 0 && keptAside(question, hidden),
    h("p", { class: "complaint wide", id: `${at}-complaint` }),
    h("div", { class: "row wide" }, moving(section, editing, i)),
  );
}

/** What the file has that this page does not change, as it is. */
function keptAside({ keys }: Question, hidden: readonly string[]): HTMLElement {
  const lines = hidden.map((key) => `${key} = ${inToml(keys[key] as Value)}`);
  return h(
    "div",
    { class: "wide aside" },
    h("p", { class: "soft" }, "The file has more about it. This page keeps that, and does not change it:"),
    h("pre", { tabindex: 0, "aria-label": "Kept as it is in the file" }, lines.join("\n")),
  );
}

/** The short name; where others refer to it, they follow when it is written. */
function naming(editing: Editing, question: Question, changed: () => void): HTMLElement {
  let before = question.name;
  const about = { id: `q${question.id}-name`, label: "Short name", hint: "In files and plots." };
  const field = line(about, question.name, (text) => {
    question.name = text.trim();
    changed();
  });
  field.addEventListener("change", () => {
    rename(editing.draft, before, question.name);
    before = question.name;
    changed();
  });
  return field;
}

function moving(section: HTMLElement, editing: Editing, i: number): HTMLElement[] {
  const { questions } = editing.draft;
  const { id, name } = questions[i] as Question;
  const move = (by: number): void => {
    const [moved] = questions.splice(i, 1);
    questions.splice(i + by, 0, moved as Question);
    showQuestions(section, editing, `q${id}-${by < 0 ? "up" : "down"}`);
    editing.announce(`${name} is question ${i + by + 1} of ${questions.length} now.`);
    editing.changed();
  };
  const remove = (): void => {
    questions.splice(i, 1);
    rename(editing.draft, name, null);
    const next = questions[Math.min(i, questions.length - 1)];
    showQuestions(section, editing, next ? `q${next.id}-summary` : "add-choice");
    editing.announce(`${name} was removed; ${several(questions.length, "question")} left.`);
    editing.changed();
  };
  const about = (what: string): Record<string, string> => ({
    "aria-label": `${what} ${name || "the question"}`,
  });
  const [first, end] = [i === 0, i === questions.length - 1];
  const inactive = (is: boolean): Record<string, string> => (is ? { "aria-disabled": "true" } : {});
  return [
    button("Move up", () => !first && move(-1), {
      id: `q${id}-up`,
      ...about("Move up:"),
      ...inactive(first),
    }),
    button("Move down", () => !end && move(1), {
      id: `q${id}-down`,
      ...about("Move down:"),
      ...inactive(end),
    }),
    button("Remove", remove, { class: "quiet bad", ...about("Remove:") }),
  ];
}

/** A field for a number of the question, which stands among its keys or elsewhere. */
function figureOf(
  { id, keys: own }: Question,
  key: string,
  label: string,
  hint: string,
  changed: () => void,
  find = (): [Keys, string] => [own, key],
): HTMLElement {
  const [stated, under] = find();
  return figure({ id: `q${id}-${key}`, label, hint }, readField(stated[under]), (text) => {
    const [keys, at] = find();
    const value = asValue(text, keys[at]);
    if (value === undefined) delete keys[at];
    else keys[at] = value;
    changed();
  });
}

const OTHER =
  "The last answer is “other”: it stands for all that are not listed. People may note what theirs is; the note is never sent";

function flag({ id, keys }: Question, key: string, label: string, changed: () => void): HTMLElement {
  return tick(`q${id}-${key}`, label, keys[key] === true, (on) => {
    if (on) keys[key] = true;
    else delete keys[key];
    changed();
  });
}

function ofKind(
  section: HTMLElement,
  editing: Editing,
  question: Question,
  kind: Kind,
  changed: () => void,
): (HTMLElement | null)[] {
  const { id, keys } = question;
  const field = (key: string, label: string, hint = ""): HTMLElement =>
    figureOf(question, key, label, hint, changed);
  const language = editing.language();
  if (kind === "yesno" && "yes_no" in keys) return [];
  if (kind === "choice" || kind === "yesno" || kind === "several") {
    const key = kind === "several" ? "several" : "values";
    return [
      listOf(question, key, "Answers, one per line", changed),
      ...(kind === "yesno" ? [] : [flag(question, "other", OTHER, changed)]),
      ...(kind === "several"
        ? [
            field("exactly", "Everybody chooses exactly", "A limit makes reports more precise."),
            field("at_most", "People choose at most"),
          ]
        : []),
      ...labelsOf(question, key, language, changed),
    ];
  }
  const ends = [
    field("low", "From"),
    field("high", kind === "range" ? "To under" : "To"),
    ...(kind === "range" ? [field("step", "In steps of")] : []),
  ];
  const open = h(
    "div",
    { class: "row wide" },
    flag(question, "open_low", "Anything below counts as the lowest", changed),
    flag(question, "open_high", "Anything above counts as the highest", changed),
  );
  const again = (): void => {
    showQuestions(section, editing, `q${id}-privacy`);
    editing.changed();
  };
  const budget = (label: string, hint = ""): HTMLElement[] =>
    isMetric(question) ? [field("epsilon", label, hint)] : [];
  if (kind === "number") return [...ends, open];
  if (kind === "scale")
    return [
      ...pairOf(question, "scale", ["From", "To"], null, (text) => asValue(text, undefined) ?? "", changed),
      ...pairOf(
        question,
        "ends",
        ["The lowest is called", "The highest is called"],
        language,
        (text) => text,
        changed,
      ),
      privacy(question, again),
      ...budget("Epsilon per step"),
    ];
  if (kind === "date")
    return [
      ...pairOf(question, "dates", ["From", "To"], null, (text) => text.trim(), changed),
      select(
        { id: `q${id}-by`, label: "Counted by" },
        { month: "Month", year: "Year" },
        readField(keys.by) || "month",
        (by) => {
          keys.by = by;
          changed();
        },
      ),
      privacy(question, again),
      ...budget("Epsilon per month or year"),
    ];
  if (kind === "range")
    return [
      ...ends,
      open,
      ...(isMetric(question) ? [] : [rangesOf(question, changed)]),
      privacy(question, again),
      ...budget("Epsilon per unit", "Near answers hide each other best: 0.3 per year of age."),
    ];
  if (kind === "text") return textOf(question, field("longest", "Letters that are kept", LONGEST), changed);
  return kind === "place" ? showPlace(question, field, privacy(question, again)) : [];
}

/** Whether ranges of a number's values will be read, and quantiles. */
function rangesOf({ id, keys }: Question, changed: () => void): HTMLElement {
  const label = "Ranges and quantiles will be read, more than single values";
  const box = tick(`q${id}-queries`, label, keys.queries === "ranges", (on) => {
    if (on) keys.queries = "ranges";
    else delete keys.queries;
    changed();
  });
  return h("div", { class: "row wide" }, box);
}

/** The letters of a text, how many are kept, and what becomes of the others. */
function textOf(question: Question, longest: HTMLElement, changed: () => void): HTMLElement[] {
  const { id, keys } = question;
  const alphabet = line(
    { id: `q${id}-alphabet`, label: "Letters", hint: "a-z0-9.- are small letters, digits, dot and dash." },
    readField(keys.alphabet),
    (text) => {
      keys.alphabet = text;
      changed();
    },
  );
  const cut = tick(`q${id}-cut`, "Longer text is cut, not refused", keys.cut !== false, (on) => {
    if (on) delete keys.cut;
    else keys.cut = false;
    changed();
  });
  const listed = tick(
    `q${id}-levels`,
    "There is a public list of it, or there will be: rarer text is found",
    keys.levels === false,
    (on) => {
      if (on) keys.levels = false;
      else delete keys.levels;
      changed();
    },
  );
  return [alphabet, longest, h("div", { class: "row wide" }, cut, listed)];
}

/** A list, one per line. */
function listOf({ id, keys }: Question, key: string, label: string, changed: () => void): HTMLElement {
  const value = keys[key];
  const text = Array.isArray(value) ? value.map(readField).join("\n") : readField(value);
  const rows = Math.min(12, Math.max(3, text.split("\n").length + 1));
  return area({ id: `q${id}-${key}`, label }, text, rows, (written) => {
    keys[key] = asValues(written, keys[key]);
    changed();
  });
}

/** What the answers are called in another language than the first. */
function labelsOf(
  { id, keys }: Question,
  key: string,
  { usual, now }: Language,
  changed: () => void,
): HTMLElement[] {
  const value = keys[key];
  const values = Array.isArray(value) ? value.map(readField) : [];
  if (now === usual || values.length === 0) return [];
  return values.map((value, i) =>
    line(
      { id: i ? `q${id}-labels-${i + 1}` : `q${id}-labels`, label: `“${value}” in ${nameLanguage(now)}` },
      readLabels(keys, now, values.length)[i] ?? "",
      (text) => {
        writeLabels(keys, now, readLabels(keys, now, values.length).with(i, text));
        changed();
      },
    ),
  );
}

/** Two fields for a list of two. */
function pairOf(
  { id, keys }: Question,
  key: string,
  labels: readonly [string, string],
  language: Language | null,
  asOne: (text: string) => Value,
  changed: () => void,
): HTMLElement[] {
  return labels.map((label, i) =>
    line(
      { id: i ? `q${id}-${key}-2` : `q${id}-${key}`, label },
      readPair(keys, key, language)[i] ?? "",
      (text) => {
        const pair: Value[] = readPair(keys, key, language).map(asOne);
        pair[i] = asOne(text);
        writePair(keys, key, language, pair);
        changed();
      },
    ),
  );
}

/** Whether all answers hide each other equally, or near ones best. */
function privacy(question: Question, changed: () => void): HTMLElement {
  const { id, keys } = question;
  const isPlace = kindOf(keys) === "place";
  const set = (value: string): void => {
    for (const key of ["privacy", "epsilon", "level", "radius"]) delete keys[key];
    if (value === "equal" && isPlace) keys.privacy = "equal";
    if (value === "metric" && isPlace) hideNear(question);
    if (value === "metric" && !isPlace) Object.assign(keys, { privacy: "metric", epsilon: 0.3 });
    changed();
  };
  return select(
    { id: `q${id}-privacy`, label: "What hides an answer", wide: true },
    {
      equal: "All other answers equally, by the study’s epsilon",
      metric: "Near answers best, by an epsilon of its own",
    },
    isMetric(question) ? "metric" : "equal",
    set,
  );
}
