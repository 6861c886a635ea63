/** Shows operators and readers, by token, the results with error bars as reports arrive. */

import type { Access, Rounds } from "../kit/api.js";
import { ask, askJson, fragment, Refused, remember } from "../kit/collector.js";
import { announce, find, h, handOver, skipping } from "../kit/dom.js";
import { pages } from "../kit/messages/en.json";
import { speak } from "../kit/messages.js";
import { moment, sentence, several } from "../kit/phrases.js";
import { attribute } from "./attribute_panel.js";
import { collector } from "./collector_panel.js";
import { CrossBoard } from "./cross_board.js";
import { alarms, explainOutdated } from "./days_panel.js";
import { health } from "./health.js";
import { joinedPlans } from "./joined_panel.js";
import { losses } from "./losses_panel.js";
import { facts, heading, keep, listPanels, log, type Mode, optionsOf, waiting } from "./panels.js";
import { RangeBoard } from "./range_board.js";
import {
  type Choice,
  inRound,
  type Past,
  type People,
  queryOf,
  Results,
  unbiasedOf,
  type View,
} from "./results.js";
import { rounds } from "./rounds_panel.js";
import { describeShares, type Kind } from "./shares_note.js";
import { TextBoard } from "./text_board.js";
import { WeightsBoard } from "./weights_board.js";

speak(pages, "en");

const PERIOD = 4000; // milliseconds
const OLD =
  "This token is not valid, or not any more. If it is yours alone, ask an operator for another one. The collector’s own is in the file operator.token, in the folder where it was started, or in its DENIABLE_TOKEN.";
const WHOSE: Readonly<Record<People, string>> = {
  population: "The population",
  same: "Those who reported",
  others: "Other people each time",
  linked: "Those who answered both",
};
const MORE = "More";
const LEVELS = ["0.8", "0.9", "0.95", "0.99"];

const board = find("board");
const trouble = find("trouble");

/** The sections of the page, and the controls, which are made once. */
interface Shell {
  readonly heading: HTMLElement;
  readonly outdated: HTMLElement;
  readonly facts: HTMLElement;
  readonly round: HTMLSelectElement;
  readonly whose: HTMLSelectElement;
  readonly kind: HTMLElement;
  readonly more: HTMLElement;
  readonly smoothed: HTMLElement;
  readonly health: HTMLElement;
  readonly alarms: HTMLElement;
  readonly joined: HTMLElement;
  readonly weights: HTMLElement;
  readonly results: HTMLElement;
  readonly texts: HTMLElement;
  readonly ranges: HTMLElement;
  readonly cross: HTMLElement;
  readonly rounds: HTMLElement;
  readonly losses: HTMLElement;
  readonly collector: HTMLElement;
  readonly log: HTMLElement;
  readonly updated: HTMLElement;
}

/** What is shown, what was chosen, and when to look again. */
class Dashboard {
  private results: Results | null = null;
  private token = "";
  private choice: Choice = {
    plan: null,
    round: null,
    level: "0.95",
    people: "",
    smooth: false,
    weights: "",
    joined: false,
  };
  private mode: Mode = "charts";
  private kind: Kind = "possible";
  private paused = false;
  private timer = 0;
  private turn = 0;
  private shown: View | null = null;
  private shell: Shell | null = null;
  private readonly crossBoard = new CrossBoard(() => this.draw());
  private readonly textBoard = new TextBoard(() => this.draw());
  private readonly rangeBoard = new RangeBoard(() => this.draw());
  private readonly weightsBoard = new WeightsBoard(
    (weights) => this.weigh(weights, this.choice.joined),
    () => this.draw(),
  );

  start(): void {
    const { values, secret } = fragment("token");
    this.choice = { ...this.choice, plan: values.get("plan"), round: null, weights: "", joined: false };
    if (secret === null) return this.signIn("");
    if (!this.results || this.token !== secret) {
      [this.token, this.results] = [secret, new Results(secret, (view, past) => this.complete(view, past))];
      this.shell = this.shown = null; // another token may allow less
    }
    void this.refresh();
  }

  private signIn(problem: string): void {
    this.results = this.shell = this.shown = null;
    this.turn++; // what is still on its way comes too late
    clearTimeout(this.timer);
    remember("token", null);
    find("session").replaceChildren();
    const field = h("input", {
      type: "password",
      id: "token",
      autocomplete: "off",
      "aria-describedby": "token-hint token-problem",
      "aria-invalid": problem ? "true" : null,
    });
    const enter = (event: Event): void => {
      event.preventDefault();
      if (!field.value.trim()) return field.focus();
      remember("token", field.value.trim());
      this.start();
    };
    board.replaceChildren(
      h(
        "form",
        { class: "panel sign", novalidate: true, submit: enter },
        h("h1", {}, "Dashboard"),
        h("label", { for: "token" }, "Your token"),
        field,
        h("p", { class: "complaint", id: "token-problem", role: "alert" }, problem),
        h(
          "p",
          { class: "soft", id: "token-hint" },
          "An operator gave it to you, or the collector printed it at its first start and keeps it in its token file. It stays in this tab.",
        ),
        h("button", { type: "submit", class: "main" }, "Show results"),
      ),
    );
    field.focus();
  }

  /** Ask for what is new, and again in a few seconds. */
  private async refresh(): Promise<void> {
    clearTimeout(this.timer);
    const [mine, source] = [++this.turn, this.results];
    if (!source) return;
    try {
      const view = await source.view(this.choice);
      if (mine !== this.turn) return;
      trouble.textContent = "";
      if (view) this.show(view);
      else board.replaceChildren(h("p", {}, "This collector has no study."));
    } catch (problem) {
      if (mine !== this.turn) return;
      if (problem instanceof Refused && problem.reason === "token") return this.signIn(OLD);
      trouble.textContent = sentence((problem as Error).message);
    }
    this.again();
  }

  private again(): void {
    clearTimeout(this.timer);
    if (!this.paused && this.results)
      this.timer = setTimeout(() => (document.hidden ? this.again() : void this.refresh()), this.period());
  }

  /** Who cannot read how many reports there are has all of it computed each time. */
  private period(): number {
    return this.shown && !this.shown.counters ? 4 * PERIOD : PERIOD;
  }

  private show(view: View): void {
    this.shown = view;
    this.choice = { ...this.choice, round: view.round }; // it stays when another round is opened
    this.shell ??= this.build(view.access);
    document.title = `${view.plan.title || "Dashboard"} · Deniable`;
    this.shell.updated.textContent = this.paused
      ? "Paused"
      : `Updated ${new Date().toLocaleTimeString("en", { hour12: false })}`;
    this.draw();
  }

  /** Add a history that came after the rest; another view may be shown by now. */
  private complete(view: View, past: Past): void {
    if (this.shown !== view) return;
    this.shown = { ...view, ...past };
    this.draw();
  }

  /** Put what is known on the page; sections whose content has not changed stay as they are. */
  draw(): void {
    const [got, sections] = [this.shown, this.shell];
    if (!got || !sections) return;
    const raw = this.kind === "unbiased";
    const view = raw ? inUnbiased(got) : got;
    const { plan, summary, plans, estimates, round, reports, counters } = view;
    keep(sections.heading, [plans, summary.id], () => heading(view));
    if (view.outdated && sections.outdated.hidden) announce("These results are old.");
    sections.outdated.hidden = !view.outdated;
    keep(sections.outdated, view.outdated, () => explainOutdated(view));
    keep(
      sections.facts,
      [
        plan.id,
        reports,
        round,
        view.rounds,
        this.choice.level,
        estimates?.n,
        raw,
        estimates?.weights,
        view.days?.dates,
      ],
      () => facts(view),
    );
    keep(sections.round, [plan.id, view.rounds.map(({ number }) => number)], () =>
      view.rounds.map(({ number }) => h("option", { value: number }, `Round ${number}`)),
    );
    sections.round.value = String(round);
    for (const select of [sections.round, sections.whose])
      (select.parentElement as HTMLElement).hidden = view.rounds.length < 2;
    keep(sections.whose, plan.linked, () =>
      Object.entries(WHOSE)
        .filter(([people]) => plan.linked || people !== "linked")
        .map(([value, text]) => h("option", { value }, text)),
    );
    const compared = typeof view.changed === "object" ? view.changed?.people : undefined;
    sections.whose.value = this.choice.people || (compared ?? (plan.linked ? "linked" : "population"));
    keep(sections.kind, this.kind, () => describeShares(this.kind));
    sections.more.textContent = this.kind === "possible" ? MORE : `${MORE}: ${this.kind} shares`;
    sections.smoothed.hidden = !estimates?.smoothable.length;
    this.drawHealth(view, sections.health);
    sections.alarms.hidden = !view.days;
    keep(
      sections.alarms,
      view.days && [plan.id, view.days.alarms, view.days.bursts, view.days.dates.length, estimates?.plans],
      () => alarms(view),
    );
    sections.rounds.hidden = view.byDay;
    sections.joined.hidden = view.byDay || !estimates || !summary.continues.length;
    const { joined, weights: population } = this.choice;
    const parts = [estimates?.plans, estimates?.not_joined, view.unjoined];
    keep(sections.joined, [plan.id, joined, population, parts], () =>
      joinedPlans(view, this.choice, (joined) => this.weigh(population, joined)),
    );
    this.weightsBoard.draw(sections.weights, view);
    this.drawResults(view, sections.results);
    if (!view.byDay) this.textBoard.draw(sections.texts, view, { mode: this.mode, token: this.token });
    const { level, weights } = this.choice;
    const shown = { level, weights, joined: view.isJoined, token: this.token };
    this.rangeBoard.draw(sections.ranges, view, shown);
    this.crossBoard.draw(sections.cross, view, {
      level,
      weights,
      people: this.choice.people,
      mode: this.mode,
      token: this.token,
    });
    const unused = counters?.unused.get(plan.id);
    keep(sections.rounds, [plan.id, view.rounds, view.counts, view.participation, unused], () =>
      rounds(view, (number, open) => void this.setRound(view, number, open)),
    );
    keep(sections.losses, plan.id, () => losses(view));
    keep(sections.collector, counters && { ...counters, reports: 0 }, () => collector(view));
    keep(sections.log, [view.actions, plans.length], () => log(view));
  }

  private drawHealth(view: View, section: HTMLElement): void {
    keep(section, view.health, () => health(view.health));
    const alarms = view.health?.alarms ?? 0;
    if (alarms && section.dataset.alarms !== String(alarms))
      announce(`Health of the reports: ${several(alarms, "alarm")}.`);
    section.dataset.alarms = String(alarms);
  }

  private drawResults(view: View, section: HTMLElement): void {
    const { plan, estimates, history, series, changed } = view;
    const names = listPanels(plan);
    if (!names.length) return keep(section, "text", () => null); // all of it is text
    if (!estimates) return keep(section, [plan.id, view.round, view.reports, view.few], () => waiting(view));
    keep(section, [plan.id, "results"], () =>
      names.map((name) => h("section", { class: "panel attribute", "aria-label": name })),
    );
    const first = section.firstElementChild as HTMLElement;
    const room = Math.max(
      240,
      first.clientWidth - 2 * Number.parseFloat(getComputedStyle(first).paddingLeft),
    );
    for (const [i, name] of names.entries()) {
      const names = [name, ...optionsOf(plan, name).map((option) => option.name)];
      const of = ({ rows, means, groups }: typeof estimates): unknown =>
        [...rows, ...means, ...groups].filter((row) => names.includes(row.attribute));
      const past = [history.map(of), view.late];
      const since =
        changed && typeof changed === "object"
          ? { ...changed, rows: changed.rows.filter((row) => names.includes(row.attribute)) }
          : changed;
      const weighed = estimates.weights?.attributes.filter((row) => names.includes(row.attribute));
      const shown = [of(estimates), estimates.refused[name], series.map(of), since, weighed];
      const lines = view.days?.lines.filter(({ attribute }) => names.includes(attribute));
      const key = [...shown, past, lines, this.mode, room];
      keep(section.children[i] as HTMLElement, key, () => attribute(view, name, this.mode, room));
    }
  }

  private async setRound(view: View, number: number, open: boolean): Promise<void> {
    try {
      // others may have closed it
      const { rounds: current } = await askJson<Rounds>(`plans/${view.plan.id}/rounds`);
      const before = current.find((round) => round.number === number);
      const now = new Date();
      if (!open && before?.closes && Date.parse(before.closes) <= now.getTime()) {
        await this.refresh();
        trouble.textContent = `Round ${number} was closed already, on ${moment(before.closes)}. Nothing was changed.`;
        return;
      }
      const opens = !open && before?.opens && Date.parse(before.opens) < now.getTime() ? before.opens : null;
      const body = JSON.stringify({ opens, closes: open ? null : now.toISOString() });
      await ask(`plans/${view.plan.id}/rounds/${number}`, { method: "PUT", token: this.token, body });
      announce(`Round ${number} is ${open ? "open" : "closed"} now.`);
    } catch (problem) {
      trouble.textContent = sentence((problem as Error).message);
      return;
    }
    await this.refresh();
  }

  /** A file that not everybody may have: asked for with the token, then handed to the browser. */
  private async download(path: string, name: string): Promise<void> {
    try {
      handOver(await (await ask(path, { token: this.token })).blob(), name);
      trouble.textContent = "";
    } catch (problem) {
      trouble.textContent = sentence((problem as Error).message);
    }
  }

  private build(access: Access): Shell {
    const section = (name: string): HTMLElement => h("section", { class: name });
    const updated = h("span", { class: "soft" });
    const round = h("select", { id: "round", change: () => this.choose({ round: Number(round.value) }) });
    const whose = h("select", { id: "whose", change: () => this.choose({ people: whose.value as People }) });
    const made: Shell = {
      heading: section("heading"),
      outdated: h("section", { class: "notice bad", "aria-label": "These results are old", hidden: true }),
      facts: section(""),
      round,
      whose,
      kind: section("note"),
      more: h("summary", { "data-name": "more" }, MORE),
      smoothed: h("label", {}),
      health: section("note"),
      alarms: h("section", { class: "panel alarms", "aria-label": "What moved" }),
      joined: h("section", { class: "panel weights", "aria-label": "Which plans results are of" }),
      weights: h("section", { class: "panel weights", "aria-label": "Whom results are about" }),
      results: section("results"),
      texts: section("results"),
      ranges: h("section", { class: "panel ranges", "aria-label": "The share of a range" }),
      cross: h("section", { class: "panel cross", "aria-label": "Two answers at once" }),
      rounds: section("panel rounds"),
      losses: section("panel"),
      collector: section("panel"),
      log: section("panel log"),
      updated,
    };
    const operates = access.role === "operator";
    this.session(access, updated);
    board.replaceChildren(
      made.heading,
      made.outdated,
      made.facts,
      this.controls(made, operates),
      made.health,
      made.alarms,
      made.joined,
      made.weights,
      made.results,
      made.texts,
      made.ranges,
      made.cross,
      h("div", { class: "below" }, made.rounds, made.losses, operates && made.collector),
      ...(operates ? [made.log] : []),
    );
    return made;
  }

  private session({ name, role }: Access, updated: HTMLElement): void {
    const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    pause.addEventListener("click", () => {
      this.paused = !this.paused;
      pause.setAttribute("aria-pressed", String(this.paused));
      updated.textContent = this.paused ? "Paused" : "";
      if (this.paused) clearTimeout(this.timer);
      else void this.refresh();
    });
    const leave = h("button", { type: "button", click: () => this.signIn("") }, "Sign out");
    const who = h("span", { class: "soft" }, `${name}, ${role}`);
    find("session").replaceChildren(updated, ...(name === "main" ? [] : [who]), pause, leave);
  }

  private controls({ round, whose, smoothed, kind, more }: Shell, operates: boolean): HTMLElement {
    const field = (label: string, control: HTMLElement): HTMLElement =>
      h("div", { class: "field" }, h("label", { for: control.id }, label), control);
    const level = h(
      "select",
      { id: "level", change: () => this.choose({ level: level.value }) },
      LEVELS.map((level) =>
        h("option", { value: level, selected: level === this.choice.level }, `${100 * Number(level)} %`),
      ),
    );
    const view = (value: Mode, label: string): HTMLElement => {
      const set = (): void => {
        this.mode = value;
        this.draw();
      };
      return h(
        "label",
        {},
        h("input", { type: "radio", name: "mode", value, checked: this.mode === value, change: set }),
        label,
      );
    };
    const shares = (value: Kind, label: string): HTMLElement => {
      const set = (): void => {
        this.kind = value;
        if (this.choice.smooth === (value === "smoothed")) this.draw();
        else this.choose({ smooth: !this.choice.smooth });
      };
      return h(
        "label",
        {},
        h("input", { type: "radio", name: "kind", value, checked: this.kind === value, change: set }),
        label,
      );
    };
    const file = (label: string, path: () => string, name: string): HTMLElement => {
      const get = (): void => {
        if (this.shown)
          void this.download(
            `plans/${this.shown.plan.id}/${path()}`,
            `${name.replace("ID", this.shown.plan.id.slice(0, 8))}`,
          );
      };
      return h("button", { type: "button", click: get }, label);
    };
    const query = (format: string): string => {
      if (!this.shown) return "";
      const joined = this.shown.isJoined ? "&joined=true" : "";
      const choice = queryOf(this.choice, this.shown.plan);
      return `estimates?${inRound(this.shown.round)}${choice}${joined}&format=${format}`;
    };
    smoothed.append(...shares("smoothed", "Smoothed").childNodes);
    const close = (event: Event): void => {
      if ((event as KeyboardEvent).key === "Escape") (event.currentTarget as HTMLDetailsElement).open = false;
    };
    return h(
      "section",
      { class: "controls", "aria-label": "What is shown" },
      field("Round", round),
      field("Confidence", level),
      field("Whose change", whose),
      h(
        "fieldset",
        { class: "field" },
        h("legend", {}, "View"),
        h("div", { class: "switch" }, view("charts", "Charts"), view("tables", "Tables")),
      ),
      h(
        "details",
        { class: "downloads choices", keydown: close },
        more,
        h(
          "div",
          {},
          h(
            "fieldset",
            { class: "field" },
            h("legend", {}, "Shares"),
            h(
              "div",
              { class: "switch" },
              shares("possible", "To publish"),
              smoothed,
              shares("unbiased", "Unbiased"),
            ),
          ),
          kind,
        ),
      ),
      h(
        "details",
        { class: "downloads", keydown: close },
        h("summary", {}, "Download"),
        h(
          "div",
          {},
          file("Estimates, CSV", () => query("csv"), "estimates-ID.csv"),
          file("Estimates, JSON", () => query("json"), "estimates-ID.json"),
          file("Estimates, Parquet", () => query("parquet"), "estimates-ID.parquet"),
          file("Codebook, CSV", () => "codebook?format=csv", "codebook-ID.csv"),
          operates && file("Tallies, JSON", () => `tallies?round=${this.shown?.round}`, "tallies-ID.json"),
          operates &&
            file("Reports, Parquet", () => `reports?round=${this.shown?.round}`, "reports-ID.parquet"),
        ),
      ),
    );
  }

  /** Show a population, or plans that are joined: neither is smoothed. */
  private weigh(weights: string, joined: boolean): void {
    if ((weights || joined) && this.kind === "smoothed") {
      this.kind = "possible";
      const possible = document.querySelector<HTMLInputElement>("input[name=kind][value=possible]");
      if (possible) possible.checked = true;
    }
    this.choose({ weights, joined, smooth: this.kind === "smoothed" });
  }

  private choose(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change };
    void this.refresh();
  }

  /** Look again when the page is seen again, unless the person has paused it. */
  resume(): void {
    if (!document.hidden && !this.paused) void this.refresh();
  }
}

function inUnbiased(view: View): View {
  return {
    ...view,
    estimates: view.estimates && unbiasedOf(view.estimates),
    history: view.history.map(unbiasedOf),
    series: view.series.map(unbiasedOf),
  };
}

const dashboard = new Dashboard();
addEventListener("hashchange", () => dashboard.start());
document.addEventListener("visibilitychange", () => dashboard.resume());
new ResizeObserver(() => dashboard.draw()).observe(board);
skipping();
dashboard.start();
