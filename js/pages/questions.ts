/** Asks the questions in a form whose answers leave it only through the client. */

import { type Attribute, type Domain, type Grid, InvalidValue, type Plan, type Range } from "../src/index.js";
import { h, quoted } from "./dom.js";
import { sentence } from "./phrases.js";

/** What only plans that ask for locations need; it is loaded for them. */
export type LocationFields = typeof import("./location.js");

const MOST_BUTTONS = 7;
const NOTHING = "No answer";

/** An answer as the client takes it, and as the person reads it. */
export interface Given {
  readonly name: string;
  readonly answer: string | null;
  readonly shown: string;
}

/** One question: its fields, what they say now, and where to complain. */
export interface Question {
  readonly element: HTMLElement;
  /** The answer; null for none; undefined where nothing was chosen. */
  read(): string | null | undefined;
  /** What may be wrong with an answer that is not taken; empty where nobody knows. */
  suspect?(answer: string): string;
  readonly complaint: HTMLElement;
  readonly fields: readonly (HTMLInputElement | HTMLSelectElement)[];
}

/** The form of a plan. `done` gets the answers once all of them can be taken. */
export function questions(
  plan: Plan,
  locations: LocationFields | null,
  done: (given: readonly Given[]) => Promise<void>,
): HTMLFormElement {
  const optional = plan.missing !== "refuse";
  const nothing = plan.missing === "random" ? `${NOTHING}: a random value takes its place` : NOTHING;
  const asked = plan.attributes.map((attribute, j) => question(attribute, j, optional, locations));
  const button = h("button", { type: "submit", class: "main" }, "Make my report");
  return h(
    "form",
    { novalidate: true, autocomplete: "off", submit: (event) => void submitted(event) },
    asked.map(({ element }) => element),
    h(
      "div",
      { class: "act" },
      h(
        "p",
        { class: "soft", id: "once" },
        "Nothing is sent yet. The report is drawn once: after this step you cannot change your answers.",
      ),
      button,
    ),
  );

  async function submitted(event: Event): Promise<void> {
    event.preventDefault();
    const given = plan.attributes.map((attribute, j) => answered(attribute, asked[j] as Question, nothing));
    const wrong = given.indexOf(null);
    if (wrong >= 0) {
      asked[wrong]?.fields[0]?.focus();
      return;
    }
    button.disabled = true;
    try {
      await done(given as Given[]);
    } finally {
      button.disabled = false;
    }
  }
}

function answered(
  attribute: Attribute,
  { read, complaint, fields, suspect }: Question,
  nothing: string,
): Given | null {
  const answer = read();
  let problem = answer === undefined ? "Please choose an answer" : "";
  let shown = nothing;
  if (typeof answer === "string") {
    try {
      shown = kept(answer, attribute);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      problem =
        attribute.domain.kind === "categories" ? error.message : `Please enter ${allowed(attribute.domain)}`;
      if (suspect?.(answer)) problem = `${suspect(answer)} ${problem}`;
    }
  }
  complaint.textContent = problem && sentence(problem);
  for (const field of fields) field.setAttribute("aria-invalid", String(problem !== ""));
  return problem ? null : { name: attribute.name, answer: answer ?? null, shown };
}

/** An answer as it stays: with the bin or the cell that it is in, where that is not the answer itself. */
function kept(answer: string, { domain, name }: Attribute): string {
  const code = domain.code(answer, name);
  if (domain.kind === "categories") return domain.label(code);
  return domain.kind === "number"
    ? answer
    : `${answer} (${domain.kind === "grid" ? "the cell " : ""}${domain.label(code)})`;
}

function question(
  attribute: Attribute,
  j: number,
  optional: boolean,
  locations: LocationFields | null,
): Question {
  const { name, domain } = attribute;
  const complaint = h("p", { class: "complaint", id: `complaint-${j}`, role: "alert" });
  if (domain.kind === "grid")
    return location(name, domain, j, optional, complaint, locations as LocationFields);
  if (domain.kind !== "categories") return number(name, domain, j, optional, complaint);
  const { labels } = domain;
  return labels.length > MOST_BUTTONS
    ? list(name, labels, j, optional, complaint)
    : buttons(name, labels, j, optional, complaint);
}

function buttons(
  name: string,
  labels: readonly string[],
  j: number,
  optional: boolean,
  complaint: HTMLElement,
): Question {
  const choice = (label: string, value: string, extra = ""): [HTMLInputElement, HTMLElement] => {
    const field = h("input", { type: "radio", name: `q${j}`, value, "aria-describedby": complaint.id });
    return [field, h("label", { class: `choice ${extra}` }, field, h("span", {}, quoted(label)))];
  };
  const choices = labels.map((label, i) => choice(label, String(i)));
  if (optional) choices.push(choice(NOTHING, "", "none"));
  const fields = choices.map(([field]) => field);
  return {
    element: h(
      "fieldset",
      { class: "question" },
      h("legend", {}, quoted(name)),
      choices.map(([, label]) => label),
      complaint,
    ),
    complaint,
    fields,
    read: () => {
      const chosen = fields.find((field) => field.checked);
      return chosen && (chosen.value === "" ? null : (labels[Number(chosen.value)] as string));
    },
  };
}

function list(
  name: string,
  labels: readonly string[],
  j: number,
  optional: boolean,
  complaint: HTMLElement,
): Question {
  const field = h(
    "select",
    { id: `q${j}`, "aria-describedby": complaint.id },
    h("option", { value: "?", selected: true, disabled: true }, "Choose…"),
    labels.map((label, i) => h("option", { value: i, dir: "auto" }, label)),
    optional && h("option", { value: "" }, NOTHING),
  );
  return {
    element: h(
      "div",
      { class: "question" },
      h("label", { for: field.id, class: "legend" }, quoted(name)),
      field,
      complaint,
    ),
    complaint,
    fields: [field],
    read: () => (field.value === "?" ? undefined : field.value === "" ? null : labels[Number(field.value)]),
  };
}

function number(
  name: string,
  domain: Domain,
  j: number,
  optional: boolean,
  complaint: HTMLElement,
): Question {
  const field = h("input", {
    type: "number",
    id: `q${j}`,
    step: "any",
    inputmode: "decimal",
    "aria-describedby": `hint-${j} ${complaint.id}`,
  });
  const none = h("input", { type: "checkbox", change: () => void (field.disabled = none.checked) });
  return {
    element: h(
      "div",
      { class: "question" },
      h("label", { for: field.id, class: "legend" }, quoted(name)),
      h("p", { class: "soft hint", id: `hint-${j}` }, sentence(allowed(domain))),
      h(
        "div",
        { class: "number" },
        field,
        optional && h("label", { class: "choice none" }, none, h("span", {}, NOTHING)),
      ),
      complaint,
    ),
    complaint,
    fields: [field],
    read: () => (none.checked ? null : field.validity.badInput ? "?" : field.value || undefined),
  };
}

function location(
  name: string,
  domain: Grid,
  j: number,
  optional: boolean,
  complaint: HTMLElement,
  { askLocation, exampleOf }: LocationFields,
): Question {
  const none = optional ? h("input", { type: "checkbox" }) : null;
  const { element, ...asked } = askLocation(domain, j, none, complaint);
  const example = ` You can paste both at once: ${exampleOf(domain)}`;
  return {
    ...asked,
    element: h(
      "fieldset",
      { class: "question" },
      h("legend", {}, quoted(name)),
      h("p", { class: "soft hint", id: `hint-${j}` }, sentence(allowed(domain)), example),
      element,
      none && h("label", { class: "choice none" }, none, h("span", {}, NOTHING)),
    ),
    complaint,
  };
}

/** What may be entered, in words. */
function allowed(domain: Domain): string {
  if (domain.kind === "range") return `a number ${bins(domain)}`;
  if (domain.kind === "number")
    return `a number ${ends(String(domain.low), String(domain.high), domain.openLow, domain.openHigh)}`;
  if (domain.kind !== "grid") return "one of these";
  const { south, north, west, east } = domain;
  return `a latitude from ${south} to ${north} and a longitude from ${west} to ${east}, in degrees`;
}

/** A number beyond an open end counts as the end. */
function ends(low: string, high: string, openLow: boolean, openHigh: boolean): string {
  if (!openLow && !openHigh) return `from ${low} to ${high}`;
  const [below, above] = [`numbers below ${low} count as ${low}`, `numbers above ${high} count as ${high}`];
  if (openLow && openHigh) return `of any size; ${below}, ${above}`;
  return openHigh ? `from ${low} up; ${above}` : `up to ${high}; ${below}`;
}

function bins({ low, step, bins, digits, openLow, openHigh }: Range): string {
  const [first, end] = [low, low + bins * step].map((edge) => (edge / 10 ** digits).toFixed(digits));
  if (openLow && openHigh) return "of any size";
  if (openHigh) return `from ${first} up`;
  return openLow ? `under ${end}` : `from ${first} to under ${end}`;
}
