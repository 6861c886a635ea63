/** Holds what the parts of the survey share: what is shown, what is remembered, and how to begin again. */

import { DeniableError, InvalidPlan } from "../../src/errors.js";
import type { Ledger, Plan } from "../../src/index.js";
import { Refused, type Summary } from "../kit/collector.js";
import { type Child, find, h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import { sentence } from "../kit/phrases.js";

const main = find("study");

/** A study that may be answered now. */
export interface Offer {
  readonly plan: Plan;
  readonly summary: Summary;
  readonly round: number;
}

/** What changes while the page is open. */
export const shared = {
  invitation: null as string | null,
  ledger: undefined as unknown as Ledger, // there before anything is offered
  known: null as typeof import("./known_group.js") | null, // where the study knows groups
  texts: null as typeof import("./question_text.js") | null, // where the study asks for text
  tickets: null as typeof import("./tickets.js") | null, // where the study has them
  shown: new AbortController(), // ends the wait for a ticket when something else is shown
  remembering: new AbortController(), // ends what is being sent when everything was forgotten
  start: (async () => undefined) as (isForgotten?: boolean) => Promise<void>,
};

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

/** Say above the button of a form why nothing happens. */
export function complain(form: HTMLFormElement | null, words: string): void {
  const old = form?.querySelector(".act .notice");
  const notice = h("p", { class: "notice bad", role: "alert" }, words);
  if (words) form?.querySelector(".act")?.prepend(notice);
  old?.remove();
}

/** Say why nothing is asked. */
export function refuse(problem: Error): void {
  if (problem instanceof InvalidPlan) {
    return put(
      h("h1", {}, t("not_kept")),
      refusal(t("refused"), h("p", { lang: "en" }, sentence(problem.message)), h("p", {}, t("refused_hint"))),
    );
  }
  const known = problem instanceof DeniableError || problem instanceof Refused;
  if (!known) console.error(problem);
  const again = h("button", { type: "button", click: () => void shared.start() }, t("try_again"));
  const words = known ? sentence(problem.message) : t("went_wrong");
  put(h("h1", {}, t("not_now")), refusal(t("what_happened"), h("p", {}, words), again));
}
