/** Asks for all that apply, for a number on a scale, and for a month or year. */

import type { Attribute, Range } from "../../src/index.js";
import { h, quoted } from "../kit/dom.js";
import { count, plural, spoken, t } from "../kit/messages.js";
import { type About, described, framed, type Question } from "./question.js";

const MONTHS = 12;

type Fields = readonly (HTMLInputElement | HTMLSelectElement)[];

/**
 * Boxes to tick: all that apply, or none of these, which is an answer as well. Where people may choose so many only,
 * no more can be ticked.
 */
export function askSeveral(
  options: readonly string[],
  shown: readonly string[],
  allowed: Attribute["allowed"],
  about: About,
): Question {
  const [least, most] = allowed ?? [0, options.length];
  const box = (label: string, value: string, extra = ""): [HTMLInputElement, HTMLElement] => {
    const field = h("input", {
      type: "checkbox",
      name: `q${about.j}`,
      value,
      "aria-describedby": described(about, true),
      change: () => {
        if (field.checked) clear(field);
        limit();
      },
    });
    return [field, h("label", { class: `choice ${extra}` }, field, h("span", {}, quoted(label)))];
  };
  const boxes = shown.map((label, i) => box(label, String(i)));
  const none = least ? null : box(t("none_of_these"), "none", "none");
  const silent = about.optional ? box(about.none, "", "none") : null;
  const alone = [none?.[0], silent?.[0]];
  const all = [...boxes, ...(none ? [none] : []), ...(silent ? [silent] : [])];
  const tally = h("p", { class: "soft hint tally", role: "status" });
  const chosen = (): string[] => options.filter((_, i) => boxes[i]?.[0].checked);
  /** What excludes the others is ticked alone. */
  const clear = (ticked: HTMLInputElement): void => {
    for (const [field] of all)
      if (field !== ticked && (alone.includes(ticked) || alone.includes(field))) field.checked = false;
  };
  /** Nobody ticks more boxes than may be chosen. */
  const limit = (): void => {
    const { length } = chosen();
    for (const [field] of boxes) field.disabled = !field.checked && length >= most;
    if (allowed) tally.textContent = length ? t("chosen_of", { n: length, most }) : "";
  };
  const hint = allowed ? plural(least ? "choose_exactly" : "choose_at_most", most) : t("choose_all");
  return {
    element: framed(
      about,
      "several",
      h("p", { class: "soft hint", id: `hint-${about.j}` }, hint),
      ...all.map(([, label]) => label),
      allowed && tally,
    ),
    complaint: about.complaint,
    fields: all.map(([field]) => field),
    doubt: () => (silent?.[0].checked || chosen().length >= least ? null : hint),
    read: () => {
      if (silent?.[0].checked) return null;
      if (none?.[0].checked) return [];
      return chosen().length ? chosen() : undefined;
    },
  };
}

/** A row of numbers with what its ends mean. */
export function askScale(domain: Range, ends: readonly [string, string] | null, about: About): Question {
  const numbers = Array.from({ length: domain.bins }, (_, i) => domain.low + i);
  const choice = (value: string, label: string, extra: string): [HTMLInputElement, HTMLElement] => {
    const field = h("input", {
      type: "radio",
      name: `q${about.j}`,
      value,
      "aria-describedby": described(about),
    });
    return [field, h("label", { class: extra }, field, h("span", {}, label))];
  };
  const named = (number: number, i: number): [HTMLInputElement, HTMLElement] => {
    const made = choice(String(number), count(number), "choice step");
    const end = i === 0 ? ends?.[0] : i === domain.bins - 1 ? ends?.[1] : undefined;
    if (end) made[0].setAttribute("aria-label", `${count(number)}: ${end}`);
    return made;
  };
  const choices = numbers.map(named);
  const silent = about.optional ? choice("", about.none, "choice none") : null;
  const fields: Fields = [...choices, ...(silent ? [silent] : [])].map(([field]) => field);
  return {
    element: framed(
      about,
      "scaled",
      h(
        "div",
        { class: "scale" },
        h(
          "div",
          { class: "steps" },
          choices.map(([, label]) => label),
        ),
        ends &&
          h(
            "div",
            { class: "ends soft", "aria-hidden": "true" },
            ends.map((end) => h("bdi", {}, end)),
          ),
      ),
      ...(silent ? [silent[1]] : []),
    ),
    complaint: about.complaint,
    fields,
    read: () => {
      const chosen = (fields as readonly HTMLInputElement[]).find((field) => field.checked);
      return chosen && (chosen.value === "" ? null : chosen.value);
    },
  };
}

/** A list of years, and one of months where these are counted. */
export function askDate(domain: Range, about: About): Question {
  const byMonth = domain.unit === "month";
  const size = byMonth ? MONTHS : 1;
  const [first, last] = [Math.floor(domain.low / size), Math.floor((domain.low + domain.bins - 1) / size)];
  const list = (id: string, label: string, options: readonly [string, string][]): HTMLSelectElement =>
    h(
      "select",
      { id, "aria-label": label, "aria-describedby": described(about) },
      h("option", { value: "?", selected: true, disabled: true }, label),
      options.map(([value, text]) => h("option", { value }, text)),
    );
  const years = Array.from({ length: last - first + 1 }, (_, i) => String(last - i));
  const year = list(
    `q${about.j}`,
    t("year"),
    years.map((number) => [number.padStart(4, "0"), number]),
  );
  const name = new Intl.DateTimeFormat(spoken().tag, { month: "long", timeZone: "UTC" });
  const months = Array.from({ length: MONTHS }, (_, i): [string, string] => [
    String(i + 1).padStart(2, "0"),
    name.format(Date.UTC(2001, i)),
  ]);
  const month = byMonth ? list(`q${about.j}-month`, t("month"), months) : null;
  const none = h("input", {
    type: "checkbox",
    id: `q${about.j}-none`,
    change: () => {
      for (const field of [year, month]) if (field) field.disabled = none.checked;
    },
  });
  return {
    element: framed(
      about,
      "dated",
      h("div", { class: "row" }, month, year),
      ...(about.optional ? [h("label", { class: "choice none" }, none, h("span", {}, about.none))] : []),
    ),
    complaint: about.complaint,
    fields: month ? [month, year] : [year],
    read: () => {
      if (none.checked) return null;
      if (year.value === "?" || month?.value === "?") return undefined;
      return month ? `${year.value}-${month.value}` : year.value;
    },
  };
}
