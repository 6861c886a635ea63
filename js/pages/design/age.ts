/** Says of a part of the page whether it shows the study as it is, or as it was before the last change. */

import { h } from "../kit/dom.js";

export type Age = "now" | "computing" | "failed";

const WORDS: Readonly<Record<Age, string>> = {
  now: "",
  computing: "Before your last change. Computing…",
  failed: "Before your last change. It could not be computed again.",
};

/** The line in which a part says that it is old. */
export const ageLine = (kind = ""): HTMLElement => h("p", { class: `age ${kind}` });

/** Mark a part, for eyes and for screen readers; at first there is nothing old to see. */
export function setAge(part: HTMLElement, age: Age, isFirst = false): void {
  const words = age === "computing" && isFirst ? "Computing…" : WORDS[age];
  part.setAttribute("aria-busy", String(age === "computing"));
  part.classList.toggle("old", age !== "now");
  const line = part.querySelector(":scope > .age");
  if (line && line.textContent !== words) line.textContent = words;
}
