/** Shows one thing at a time in the page: a study, or why nothing is asked. */

import { DeniableError, InvalidPlan } from "../../src/errors.js";
import { Refused } from "../kit/collector.js";
import { type Child, find, h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import { sentence } from "../kit/phrases.js";
import type { Visit } from "./visit.js";

const main = find("study");

/** Why nothing is asked. */
export function refusal(title: string, ...children: readonly Child[]): HTMLElement {
  return h("section", { class: "notice bad", role: "alert" }, h("h2", {}, title), ...children);
}

/** Show these, and nothing else. */
export function put(...children: readonly HTMLElement[]): void {
  main.replaceChildren(...children);
  main.inert = false;
}

/** What is shown now. */
export function current(): HTMLElement[] {
  return [...main.children] as HTMLElement[];
}

/** Nothing can be answered until something else is shown: an answer to what is there would be lost. */
export function hold(): void {
  main.inert = true;
}

/** Say why nothing is asked. */
export function refuse(visit: Visit, problem: Error): void {
  if (problem instanceof InvalidPlan) {
    return put(
      h("h1", {}, t("not_kept")),
      refusal(t("refused"), h("p", { lang: "en" }, sentence(problem.message)), h("p", {}, t("refused_hint"))),
    );
  }
  const isExpected = problem instanceof DeniableError || problem instanceof Refused;
  if (!isExpected) console.error(problem);
  const again = h("button", { type: "button", click: () => void visit.start() }, t("try_again"));
  const words = isExpected ? sentence(problem.message) : t("went_wrong");
  put(h("h1", {}, t("not_now")), refusal(t("what_happened"), h("p", {}, words), again));
}
