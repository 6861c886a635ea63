/** Frames the fields of one question, with its title and the operator's help. */

import { type Child, h } from "../kit/dom.js";
import type { About } from "./questions.js";

/** A group of fields that belong to one question, and below them what is wrong. */
export function framed(about: About, extra: string, ...children: readonly Child[]): HTMLElement {
  const { title, help, complaint } = about;
  const named = { class: `question ${extra}`.trim() };
  return h("fieldset", named, h("legend", {}, title), help, ...children, complaint);
}
