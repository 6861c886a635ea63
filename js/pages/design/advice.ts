/** Shows what would make the study useful, beside its warnings; each line can be applied and undone. */

import { h } from "../kit/dom.js";
import { sentence } from "../kit/phrases.js";
import { ageLine, setAge } from "./age.js";
import type { Written } from "./draft.js";
import { button, select, tick } from "./fields.js";

interface Proposal {
  readonly change: string;
  readonly given_up: string;
  readonly sentence: string;
  readonly people_apart: number;
  readonly margins: Readonly<Record<string, { readonly text: string }>>;
}

export interface Advice {
  readonly is_enough: boolean;
  readonly summary: string;
  readonly proposals: readonly Proposal[];
}

/** A draft that proposals make, for so many people. */
export interface Applied extends Written {
  readonly people: number;
  readonly proposals: readonly Proposal[];
}

/** The page, as far as advice reads and changes it. */
export interface Designed {
  ask<T>(path: string, body: object, signal: AbortSignal): Promise<T>;
  /** What is sent of the page as it is now. */
  body(): Written & { readonly people: number };
  show(draft: Written & { readonly people: number }): void;
  announce(text: string): void;
}

const WAIT = 900; // milliseconds after figures: advice takes seconds
const WANTED = { useful: "useful", clear: "clear", rough: "at least rough" };

/** The panel of advice: what it was asked for, and which of its lines are applied. */
export class Adviser {
  readonly panel = h("section", { class: "panel advice", hidden: true });
  private readonly list = h("div", {});
  private readonly asked = h("div", { class: "row" });
  private want = "useful";
  private mayKnow: string[] = [];
  private base: (Written & { readonly people: number }) | null = null; // for which the list is
  private state = ""; // of the page, after the lines that are applied
  private applied: number[] = [];
  private asking = new AbortController();
  private isAsking = false; // or about to
  private timer = 0;

  constructor(private readonly page: Designed) {
    this.panel.append(ageLine(), h("h2", {}, "What would make it useful"), this.asked, this.list);
  }

  /** The figures of the page have changed: ask again, unless a line of this list changed them. */
  follow(isWeak: boolean): void {
    if (this.isCurrent()) return this.wait();
    this.state = JSON.stringify(this.page.body());
    this.again(isWeak);
  }

  /** The page is changing: the list is old, unless a line of it has made the change. */
  wait(): void {
    if (!this.isCurrent() && this.isAsking) {
      this.asking.abort();
      clearTimeout(this.timer);
      this.state = ""; // ask again, whatever the page is then
    }
    this.showAge();
  }

  private showAge(): void {
    const age = this.isCurrent() && !this.isAsking ? "now" : "computing";
    setAge(this.panel, age, !this.list.hasChildNodes());
  }

  private isCurrent(): boolean {
    return JSON.stringify(this.page.body()) === this.state;
  }

  private again(isWeak = true): void {
    clearTimeout(this.timer);
    this.asking.abort();
    this.applied = [];
    this.base = null;
    this.isAsking = false;
    this.panel.hidden = !isWeak && this.want === "useful";
    if (this.panel.hidden) return;
    this.isAsking = true;
    this.showAge();
    this.timer = setTimeout(() => void this.look(), WAIT);
  }

  private async look(): Promise<void> {
    this.asking = new AbortController();
    const base = structuredClone(this.page.body());
    this.showAsked(base);
    try {
      const advice = await this.page.ask<Advice>("advice", this.request(base), this.asking.signal);
      this.base = base;
      this.show(advice);
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return;
      if ((problem as { reason?: string }).reason === "stale") return this.again();
      this.list.replaceChildren(h("p", { class: "soft" }, sentence((problem as Error).message)));
    }
    this.isAsking = false;
    this.showAge();
  }

  private request(base: object): object {
    return { ...base, want: this.want, may_know: this.mayKnow };
  }

  /** How well answers must be known, and what the collector knows anyway. */
  private showAsked({ questions }: Written): void {
    const names = questions.filter(({ keys }) => keys.known !== true).map(({ name }) => name);
    this.mayKnow = this.mayKnow.filter((name) => names.includes(name));
    const ticks = names.map((name, i) =>
      tick(`may-know-${i}`, name, this.mayKnow.includes(name), (on) => {
        this.mayKnow = on ? [...this.mayKnow, name] : this.mayKnow.filter((known) => known !== name);
        this.again();
      }),
    );
    const isOpen = this.asked.querySelector("details")?.open ?? false;
    const focus = document.activeElement?.id;
    this.asked.replaceChildren(
      select({ id: "want", label: "All answers are to be" }, WANTED, this.want, (want) => {
        this.want = want;
        this.again();
      }),
      h(
        "details",
        { open: isOpen },
        h("summary", {}, "You know some answers anyway"),
        h("p", { class: "soft" }, "Such as the region of each invitation. They would be sent as they are."),
        ...ticks,
      ),
    );
    if (focus) document.getElementById(focus)?.focus();
  }

  private show(advice: Advice): void {
    const lines = advice.proposals.map((proposal, i) => this.showProposal(proposal, i + 1));
    this.list.replaceChildren(
      h("p", {}, advice.summary),
      ...(lines.length ? [h("ol", { class: "proposals" }, lines)] : []),
      ...(lines.length || advice.is_enough
        ? []
        : [
            h(
              "p",
              { class: "notice" },
              "No set of up to three changes is enough. Ask fewer questions, or more people.",
            ),
          ]),
    );
  }

  private showProposal(proposal: Proposal, number: number): HTMLElement {
    const named = new Map<string, string[]>();
    for (const [name, { text }] of Object.entries(proposal.margins))
      named.set(text, [...(named.get(text) ?? []), name]);
    const margins = [...named].map(([text, names]) => `${text} (${names.join(", ")})`).join("; ");
    const about = `proposal-${number}`;
    const toggle = button("Apply", () => void this.toggle(number, toggle), {
      "aria-pressed": "false",
      "aria-describedby": about,
    });
    return h(
      "li",
      {},
      h("strong", { id: about }, sentence(proposal.change)),
      h("p", {}, `Gives up ${proposal.given_up}. ${proposal.sentence}`),
      h("p", { class: "soft" }, `Known to within ${margins}.`),
      proposal.people_apart
        ? h(
            "p",
            { class: "soft" },
            "Here that leaves the question out; deniable advise writes its own study.",
          )
        : null,
      toggle,
    );
  }

  /** Apply a line to the study that the list is for, or undo it; other lines that are applied stay. */
  private async toggle(number: number, toggle: HTMLElement): Promise<void> {
    const { base } = this;
    if (!base || !this.isCurrent()) return;
    const isApplied = this.applied.includes(number);
    const numbers = isApplied ? this.applied.filter((other) => other !== number) : [...this.applied, number];
    this.asking = new AbortController();
    this.isAsking = true;
    this.showAge();
    try {
      const draft = numbers.length
        ? await this.page.ask<Applied>("advice/apply", { ...this.request(base), numbers }, this.asking.signal)
        : structuredClone(base);
      this.isAsking = false;
      this.applied = numbers;
      this.page.show(draft);
      this.state = JSON.stringify(this.page.body());
      toggle.textContent = isApplied ? "Apply" : "Undo";
      toggle.setAttribute("aria-pressed", String(!isApplied));
      this.page.announce(
        isApplied ? "Undone: the study is as before." : "Applied. It is saved when you save.",
      );
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return; // the page has changed
      this.page.announce(sentence((problem as Error).message));
    }
    this.isAsking = false;
    this.showAge();
  }
}
