/** Lets whoever reads the dashboard choose a table of two answers, and an earlier round to compare it with. */

import type { Plan } from "../../src/index.js";
import type { Cross, CrossChange } from "../kit/api.js";
import { askJson, Refused } from "../kit/collector.js";
import { type Child, h } from "../kit/dom.js";
import { NOISY, sentence } from "../kit/phrases.js";
import { cross, fetchCross, type Pair, pairsOf, tested } from "./cross_panel.js";
import { keep, type Mode } from "./panels.js";
import { signed } from "./readings.js";
import type { People, View } from "./results.js";
import { table } from "./tables.js";

interface Shown {
  readonly level: string;
  readonly weights: string;
  /** Whose change is meant. */
  readonly people: People | "";
  readonly mode: Mode;
  readonly token: string;
}

/** What was asked for last, and the answer: a sentence where it was refused. */
interface Fetched<T> {
  readonly key: string;
  readonly answer: T | string | null;
}

/** The panel, and what was chosen in it. */
export class CrossBoard {
  #pair: Pair | null = null;
  #answer = ""; // the column that is drawn
  #since = 0; // the earlier round; none where it is 0
  #table: Fetched<Cross> | null = null;
  #change: Fetched<CrossChange> | null = null;

  constructor(readonly redraw: () => void) {}

  /** Draw one of the tables that reports hold; it is fetched when there are more reports, or another is chosen. */
  draw(section: HTMLElement, view: View, shown: Shown): void {
    const { plan, estimates, round } = view;
    const pairs = pairsOf(plan);
    section.hidden = !estimates || !pairs.length;
    if (section.hidden) return;
    const chosen = pairs.find(({ of, by }) => of === this.#pair?.of && by === this.#pair.by) ?? pairs[0];
    const pair = chosen as Pair;
    this.#pair = pair;
    const key = JSON.stringify([plan.id, pair, round, shown.level, shown.weights, estimates?.n]);
    if (this.#table?.key !== key) {
      this.#table = { key, answer: this.#table?.answer ?? null };
      void this.#fetch(fetchCross(plan, pair, round, shown)).then((answer) => {
        if (this.#table?.key !== key) return;
        this.#table = answer === null ? null : { key, answer };
        if (answer !== null) this.redraw();
      });
    }
    const earlier = earlierRounds(view);
    if (!earlier.includes(this.#since)) this.#since = 0;
    this.#compare(plan, pair, round, shown, key);
    const answer = this.#table?.answer ?? null;
    const ours = isOf(answer, pair) ? answer : null;
    const columns = ours?.columns ?? [];
    if (!columns.includes(this.#answer)) this.#answer = columns[0] ?? "";
    const width = Math.max(240, Math.min(760, section.clientWidth - 40));
    const changed = this.#since ? (this.#change?.answer ?? null) : null;
    const state = [key, answer, this.#answer, shown.mode, width, earlier, this.#since, changed];
    keep(section, state, () => [
      h("h2", {}, "Two answers at once"),
      h("div", { class: "controls" }, this.#controls(pairs, pair, columns, earlier, shown.mode)),
      ours
        ? cross(ours, this.#answer, shown.mode, width)
        : h(
            "p",
            { class: "soft", role: "status" },
            typeof answer === "string" ? sentence(answer) : "Loading…",
          ),
      this.#since > 0 && this.#showChange(changed, pair, shown.mode),
    ]);
  }

  /** Ask for the change since the round that was chosen. */
  #compare(
    plan: Plan,
    { of, by }: Pair,
    round: number,
    { level, people, weights, token }: Shown,
    table: string,
  ): void {
    const key = JSON.stringify([table, this.#since, people]);
    if (!this.#since || this.#change?.key === key) return;
    this.#change = { key, answer: null };
    const query = new URLSearchParams({
      of,
      by,
      round: String(round),
      since: String(this.#since),
      people,
      level,
      weights,
    });
    const request = askJson<CrossChange>(`plans/${plan.id}/cross/change?${query}`, { token });
    void this.#fetch(request).then((answer) => {
      if (this.#change?.key !== key) return;
      this.#change = answer === null ? null : { key, answer };
      if (answer !== null) this.redraw();
    });
  }

  /** The answer, or why there is none; what could not be reached is asked for again with the next results. */
  async #fetch<T>(request: Promise<T>): Promise<T | string | null> {
    try {
      return await request;
    } catch (problem) {
      return problem instanceof Refused && problem.reason !== "offline" ? problem.message : null;
    }
  }

  #controls(
    pairs: readonly Pair[],
    pair: Pair,
    columns: readonly string[],
    earlier: readonly number[],
    mode: Mode,
  ): Child {
    const set = (change: () => void) => (): void => {
      change();
      this.redraw();
    };
    const tables = h(
      "select",
      { id: "pair", "data-name": "pair" },
      pairs.map((each, i) => h("option", { value: i, selected: each === pair }, `${each.of} by ${each.by}`)),
    );
    const answers = h(
      "select",
      { id: "answer", "data-name": "answer" },
      columns.map((column) => h("option", { value: column, selected: column === this.#answer }, column)),
    );
    const since = h(
      "select",
      { id: "since", "data-name": "since" },
      h("option", { value: 0 }, "Nothing"),
      earlier.map((number) =>
        h("option", { value: number, selected: number === this.#since }, `Round ${number}`),
      ),
    );
    tables.addEventListener(
      "change",
      set(() => {
        this.#pair = pairs[Number(tables.value)] ?? null;
        this.#answer = "";
      }),
    );
    answers.addEventListener(
      "change",
      set(() => (this.#answer = answers.value)),
    );
    since.addEventListener(
      "change",
      set(() => (this.#since = Number(since.value))),
    );
    const field = (label: string, control: HTMLElement): HTMLElement =>
      h("div", { class: "field" }, h("label", { for: control.id }, label), control);
    return [
      field("Table", tables),
      mode === "charts" && field("Answer", answers),
      earlier.length > 0 && field("Compare with", since),
    ];
  }

  /** The change of the answer that is drawn, or of all of them. */
  #showChange(change: CrossChange | string | null, pair: Pair, mode: Mode): Child {
    const title = h("h3", {}, `Change since round ${this.#since}`);
    if (typeof change === "string")
      return [title, h("p", { class: "soft", role: "status" }, sentence(change))];
    if (!isOf(change, pair)) return [title, h("p", { class: "soft", role: "status" }, "Loading…")];
    const points = (share: number): string => signed((100 * share).toFixed(1));
    const isDrawn = mode === "charts";
    const lines = change.cells
      .filter(({ column }) => !isDrawn || column === this.#answer)
      .map(({ row, column, difference, low, high, known }): string[] => [
        row,
        ...(isDrawn ? [] : [column]),
        known && difference !== null ? points(difference) : NOISY,
        points(low),
        points(high),
      ]);
    const answers = isDrawn ? `${pair.of}: ${this.#answer}` : pair.of;
    return h(
      "div",
      { class: "change" },
      title,
      h(
        "p",
        { class: "soft" },
        `In percentage points of the people in each row. ${sentence(change.validity)}`,
      ),
      table(
        `Change since round ${change.since}: ${answers} by ${pair.by}`,
        [pair.by, ...(isDrawn ? [] : [pair.of]), "Change", "From", "To"],
        lines,
      ),
      tested(change.test),
    );
  }
}

/** Whether it is about these two questions. */
function isOf<T extends Pair>(answer: T | string | null, { of, by }: Pair): answer is T {
  return answer !== null && typeof answer !== "string" && answer.of === of && answer.by === by;
}

/** The rounds before the one that is shown, the latest first. */
function earlierRounds({ rounds, round }: View): number[] {
  return rounds
    .map(({ number }) => number)
    .filter((number) => number < round)
    .sort((a, b) => b - a);
}
