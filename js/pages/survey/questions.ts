/** Asks the questions in a form whose answers leave it only through the client. */

import { InvalidValue } from "../../src/errors.js";
import type { Attribute, Domain, Plan, Range } from "../../src/index.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, rich, spoken, t } from "../kit/messages.js";
import { sentence } from "../kit/phrases.js";
import { hintKnown, knownReplies, showKnown } from "./known_group.js";
import { localized } from "./labels.js";
import { asking, endsOf, labelsOf, optionOf, paragraphs } from "./language.js";
import { askLocation } from "./location.js";
import { joinScales } from "./matrix.js";
import { noted } from "./noted.js";
import { readNumber } from "./numbers.js";
import { type About, described, framed, type Question, type Reply } from "./question.js";
import { follow } from "./question_conditions.js";
import { type Item, pagesOf } from "./question_items.js";
import { askDate, askScale, askSeveral } from "./question_kinds.js";
import { paginate } from "./question_pages.js";
import { askText } from "./question_text.js";
import type { Turned } from "./top.js";

const MOST_BUTTONS = 7;
const MOST_STEPS = 11; // of a scale

/** The form of a plan, and what can be done with it. */
export interface QuestionForm {
  readonly element: HTMLFormElement;
  /** All answers, or null where one is wrong, which is shown. */
  read(): readonly Reply[] | null;
  /** Show a question, whatever page it is on, and move there. */
  show(name: string): void;
  /** Lead from the first page back to what was before it, by the button that goes back a page. */
  leadBack(before: () => void): void;
  /** Say above the button why nothing happens; with no words, no more. */
  complain(words: string): void;
}

/** The form of a plan, with the questions that are asked. `done` gets the answers once all of them can be taken. */
export function questions(
  plan: Plan,
  names: readonly string[],
  done: (replies: readonly Reply[]) => Promise<void>,
  turned: Turned = () => undefined,
): QuestionForm {
  const known = knownReplies(plan);
  const isFixed = new Set(known.map(({ name }) => name));
  const pages = pagesOf(plan)
    .map((items) =>
      items
        .filter(({ attributes }) => attributes.some(({ name }) => names.includes(name) && !isFixed.has(name)))
        .map((item) => ({ ...item, ...forgiving(question(plan, item)) })),
    )
    .filter((items) => items.length);
  const items = pages.flat();
  let before: (() => void) | undefined;
  const button = h("button", { type: "submit", class: "main" }, t("review"));
  const form = h(
    "form",
    { novalidate: true, autocomplete: "off", submit: (event) => void submitted(event) },
    known.length > 0 && showKnown(known),
    items.map(({ element }) => element),
    h("div", { class: "act" }, h("p", { class: "soft", id: "once" }, t("nothing_sent")), button),
  );
  const elements = pages.map((page) => page.map(({ element }) => element));
  const paged = pages.length > 1 ? paginate(form, elements, button, () => before, turned) : undefined;
  for (const page of pages) joinScales(plan, page);
  follow(form, items, () => paged?.update());
  return {
    element: form,
    read: () => read(items),
    show: (name) => {
      const item = items.find((each) => each.name === name);
      if (!item) return;
      paged?.show(item.element);
      (item.fields.find((field) => "checked" in field && field.checked) ?? item.fields[0])?.focus();
    },
    leadBack: (start) => {
      const back = form.querySelector<HTMLElement>(".act .back");
      if (back) back.hidden = false;
      else form.querySelector(".act")?.append(h("button", { type: "button", click: start }, t("back")));
      before = start;
    },
    complain: (words) => {
      const old = form.querySelector(".act .notice");
      const notice = h("p", { class: "notice bad", role: "alert" }, words);
      if (words) form.querySelector(".act")?.prepend(notice);
      old?.remove();
    },
  };

  async function submitted(event: Event): Promise<void> {
    event.preventDefault();
    const onPage = paged ? items.filter(({ element }) => paged.shown().includes(element)) : items;
    if (read(onPage) === null || paged?.next()) return;
    const replies = read(items);
    if (replies === null) return;
    button.disabled = true;
    try {
      await done(replies);
    } finally {
      button.disabled = false;
    }
  }

  /** The answers to what applies, or null where one is wrong, which is shown. */
  function read(list: typeof items): Reply[] | null {
    const visible = list.filter(({ element }) => !element.hidden);
    const replies = visible.map((item) => replyTo(plan, item));
    const wrong = replies.indexOf(null);
    if (wrong < 0) return [...known, ...(replies as Reply[])];
    paged?.show(visible[wrong]?.element as HTMLElement);
    visible[wrong]?.fields[0]?.focus();
    return null;
  }
}

/** A question that is answered anew is not complained about until it is read again. */
function forgiving(question: Question): Question {
  const forgive = (event: Event): void => {
    if (question.complaint.contains(event.target as Node)) return;
    question.complaint.replaceChildren();
    for (const field of question.fields) field.setAttribute("aria-invalid", "false");
  };
  question.element.addEventListener("input", forgive);
  question.element.addEventListener("change", forgive);
  return question;
}

/** The answer to a question, or null where it is wrong, which is said. */
function replyTo(
  plan: Plan,
  { name, attributes, read, complaint, fields, wanted, suspect, say, doubt, note }: Item & Question,
): Reply | null {
  const attribute = attributes[0] as Attribute;
  const answer = read();
  const doubted = doubt?.();
  let problem: Child = doubted ?? (answer === undefined ? t("choose_answer") : null);
  let shown = t(attribute.missing === "random" ? "no_answer_random" : "no_answer");
  if (Array.isArray(answer)) shown = answer.map((option) => optionOf(plan, name, option)).join(", ");
  if (Array.isArray(answer) && !answer.length) shown = t("none_of_these");
  if (typeof answer === "string" && !doubted) {
    try {
      shown = say?.(answer) ?? kept(plan, answer, attribute);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      problem = sentence(t("enter", { what: wanted ?? allowed(attribute.domain) }));
      if (suspect?.(answer)) problem = `${suspect(answer)} ${problem}`;
    }
  }
  complaint.replaceChildren(...(problem === null ? [] : [h("span", {}, problem)]));
  for (const field of fields) field.setAttribute("aria-invalid", String(problem !== null));
  return problem === null ? { name, answer: answer ?? null, shown, note: note?.() ?? "" } : null;
}

/** An answer as it stays: with the bin that it is in, where that is not the answer itself. */
function kept(plan: Plan, answer: string, attribute: Attribute): string {
  const { domain, name } = attribute;
  const code = domain.code(answer, name) as number; // of text, `say` says it
  if (domain.kind === "categories") return localized(plan, attribute, domain.label(code));
  if (domain.kind !== "range") return written(answer);
  if (domain.unit) return localized(plan, attribute, domain.label(code));
  return `${written(answer)} (${localized(plan, attribute, domain.label(code))})`;
}

/** A number as the locale writes it, with all its digits. */
function written(answer: string): string {
  return count(Number(answer)).replace("-", "−");
}

function question(plan: Plan, { name, attributes, j, optional }: Item): Question {
  const { domain, several, allowed: limit } = attributes[0] as Attribute;
  const complaint = h("div", { class: "complaint", id: `complaint-${j}`, role: "alert" });
  const none = t("no_answer");
  const about = { j, optional, none, complaint, title: asking(plan, name), help: helping(plan, name, j) };
  const hasOther = plan.texts?.attributes?.[name]?.other;
  if (several !== null) {
    const options = attributes.map(({ option }) => option);
    const shown = options.map((option) => optionOf(plan, name, option));
    const boxes = askSeveral(options, shown, limit, about);
    return hasOther ? noted(boxes, options.at(-1) as string, j) : boxes;
  }
  if (domain.kind === "grid") return askLocation(domain, plan.maps[name], sentence(allowed(domain)), about);
  if (domain.kind === "text" || domain.kind === "code") return askText(domain, about);
  if (domain.kind === "range" && domain.unit) {
    if (domain.unit !== "whole") return askDate(domain, about);
    if (domain.bins <= MOST_STEPS) return askScale(domain, endsOf(plan, name), about);
  }
  if (domain.kind !== "categories") return number(domain, about);
  const { labels } = domain;
  const shown = labelsOf(plan, name) ?? labels;
  const listed = labels.length > MOST_BUTTONS ? list(labels, shown, about) : buttons(labels, shown, about);
  return hasOther ? noted(listed, labels.at(-1) as string, j) : listed;
}

/** The operator's help with a question. */
function helping(plan: Plan, name: string, j: number): HTMLElement | null {
  const help = paragraphs(plan, plan.texts?.attributes?.[name]?.help);
  help.push(...hintKnown(plan, name));
  return help.length ? h("div", { class: "soft hint", id: `help-${j}` }, help) : null;
}

function buttons(labels: readonly string[], shown: readonly string[], about: About): Question {
  const { j, complaint } = about;
  const choice = (label: string, value: string, extra = ""): [HTMLInputElement, HTMLElement] => {
    const field = h("input", { type: "radio", name: `q${j}`, value, "aria-describedby": described(about) });
    return [field, h("label", { class: `choice ${extra}` }, field, h("span", {}, quoted(label)))];
  };
  const choices = shown.map((label, i) => choice(label, String(i)));
  if (about.optional) choices.push(choice(about.none, "", "none"));
  const fields = choices.map(([field]) => field);
  return {
    element: framed(
      about,
      "",
      choices.map(([, label]) => label),
    ),
    complaint,
    fields,
    read: () => {
      const chosen = fields.find((field) => field.checked);
      return chosen && (chosen.value === "" ? null : (labels[Number(chosen.value)] as string));
    },
  };
}

function list(labels: readonly string[], shown: readonly string[], about: About): Question {
  const { j, complaint } = about;
  const field = h(
    "select",
    { id: `q${j}`, "aria-describedby": described(about) },
    h("option", { value: "?", selected: true, disabled: true }, t("choose")),
    shown.map((label, i) => h("option", { value: i, dir: "auto" }, label)),
    about.optional && h("option", { value: "" }, about.none),
  );
  return {
    element: h(
      "div",
      { class: "question" },
      h("label", { for: field.id, class: "legend" }, about.title),
      about.help,
      field,
      complaint,
    ),
    complaint,
    fields: [field],
    read: () => (field.value === "?" ? undefined : field.value === "" ? null : labels[Number(field.value)]),
  };
}

function number(domain: Domain, about: About): Question {
  const { j, complaint } = about;
  let decided: { readonly text: string; readonly number: string } | null = null; // what was asked back
  const field = h("input", {
    type: "text", // a field for numbers drops what it does not know, such as a comma
    id: `q${j}`,
    inputmode: "decimal",
    autocomplete: "off",
    "aria-describedby": described(about, true),
    input: () => void (decided = null),
  });
  const none = h("input", {
    type: "checkbox",
    id: `q${j}-none`,
    change: () => void (field.disabled = none.checked),
  });
  const reading = (): ReturnType<typeof readNumber> =>
    decided?.text === field.value ? decided : readNumber(field.value, spoken().tag);
  const meant = (number: string): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        click: () => {
          decided = { text: field.value, number };
          complaint.replaceChildren();
          field.setAttribute("aria-invalid", "false");
          field.focus();
        },
      },
      written(number),
    );
  return {
    element: h(
      "div",
      { class: "question" },
      h("label", { for: field.id, class: "legend" }, about.title),
      about.help,
      h("p", { class: "soft hint", id: `hint-${j}` }, sentence(allowed(domain))),
      h(
        "div",
        { class: "number" },
        field,
        about.optional && h("label", { class: "choice none" }, none, h("span", {}, about.none)),
      ),
      complaint,
    ),
    complaint,
    fields: [field],
    doubt: () => {
      const read = none.checked ? null : reading();
      if (!read || !("either" in read)) return undefined;
      const [decimal, grouped] = read.either;
      return rich("ambiguous", {
        text: quoted(field.value.trim()),
        one: meant(grouped),
        other: meant(decimal),
      });
    },
    read: () => {
      if (none.checked) return null;
      if (field.value.trim() === "") return undefined;
      const read = reading();
      return read && "number" in read ? read.number : "?";
    },
  };
}

/** What may be entered, in words. */
function allowed(domain: Domain): string {
  if (domain.kind === "range") return bins(domain);
  if (domain.kind === "number") return ends(domain.low, domain.high, domain.openLow, domain.openHigh);
  if (domain.kind !== "grid") return t("one_of_these");
  const { south, north, west, east } = domain;
  return t("location_between", { south, north, west, east });
}

/** A number beyond an open end counts as the end. */
function ends(low: number, high: number, openLow: boolean, openHigh: boolean): string {
  const values = { low, high };
  if (!openLow && !openHigh) return t("number_between", values);
  const [below, above] = [t("counts_low", values), t("counts_high", values)];
  if (openLow && openHigh) return `${t("number_any")}; ${below}, ${above}`;
  return openHigh ? `${t("number_up", values)}; ${above}` : `${t("number_up_to", values)}; ${below}`;
}

function bins({ low, step, bins, digits, openLow, openHigh, unit }: Range): string {
  if (unit) return t("whole_between", { low, high: low + bins - 1 });
  const values = { low: low / 10 ** digits, high: (low + bins * step) / 10 ** digits };
  if (openLow && openHigh) return t("number_any");
  if (openHigh) return t("number_up", values);
  return t(openLow ? "number_under" : "number_below", values);
}
