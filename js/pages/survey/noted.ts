/** Lets people note what an answer stands for that is not listed: for themselves, since no note is ever sent. */

import { h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import type { Question } from "./question.js";

const LONGEST = 200; // letters

/** The question with a field for a note, which is seen while `other` is chosen. */
export function noted(question: Question, other: string, j: number): Question {
  const field = h("input", {
    type: "text",
    id: `note-${j}`,
    maxlength: LONGEST,
    autocomplete: "off",
    spellcheck: "false", // some browsers send a text away to have it checked
    dir: "auto",
  });
  const place = h(
    "div",
    { class: "note", hidden: true },
    h("label", { for: field.id }, t("other_note")),
    field,
  );
  const follow = (): void => {
    place.hidden = ![question.read() ?? []].flat().includes(other);
  };
  question.element.addEventListener("change", follow, true); // also where an event does not bubble
  const next = question.element.querySelector(":scope > .choice.none") ?? question.complaint;
  next.before(place);
  return { ...question, note: () => (place.hidden ? "" : field.value.trim()) };
}
