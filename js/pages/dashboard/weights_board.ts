/** Lets whoever reads the dashboard weigh known groups to their sizes in the population. */

import type { Plan } from "../../src/index.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { sentence } from "../kit/phrases.js";
import { keep } from "./panels.js";
import type { View } from "./results.js";

type Sizes = Record<string, Record<string, string>>;

/** The panel, and the sizes that were written: they stay on the page, and only go along with a question. */
export class WeightsBoard {
  #plan = "";
  #isOpen = false;
  #sizes: Sizes = {};
  #problem = "";

  constructor(
    /** Hears the sizes as JSON; none where results are about the people who reported. */
    readonly choose: (weights: string) => void,
    readonly redraw: () => void,
  ) {}

  draw(section: HTMLElement, { plan, estimates }: View): void {
    section.hidden = plan.known === null || !estimates;
    if (section.hidden) return;
    if (this.#plan !== plan.id)
      [this.#plan, this.#isOpen, this.#sizes, this.#problem] = [plan.id, false, {}, ""];
    const weights = estimates?.weights ?? null;
    keep(section, [plan.id, this.#isOpen, this.#problem, weights], () => [
      h("h2", {}, "Whom results are about"),
      h(
        "div",
        { class: "switch", role: "radiogroup", "aria-label": "Whom results are about" },
        this.#offer("Those who reported", false),
        this.#offer("The population", true),
      ),
      this.#isOpen && this.#form(plan),
      weights !== null && h("p", { class: "weighted", role: "status" }, sentence(weights.text)),
    ]);
  }

  #offer(label: string, isPopulation: boolean): HTMLElement {
    const set = (): void => {
      [this.#isOpen, this.#problem] = [isPopulation, ""];
      if (!isPopulation) this.choose("");
      this.redraw();
    };
    const name = `about-${isPopulation ? "population" : "reports"}`;
    const checked = this.#isOpen === isPopulation;
    return h(
      "label",
      {},
      h("input", { type: "radio", name: "about", "data-name": name, checked, change: set }),
      label,
    );
  }

  #form(plan: Plan): Child {
    const submit = (event: Event): void => {
      event.preventDefault();
      const sizes = read(this.#sizes);
      this.#problem = typeof sizes === "string" ? sizes : "";
      if (typeof sizes !== "string") this.choose(JSON.stringify(sizes));
      this.redraw();
    };
    return h(
      "form",
      { class: "sizes", novalidate: true, submit },
      h(
        "p",
        { class: "soft" },
        "Say how large each group is in the population: in people or in percent. Leave a question empty to take it as it was reported. The sizes stay on this page.",
      ),
      plan.known?.attributes.map(({ name, labels }, i) =>
        h(
          "fieldset",
          { class: "field" },
          h("legend", {}, quoted(name)),
          labels.map((label, code) => this.#size(name, label, `size-${i}-${code}`)),
        ),
      ),
      this.#problem !== "" && h("p", { class: "complaint", role: "alert" }, this.#problem),
      h("button", { type: "submit", "data-name": "weigh" }, "Show the population"),
    );
  }

  #size(question: string, label: string, id: string): HTMLElement {
    const answers = (this.#sizes[question] ??= {});
    const field: HTMLInputElement = h("input", {
      id,
      "data-name": id,
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      value: (answers[label] ??= ""),
      input: () => void (answers[label] = field.value.trim()),
    });
    return h("div", { class: "size" }, h("label", { for: id }, quoted(label)), field);
  }
}

/** The sizes as numbers, of every question that has some; or what is wrong with them. */
function read(written: Sizes): Record<string, Record<string, number>> | string {
  const sizes: Record<string, Record<string, number>> = {};
  for (const [question, answers] of Object.entries(written)) {
    const texts = Object.entries(answers).filter(([, text]) => text !== "");
    if (!texts.length) continue;
    const wrong = Object.entries(answers).find(([, text]) => !(amount(text) > 0));
    if (wrong) return `The size of ${question} = ${wrong[0]} is a number above 0.`;
    sizes[question] = Object.fromEntries(texts.map(([label, text]) => [label, amount(text)]));
  }
  return Object.keys(sizes).length ? sizes : "Give the size of every answer to one question at least.";
}

/** A number as people write it: 4,200,000 or 40 %. */
const amount = (text: string): number => {
  const number = Number(text.replace(/[,\s%]/g, "") || Number.NaN);
  return Number.isFinite(number) ? number : Number.NaN;
};
