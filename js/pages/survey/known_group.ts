/** Says what is known and sent as it is, and finds the group that a link names; for plans that know groups. */

import type { Plan } from "../../src/index.js";
import { h } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { localized } from "./labels.js";
import { asking } from "./language.js";
import type { Reply } from "./question.js";

/** The groups that a link names for a plan: `group=A` after the plan, or in a link without plans. */
export function groupsIn(link: string, plan: string): string[] {
  const groups: string[] = [];
  let isHere = true;
  for (const [name, value] of new URLSearchParams(link.slice(link.indexOf("#") + 1))) {
    if (name === "plan") isHere = plan.startsWith(value) || value.startsWith(plan);
    else if (name === "group" && isHere) groups.push(value);
  }
  return groups;
}

/** The answers that the link names, one for each known question; none where one is not a right one. */
export function knownReplies(plan: Plan): Reply[] {
  const groups = groupsIn(location.hash, plan.id);
  const questions = plan.open;
  if (!questions.length || groups.length !== questions.length) return [];
  try {
    return questions.map((question, i) => {
      const answer = groups[i] as string;
      const shown = localized(plan, question, question.domain.label(question.code(answer) as number));
      return { name: question.name, answer, shown, isKnown: true };
    });
  } catch {
    return []; // it is asked then
  }
}

/** What the link says of the person, who cannot change it. */
export const showKnown = (replies: readonly Reply[]): HTMLElement =>
  h(
    "p",
    { class: "notice known" },
    t("known_sent"),
    replies.map(({ name, shown }, i) => [
      i > 0 && ", ",
      h("bdi", {}, name),
      " = ",
      h("b", {}, h("bdi", {}, shown)),
    ]),
  );

/** What a known question says below its title, where it is asked. */
export const hintKnown = (plan: Plan, name: string): HTMLElement[] =>
  plan.known?.names.includes(name) ? [h("p", { class: "known" }, t("known_asked"))] : [];

/** What a promise does not hold for: the answers that are known. */
export const exceptKnown = (plan: Plan): HTMLElement | null =>
  plan.known &&
  h(
    "p",
    { class: "again known" },
    rich("known_promise", {
      names: plan.known.names.map((name, i) => [
        i > 0 && ", ",
        rich("in_quotes", { name: asking(plan, name) }),
      ]),
    }),
  );
