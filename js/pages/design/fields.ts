/** Makes the labeled fields of the design page, each with a place for what is wrong with it. */

import { type Child, h } from "../kit/dom.js";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export interface About {
  readonly id: string;
  readonly label: string;
  readonly hint?: Child;
  readonly wide?: boolean;
}

/** A control with its label above, a hint, and an empty complaint below. */
export function labeled({ id, label, hint, wide }: About, control: Control): HTMLElement {
  control.id = id;
  const about = [hint ? `${id}-hint` : "", `${id}-complaint`].filter(Boolean).join(" ");
  control.setAttribute("aria-describedby", about);
  return h(
    "div",
    { class: wide ? "field wide" : "field" },
    h("label", { for: id }, label),
    control,
    hint ? h("p", { class: "soft hint", id: `${id}-hint` }, hint) : null,
    h("p", { class: "complaint", id: `${id}-complaint` }),
  );
}

export function line(about: About, value: string, changed: (text: string) => void): HTMLElement {
  const control = h("input", { type: "text", value, autocomplete: "off", spellcheck: "true" });
  control.addEventListener("input", () => changed(control.value));
  return labeled(about, control);
}

/** A field for a number; it takes any text, since a browser's own drops what it does not know. */
export function figure(about: About, value: string, changed: (text: string) => void): HTMLElement {
  const control = h("input", { type: "text", inputmode: "decimal", value, autocomplete: "off" });
  control.addEventListener("input", () => changed(control.value));
  return labeled(about, control);
}

export function area(
  about: About,
  value: string,
  rows: number,
  changed: (text: string) => void,
): HTMLElement {
  const control = h("textarea", { rows, autocomplete: "off" }, value);
  control.addEventListener("input", () => changed(control.value));
  return labeled({ wide: true, ...about }, control);
}

export function select(
  about: About,
  options: Readonly<Record<string, string>>,
  value: string,
  changed: (value: string) => void,
): HTMLElement {
  const control = h(
    "select",
    {},
    Object.entries(options).map(([option, text]) =>
      h("option", { value: option, selected: option === value }, text),
    ),
  );
  control.addEventListener("change", () => changed(control.value));
  return labeled(about, control);
}

export function tick(
  id: string,
  label: string,
  checked: boolean,
  changed: (on: boolean) => void,
): HTMLElement {
  const control = h("input", { type: "checkbox", id, checked });
  control.addEventListener("change", () => changed(control.checked));
  return h("label", { class: "tick" }, control, h("span", {}, label));
}

export function button(
  label: string,
  click: () => void,
  properties: Record<string, string> = {},
): HTMLElement {
  return h("button", { type: "button", click, ...properties }, label);
}

/** Say what is wrong with a field, or only what is still to be filled in; empty where nothing is. */
export function complain(id: string, text: string, isWrong = true): void {
  const place = document.getElementById(`${id}-complaint`);
  if (!place) return;
  place.textContent = text;
  place.classList.toggle("open", text !== "" && !isWrong);
  document.getElementById(id)?.setAttribute("aria-invalid", String(text !== "" && isWrong));
}
