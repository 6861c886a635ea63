/** Lets an operator find the text that many people gave. Nobody listed it, so it is looked for on demand. */

import type { Plan } from "../../src/index.js";
import type { Discovered, TextLimit, TextLimits } from "../kit/api.js";
import { askJson } from "../kit/collector.js";
import { announce, type Child, h, quoted } from "../kit/dom.js";
import { sentence, several } from "../kit/phrases.js";
import { showFound } from "./found_panel.js";
import { keep, type Mode } from "./panels.js";
import { percent } from "./readings.js";
import type { View } from "./results.js";

/** Bits of a code up to which a collector counts all codes, without levels. */
const WHOLE = 30;

const PATIENCE = 600_000; // milliseconds: millions of reports take a while

interface Shown {
  readonly mode: Mode;
  readonly token: string;
}

/** What was asked for, and the answer: a sentence where it was refused, null while it is looked for. */
interface Search {
  readonly key: string;
  readonly answer: Discovered | string | null;
}

/** The questions for text and codes. */
export function listTexts(plan: Plan): readonly string[] {
  return plan.attributes
    .filter(({ domain: { kind } }) => kind === "text" || kind === "code")
    .map(({ name }) => name);
}

/** The panel of every such question, and what was found. */
export class TextBoard {
  readonly #searches = new Map<string, Search>();
  #limits: readonly TextLimit[] = [];
  #limited = ""; // what the limits are of

  constructor(readonly redraw: () => void) {}

  /** Draw the questions; what was found stays until another round or study is shown. */
  draw(section: HTMLElement, view: View, shown: Shown): void {
    const { plan, round, access, reports } = view;
    const names = listTexts(plan);
    section.hidden = !names.length;
    if (section.hidden) return;
    void this.#limit(plan, round, reports, shown.token);
    const width = Math.max(240, Math.min(760, section.clientWidth - 40));
    const searches = names.map((name) => this.#find(plan, round, name));
    keep(section, [plan.id, round, this.#limits, access.role, searches, shown.mode, width], () =>
      names.map((name, i) => this.#panel(view, name, searches[i] ?? null, shown, width)),
    );
  }

  #find(plan: Plan, round: number, name: string): Search | null {
    const search = this.#searches.get(name);
    return search?.key === `${plan.id} ${round}` ? search : null;
  }

  #panel(
    { plan, round, access }: View,
    name: string,
    search: Search | null,
    { mode, token }: Shown,
    width: number,
  ): Child {
    const answer = search?.answer;
    const questionText = plan.texts?.attributes?.[name]?.question?.[plan.texts.language];
    const limit = this.#limits.find(({ attribute }) => attribute === name);
    const isLooking = search !== null && answer === null;
    const isSearchable = plan.attributes.some(({ name: attribute, domain }) =>
      domain.kind === "coarse"
        ? domain.question === name
        : attribute === name && "bits" in domain && Number(domain.bits) <= WHOLE,
    );
    const list = h("textarea", {
      id: `words-${name}`,
      rows: 4,
      spellcheck: "false",
      "data-name": `words-${name}`,
    });
    const look = (): void => {
      const words = list.value.split("\n").map((line) => line.trim());
      void this.#look(plan, round, name, words.filter(Boolean), token);
    };
    const button = h(
      "button",
      { type: "button", class: "main", disabled: isLooking, "data-name": name, click: look },
      "Find values",
    );
    return h(
      "article",
      { class: "panel attribute text", "aria-label": name },
      h(
        "h2",
        {},
        quoted(questionText ?? name),
        " ",
        h(
          "span",
          { class: "reported" },
          questionText && [quoted(name), ", "],
          limit && several(limit.reports, "report"),
        ),
      ),
      h(
        "p",
        { class: "soft" },
        "Nobody listed these values, so no single one is counted as reports arrive. Those that many people have can be found from all reports together.",
      ),
      limit &&
        h(
          "p",
          {},
          limit.limit < 1
            ? `A value that ${percent(limit.limit)} of people have is found about half of the time.`
            : "Even a value that everybody has is found at most half of the time.",
        ),
      access.role === "operator"
        ? [
            h(
              "details",
              { class: `words ${name}`, open: !isSearchable },
              h("summary", {}, isSearchable ? "Look up a public list instead" : "The public list to look up"),
              h("label", { for: list.id }, "One value per line; rarer ones are found of a list"),
              list,
            ),
            h("p", { class: "act" }, button),
          ]
        : h("p", {}, "An operator can look for them."),
      isLooking && h("p", { class: "soft", role: "status" }, "Looking through all reports…"),
      typeof answer === "string" && h("p", { class: "complaint", role: "alert" }, sentence(answer)),
      answer && typeof answer !== "string" && showFound(name, answer, mode, width),
    );
  }

  /** Ask how common a value must be, when there are more reports. */
  async #limit(plan: Plan, round: number, reports: number | null, token: string): Promise<void> {
    const key = `${plan.id} ${round} ${reports}`;
    if (this.#limited === key) return;
    this.#limited = key;
    try {
      const path = `plans/${plan.id}/discover?round=${round}`;
      const { questions } = await askJson<TextLimits>(path, { token });
      if (this.#limited !== key) return;
      this.#limits = questions;
    } catch {
      this.#limits = []; // there are too few reports
    }
    this.redraw();
  }

  async #look(
    plan: Plan,
    round: number,
    name: string,
    words: readonly string[],
    token: string,
  ): Promise<void> {
    const key = `${plan.id} ${round}`;
    const set = (answer: Search["answer"]): void => {
      this.#searches.set(name, { key, answer });
      this.redraw();
    };
    set(null);
    try {
      const query = new URLSearchParams({ round: String(round), name });
      const body = JSON.stringify(words.length ? { words } : {});
      const answer = await askJson<Discovered>(`plans/${plan.id}/discover?${query}`, {
        method: "POST",
        token,
        body,
        patience: PATIENCE,
      });
      set(answer);
      announce(`${several(answer.found.length, "value")} of ${name} found.`);
    } catch (problem) {
      set((problem as Error).message);
    }
  }
}
