/** Lets whoever reads the dashboard ask for the share of people between two numbers. */

import type { Plan } from "../../src/index.js";
import type { Between } from "../kit/api.js";
import { askJson } from "../kit/collector.js";
import { announce, type Child, h, quoted } from "../kit/dom.js";
import { NOISY, sentence } from "../kit/phrases.js";
import { keep, listRanges } from "./panels.js";
import { moved, percent } from "./readings.js";
import { inRound, type View } from "./results.js";
import { table } from "./tables.js";

/** A range that was asked for; an empty end is the end of all values. */
interface Wanted {
  readonly name: string;
  readonly low: string;
  readonly high: string;
}

interface Shown {
  readonly level: string;
  readonly weights: string;
  /** Whether shares are joined with those of plans before. */
  readonly joined: boolean;
  readonly token: string;
}

const MOST = 12; // ranges that are shown

/** The panel, and the ranges that were asked for: they are asked for again when there are more reports. */
export class RangeBoard {
  #wanted: readonly Wanted[] = [];
  #plan = "";
  #key = "";
  #shares: readonly (readonly [Wanted, Between])[] = [];
  #problem = "";
  #written: Wanted = { name: "", low: "", high: "" };

  constructor(readonly redraw: () => void) {}

  draw(section: HTMLElement, view: View, shown: Shown): void {
    const { plan, estimates, round } = view;
    const names = listRanges(plan);
    section.hidden = !estimates || !names.length;
    if (section.hidden) return;
    if (this.#plan !== plan.id) {
      [this.#plan, this.#wanted, this.#shares, this.#problem] = [plan.id, [], [], ""];
      this.#written = { name: names[0] ?? "", low: "", high: "" };
    }
    const key = JSON.stringify([plan.id, round, shown.level, shown.weights, shown.joined, estimates?.n]);
    if (this.#key !== key && this.#wanted.length) void this.#ask(plan, round, shown, key, this.#wanted);
    keep(section, [plan.id, this.#shares, this.#problem], () => [
      h("h2", {}, "The share of a range"),
      names.length === 1 &&
        names.map((name) => h("p", { class: "soft" }, quoted(estimates?.questions?.[name] ?? name))),
      this.#form(names, view, shown, key),
      this.#problem && h("p", { class: "complaint", role: "alert" }, sentence(this.#problem)),
      this.#shares.length > 0 &&
        table(
          "Shares of ranges",
          ["Range", "Share", "From", "To"],
          this.#shares.map(([{ name }, share]) => [
            names.length > 1 ? `${name}: ${share.range}` : share.range,
            share.noisy ? NOISY : [percent(share.share, 2), moved(share)].filter(Boolean).join(", "),
            percent(share.low, 2),
            percent(share.high, 2),
          ]),
        ),
    ]);
  }

  #form(names: readonly string[], { plan, round }: View, shown: Shown, key: string): Child {
    const write = (change: Partial<Wanted>): void => void (this.#written = { ...this.#written, ...change });
    const question = h(
      "select",
      { id: "range-of", "data-name": "range-of", change: () => write({ name: question.value }) },
      names.map((name) => h("option", { value: name, selected: name === this.#written.name }, name)),
    );
    const end = (id: "low" | "high"): HTMLInputElement => {
      const field: HTMLInputElement = h("input", {
        id: `range-${id}`,
        "data-name": `range-${id}`,
        type: "text",
        inputmode: "decimal",
        autocomplete: "off",
        value: this.#written[id],
        input: () => write({ [id]: field.value.trim() }),
      });
      return field;
    };
    const field = (label: string, control: HTMLElement): HTMLElement =>
      h("div", { class: "field" }, h("label", { for: control.id }, label), control);
    const submit = (event: Event): void => {
      event.preventDefault();
      const same = (wish: Wanted): boolean => JSON.stringify(wish) === JSON.stringify(this.#written);
      const all = [this.#written, ...this.#wanted.filter((wish) => !same(wish))].slice(0, MOST);
      void this.#ask(plan, round, shown, key, all);
    };
    return h(
      "form",
      { class: "controls", novalidate: true, submit },
      names.length > 1 && field("Question", question),
      field("From", end("low")),
      field("To under", end("high")),
      h("button", { type: "submit", "data-name": "range-ask" }, "Show its share"),
    );
  }

  async #ask(
    plan: Plan,
    round: number,
    { level, weights, joined, token }: Shown,
    key: string,
    wanted: readonly Wanted[],
  ): Promise<void> {
    this.#key = key;
    try {
      const answers = await Promise.all(
        wanted.map(async (wish) => {
          const ends = Object.entries(wish).filter(([, text]) => text !== "");
          const query = new URLSearchParams([
            ...ends,
            ["level", level],
            ["weights", weights],
            ["joined", String(joined)],
          ]);
          const path = `plans/${plan.id}/range?${inRound(round)}${query}`;
          return [wish, await askJson<Between>(path, { token })] as const;
        }),
      );
      [this.#wanted, this.#shares, this.#problem] = [wanted, answers, ""];
      announce("The share is shown.");
    } catch (problem) {
      this.#problem = (problem as Error).message;
    }
    this.redraw();
  }
}
