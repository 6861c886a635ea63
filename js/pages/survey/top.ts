/** Lays out what stands above the questions: in full on the first page, in a line each on those after it. */

import { h } from "../kit/dom.js";
import { foldDevice } from "./device.js";

/** The page turns: whether to its first one. */
export type Turned = (isFirst: boolean) => void;

/** Shortens the head of a survey, and folds the box of its promise and what the device remembers. */
export function turning(head: HTMLElement, box: HTMLElement): Turned {
  const rating = box.querySelector(".verified span")?.firstChild?.textContent;
  const fold = h("details", { class: `${box.className} folded` }, h("summary", {}, rating));
  return (isFirst) => {
    shorten(head, !isFirst);
    foldDevice(!isFirst);
    if (isFirst && box.parentElement === fold) {
      fold.replaceWith(box);
      fold.open = false;
    } else if (!isFirst && box.parentElement !== fold) {
      box.replaceWith(fold);
      fold.append(box);
    }
  };
}

/** Leave of a head only the title. */
export function shorten(head: HTMLElement, isShort: boolean): void {
  head.classList.toggle("short", isShort);
}
