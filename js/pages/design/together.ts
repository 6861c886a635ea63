/** Chooses which answers are read together in tables, or the question that people will be simulated for. */

import { h, quoted } from "../kit/dom.js";
import { FOLLOWS } from "./asking.js";
import { type Draft, isMetric, kindOf, type Question, readField, type Value } from "./draft.js";
import { button, select } from "./fields.js";

const LISTED = ["choice", "yesno", "scale", "range", "date"];
const PAIR = 2;

/** What the panel works with. */
export interface Joining {
  readonly draft: Draft;
  changed(): void;
  announce(text: string): void;
}

/** Whether its answers can be in a table: those of a list or of a range, of which everybody has one. */
function fits(question: Question): boolean {
  const { keys, name } = question;
  const isSecret = keys.known !== true && !("only_if" in keys);
  return name !== "" && isSecret && LISTED.includes(kindOf(keys)) && !isMetric(question);
}

/** The questions of every table that the file asks for. */
function tablesOf({ study }: Draft): string[][] {
  const { together } = study;
  const lists = Array.isArray(together) ? (together as readonly Value[]) : [];
  return lists.flatMap((list) => (Array.isArray(list) ? [list.map((name) => readField(name as Value))] : []));
}

/** The panel; it follows the names and kinds of the questions. */
export function showTogether(section: HTMLElement, joining: Joining): void {
  const { draft, changed, announce } = joining;
  const { study } = draft;
  let drawn = "";
  const looked = (): string =>
    JSON.stringify([
      study.together,
      study.target,
      draft.questions.map((question) => [question.name, fits(question)]),
    ]);
  const write = (tables: readonly (readonly string[])[]): void => {
    if (tables.length) study.together = tables;
    else delete study.together;
    draw();
    changed();
  };
  const add = (): void => {
    const pair = ["together", "together-by"].map(
      (id) => (document.getElementById(id) as HTMLSelectElement).value,
    );
    const has = (table: readonly string[]): boolean => pair.every((name) => table.includes(name));
    const isTwice = pair[0] === pair[1];
    if (isTwice || tablesOf(draft).some(has)) {
      announce(isTwice ? "Choose two different questions." : "This table is there already.");
      return;
    }
    write([...tablesOf(draft), [pair[1] as string, pair[0] as string]]);
    announce(`${pair[0]} by ${pair[1]} was added.`);
    document.getElementById("together-add")?.focus();
  };
  const item = (table: readonly string[], i: number): HTMLElement =>
    h(
      "li",
      { class: "row" },
      h(
        "span",
        {},
        [...table].reverse().map((name, j) => [j > 0 && " by ", quoted(name)]),
      ),
      button(
        "Remove",
        () => {
          write(tablesOf(draft).filter((_, j) => j !== i));
          announce("The table was removed.");
          document.getElementById("together-add")?.focus();
        },
        { "aria-label": `Remove the table of ${table.join(" and ")}` },
      ),
    );
  const draw = (): void => {
    drawn = looked();
    const names = draft.questions.filter(fits).map(({ name }) => name);
    const options = Object.fromEntries(names.map((name) => [name, name]));
    const target = readField(study.target);
    const tables = tablesOf(draft);
    const others = target === "" || target in options ? {} : { [target]: target };
    section.hidden = names.length < PAIR && tables.length === 0 && target === "";
    const choice = (id: string, label: string, value: string): HTMLElement =>
      select({ id, label }, options, value, () => undefined);
    section.replaceChildren(
      h("h2", {}, "Answers together"),
      h(
        "p",
        { class: "soft" },
        target
          ? `The tables of ${target} with each other question are asked.`
          : "To see how one answer depends on another, a report must hold both. Their answers become one value, and one epsilon hides both.",
      ),
      ...(tables.length ? [h("ul", { class: "plain tables" }, tables.map(item))] : []),
      ...(target === "" || tables.length > 0
        ? [
            h(
              "div",
              { class: "fields joining" },
              choice("together", "Read the answers to", names.at(-1) ?? ""),
              choice("together-by", "by the answers to", names[0] ?? ""),
              button("Add this table", add, { id: "together-add" }),
            ),
          ]
        : []),
      h(
        "details",
        { class: "more", open: target !== "" },
        h("summary", {}, "Simulated people"),
        select(
          {
            id: "target",
            label: "People will be simulated for",
            hint: "Such as what a classifier is to tell. Its tables with each other question are asked, and no others. Simulated people have no error bars.",
          },
          { "": "No question", ...options, ...others },
          target,
          (name) => {
            if (name) study.target = name;
            else delete study.target;
            draw();
            document.getElementById("target")?.focus();
            changed();
          },
        ),
      ),
    );
  };
  section.classList.add(FOLLOWS);
  section.addEventListener("refresh", () => {
    if (looked() !== drawn) draw();
  });
  draw();
}
