/** Shows neighboring questions with one scale as rows of a table, whose heads stand above them once. */

import type { Attribute, Plan } from "../../src/index.js";
import { h } from "../kit/dom.js";
import { count, t } from "../kit/messages.js";
import { endsOf } from "./language.js";
import type { Question } from "./question.js";
import type { Item } from "./question_items.js";

type Row = Item & Question;

/** Put the rows of each table into its frame. The questions of a page stand on it already. */
export function joinScales(plan: Plan, page: readonly Row[]): void {
  const tables: Row[][] = [];
  for (const [i, row] of page.entries()) {
    const scale = scaleOf(plan, row);
    const before = page[i - 1];
    if (scale !== null && before && scale === scaleOf(plan, before)) tables.at(-1)?.push(row);
    else tables.push([row]);
  }
  for (const rows of tables) if (rows.length > 1) join(plan, rows);
}

/** What rows of a table have in common; null where a question is none, or has help of its own. */
function scaleOf(plan: Plan, { name, attributes, optional, onlyIf, element }: Row): string | null {
  const { domain, missing } = attributes[0] as Attribute;
  if (!element.matches(".scaled:not(:has(> .hint))") || domain.kind !== "range") return null;
  return JSON.stringify([domain.low, domain.bins, endsOf(plan, name), missing, optional, onlyIf]);
}

function join(plan: Plan, rows: readonly Row[]): void {
  const [{ name, attributes, optional, element }] = rows as readonly [Row];
  const { domain } = attributes[0] as Attribute;
  if (domain.kind !== "range") return;
  const { low, bins } = domain;
  const numbers = Array.from({ length: bins }, (_, i) => h("span", {}, count(low + i)));
  const ends = endsOf(plan, name)?.map((end) => h("bdi", {}, end));
  const frame = h(
    "div",
    { class: `question matrix ${optional ? "optional" : ""}` },
    h(
      "div",
      { class: "heads soft", "aria-hidden": "true" }, // every field says its number and what it means
      h(
        "div",
        { class: "scale" },
        ends && h("div", { class: "ends" }, ends),
        h("div", { class: "steps" }, numbers),
      ),
      optional && h("span", {}, t("no_answer")),
    ),
  );
  element.before(frame);
  frame.append(...rows.map((row) => row.element));
}
