/** Shows a long survey page by page, with what is done and what is left. */

import { h } from "../kit/dom.js";
import { t } from "../kit/messages.js";

/** Which page is shown, and how to show another. */
export interface Pages {
  /** Go on; false where this was the last page. */
  next(): boolean;
  /** Show the page with this element. */
  show(element: HTMLElement): void;
  /** The elements of the page that is shown. */
  shown(): readonly HTMLElement[];
  /** Look again which pages have a question to show. */
  update(): void;
}

/**
 * Lay out elements on pages above the buttons, of which `button` goes on and ends; `before` is before the first.
 * `turned` hears whether the first page is shown, whenever one is.
 */
export function paginate(
  form: HTMLFormElement,
  pages: readonly (readonly HTMLElement[])[],
  button: HTMLButtonElement,
  before: () => (() => void) | undefined,
  turned: (isFirst: boolean) => void,
): Pages {
  let at = 0;
  const end = button.textContent ?? "";
  const heading = h("h2", { tabindex: -1, id: "page" });
  const progress = h("progress", { "aria-labelledby": "page" });
  const back = h("button", { type: "button", class: "back", click: () => goBack() }, t("back"));
  const isOpen = (page: number): boolean => (pages[page] ?? []).some((element) => !element.hidden);
  const open = (): number[] => pages.map((_, page) => page).filter(isOpen);
  const sections = pages.map((elements) => h("div", { class: "page" }, elements));

  const neighbor = (step: number): number | undefined => {
    const all = open();
    return all[all.indexOf(at) + step];
  };
  const update = (): void => {
    const all = open();
    const number = all.indexOf(at) + 1;
    for (const [page, section] of sections.entries()) section.hidden = page !== at;
    heading.textContent = t("page_of", { n: number, all: all.length });
    progress.max = all.length;
    progress.value = number;
    progress.textContent = heading.textContent;
    back.hidden = neighbor(-1) === undefined && !before();
    turned(neighbor(-1) === undefined);
    button.textContent = neighbor(1) === undefined ? (button.dataset.end ?? end) : t("next");
  };
  const go = (page: number): void => {
    at = page;
    update();
    heading.focus();
    (form.parentElement ?? heading).scrollIntoView({ block: "start" });
  };
  const goBack = (): void => {
    const page = neighbor(-1);
    if (page === undefined) before()?.();
    else go(page);
  };
  form.prepend(h("div", { class: "pages" }, heading, progress), ...sections);
  button.before(back);
  button.parentElement?.classList.add("row");
  update();
  return {
    next: () => {
      const page = neighbor(1);
      if (page !== undefined) go(page);
      return page !== undefined;
    },
    show: (element) => {
      const page = pages.findIndex((elements) => elements.includes(element));
      if (page >= 0 && page !== at) go(page);
    },
    shown: () => pages[at] ?? [],
    update,
  };
}
