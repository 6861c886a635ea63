/** Shows operators and readers, by token, the results with error bars as reports arrive. */

import type { Access, Rounds } from "../kit/api.js";
import { ask, askJson, fragment, Refused, remember } from "../kit/collector.js";
import { announce, find, h, skipping } from "../kit/dom.js";
import { pages } from "../kit/messages/en.json";
import { speak } from "../kit/messages.js";
import { moment, sentence, several } from "../kit/phrases.js";
import { attribute } from "./attribute_panel.js";
import { collector } from "./collector_panel.js";
import { CrossBoard } from "./cross_board.js";
import { health } from "./health.js";
import { losses } from "./losses_panel.js";
import { facts, heading, keep, listPanels, log, type Mode, optionsOf, waiting } from "./panels.js";
import { RangeBoard } from "./range_board.js";
import { type Choice, type Past, queryOf, Results, unbiasedOf, type View } from "./results.js";
import { rounds } from "./rounds_panel.js";
import { describeShares, type Kind, STEPS } from "./shares_note.js";
import { TextBoard } from "./text_board.js";

speak(pages, "en");

const PERIOD = 4000; // milliseconds
const OLD =
  "This token is not valid, or not any more. If it is yours alone, ask an operator for another one. The collector’s own is in the file operator.token, in the folder where it was started, or in its DENIABLE_TOKEN.";
const LEVELS = ["0.8", "0.9", "0.95", "0.99"];

const board = find("board");
const trouble = find("trouble");
let results: Results | null = null;
let token = "";
let choice: Choice = { plan: null, round: null, level: "0.95", project: "", smooth: false };
let mode: Mode = "charts";
let kind: Kind = "possible";
let paused = false;
let timer = 0;
let turn = 0;
let shown: View | null = null;
let shell: Shell | null = null;
const crossBoard = new CrossBoard(draw);
const textBoard = new TextBoard(draw);
const rangeBoard = new RangeBoard(draw);

/** The sections of the page, and the controls, which are made once. */
interface Shell {
  readonly heading: HTMLElement;
  readonly facts: HTMLElement;
  readonly round: HTMLSelectElement;
  readonly kind: HTMLElement;
  readonly smoothed: HTMLElement;
  readonly health: HTMLElement;
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

function start(): void {
  const { values, secret } = fragment("token");
  choice = { ...choice, plan: values.get("plan"), round: null };
  if (secret === null) return signIn("");
  if (!results || token !== secret) {
    [token, results] = [secret, new Results(secret, complete)];
    shell = shown = null; // another token may allow less
  }
  void refresh();
}

function signIn(problem: string): void {
  results = shell = shown = null;
  turn++; // what is still on its way comes too late
  clearTimeout(timer);
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
    start();
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
async function refresh(): Promise<void> {
  clearTimeout(timer);
  const [mine, source] = [++turn, results];
  if (!source) return;
  try {
    const view = await source.view(choice);
    if (mine !== turn) return;
    trouble.textContent = "";
    if (view) show(view);
    else board.replaceChildren(h("p", {}, "This collector has no study."));
  } catch (problem) {
    if (mine !== turn) return;
    if (problem instanceof Refused && problem.reason === "token") return signIn(OLD);
    trouble.textContent = sentence((problem as Error).message);
  }
  again();
}

function again(): void {
  clearTimeout(timer);
  if (!paused && results) timer = setTimeout(() => (document.hidden ? again() : void refresh()), period());
}

/** Who cannot read how many reports there are has all of it computed each time. */
function period(): number {
  return shown && !shown.counters ? 4 * PERIOD : PERIOD;
}

function show(view: View): void {
  shown = view;
  choice = { ...choice, round: view.round }; // it stays when another round is opened
  shell ??= build(view.access);
  document.title = `${view.plan.title || "Dashboard"} · Deniable`;
  shell.updated.textContent = paused
    ? "Paused"
    : `Updated ${new Date().toLocaleTimeString("en", { hour12: false })}`;
  draw();
}

/** Add a history that came after the rest; another view may be shown by now. */
function complete(view: View, past: Past): void {
  if (shown !== view) return;
  shown = { ...view, ...past };
  draw();
}

/** Put what is known on the page; sections whose content has not changed stay as they are. */
function draw(): void {
  const [got, sections] = [shown, shell];
  if (!got || !sections) return;
  const raw = kind === "unbiased";
  const view = raw ? inUnbiased(got) : got;
  const { plan, summary, plans, estimates, round, reports, counters } = view;
  keep(sections.heading, [plans, summary.id], () => heading(view));
  keep(sections.facts, [plan.id, reports, round, view.rounds, choice.level, estimates?.n, raw], () =>
    facts(view),
  );
  keep(sections.round, [plan.id, view.rounds.map(({ number }) => number)], () =>
    view.rounds.map(({ number }) => h("option", { value: number }, `Round ${number}`)),
  );
  sections.round.value = String(round);
  (sections.round.parentElement as HTMLElement).hidden = view.rounds.length < 2;
  keep(sections.kind, [kind, choice.project], () => describeShares(kind, choice.project));
  sections.smoothed.hidden = !estimates?.smoothable.length;
  drawHealth(view, sections.health);
  drawResults(view, sections.results);
  textBoard.draw(sections.texts, view, { mode, token });
  rangeBoard.draw(sections.ranges, view, { level: choice.level, token });
  crossBoard.draw(sections.cross, view, { level: choice.level, mode, token });
  keep(sections.rounds, [plan.id, view.rounds, view.counts], () =>
    rounds(view, (number, open) => void setRound(view, number, open)),
  );
  keep(sections.losses, plan.id, () => losses(view));
  keep(sections.collector, counters && { ...counters, reports: 0 }, () => collector(view));
  keep(sections.log, [view.actions, plans.length], () => log(view));
}

function inUnbiased(view: View): View {
  return {
    ...view,
    estimates: view.estimates && unbiasedOf(view.estimates),
    history: view.history.map(unbiasedOf),
    series: view.series.map(unbiasedOf),
  };
}

function drawHealth(view: View, section: HTMLElement): void {
  keep(section, view.health, () => health(view.health));
  const alarms = view.health?.alarms ?? 0;
  if (alarms && section.dataset.alarms !== String(alarms))
    announce(`Health of the reports: ${several(alarms, "alarm")}.`);
  section.dataset.alarms = String(alarms);
}

function drawResults(view: View, section: HTMLElement): void {
  const { plan, estimates, history, series } = view;
  const names = listPanels(plan);
  if (!names.length) return keep(section, "text", () => null); // all of it is text
  if (!estimates) return keep(section, [plan.id, view.round, view.reports, view.few], () => waiting(view));
  keep(section, [plan.id, "results"], () =>
    names.map((name) => h("section", { class: "panel attribute", "aria-label": name })),
  );
  const first = section.firstElementChild as HTMLElement;
  const room = Math.max(240, first.clientWidth - 2 * Number.parseFloat(getComputedStyle(first).paddingLeft));
  for (const [i, name] of names.entries()) {
    const names = [name, ...optionsOf(plan, name).map((option) => option.name)];
    const of = ({ rows, means, groups }: typeof estimates): unknown =>
      [...rows, ...means, ...groups].filter((row) => names.includes(row.attribute));
    const past = [history.map(of), view.late];
    const key = [of(estimates), estimates.refused[name], past, series.map(of), mode, room];
    keep(section.children[i] as HTMLElement, key, () => attribute(view, name, mode, room));
  }
}

async function setRound(view: View, number: number, open: boolean): Promise<void> {
  try {
    // others may have closed it
    const { rounds: current } = await askJson<Rounds>(`plans/${view.plan.id}/rounds`);
    const before = current.find((round) => round.number === number);
    const now = new Date();
    if (!open && before?.closes && Date.parse(before.closes) <= now.getTime()) {
      await refresh();
      trouble.textContent = `Round ${number} was closed already, on ${moment(before.closes)}. Nothing was changed.`;
      return;
    }
    const opens = !open && before?.opens && Date.parse(before.opens) < now.getTime() ? before.opens : null;
    const body = JSON.stringify({ opens, closes: open ? null : now.toISOString() });
    await ask(`plans/${view.plan.id}/rounds/${number}`, { method: "PUT", token, body });
    announce(`Round ${number} is ${open ? "open" : "closed"} now.`);
  } catch (problem) {
    trouble.textContent = sentence((problem as Error).message);
    return;
  }
  await refresh();
}

/** A file that not everybody may have: asked for with the token, then handed to the browser. */
async function download(path: string, name: string): Promise<void> {
  try {
    const file = await (await ask(path, { token })).blob();
    const link = h("a", { href: URL.createObjectURL(file), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    trouble.textContent = "";
    announce(`${name} was downloaded.`);
  } catch (problem) {
    trouble.textContent = sentence((problem as Error).message);
  }
}

function build(access: Access): Shell {
  const section = (name: string): HTMLElement => h("section", { class: name });
  const updated = h("span", { class: "soft" });
  const round = h("select", { id: "round", change: () => choose({ round: Number(round.value) }) });
  const made: Shell = {
    heading: section("heading"),
    facts: section(""),
    round,
    kind: section("note"),
    smoothed: h("label", {}),
    health: section("note"),
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
  session(access, updated);
  board.replaceChildren(
    made.heading,
    made.facts,
    controls(round, made.smoothed, operates),
    made.kind,
    made.health,
    made.results,
    made.texts,
    made.ranges,
    made.cross,
    h("div", { class: "below" }, made.rounds, made.losses, operates && made.collector),
    ...(operates ? [made.log] : []),
  );
  return made;
}

function session({ name, role }: Access, updated: HTMLElement): void {
  const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    updated.textContent = paused ? "Paused" : "";
    if (paused) clearTimeout(timer);
    else void refresh();
  });
  const leave = h("button", { type: "button", click: () => signIn("") }, "Sign out");
  const who = h("span", { class: "soft" }, `${name}, ${role}`);
  find("session").replaceChildren(updated, ...(name === "main" ? [] : [who]), pause, leave);
}

function controls(round: HTMLSelectElement, smoothed: HTMLElement, operates: boolean): HTMLElement {
  const field = (label: string, control: HTMLElement): HTMLElement =>
    h("div", { class: "field" }, h("label", { for: control.id }, label), control);
  const level = h(
    "select",
    { id: "level", change: () => choose({ level: level.value }) },
    LEVELS.map((level) =>
      h("option", { value: level, selected: level === choice.level }, `${100 * Number(level)} %`),
    ),
  );
  const project = h(
    "select",
    { id: "project", change: () => choose({ project: project.value }) },
    h("option", { value: "" }, "None"),
    Object.keys(STEPS).map((step) => h("option", { value: step }, step)),
  );
  const view = (value: Mode, label: string): HTMLElement => {
    const set = (): void => {
      mode = value;
      draw();
    };
    return h(
      "label",
      {},
      h("input", { type: "radio", name: "mode", value, checked: mode === value, change: set }),
      label,
    );
  };
  const shares = (value: Kind, label: string): HTMLElement => {
    const set = (): void => {
      kind = value;
      if (choice.smooth === (value === "smoothed")) draw();
      else choose({ smooth: !choice.smooth });
    };
    return h(
      "label",
      {},
      h("input", { type: "radio", name: "kind", value, checked: kind === value, change: set }),
      label,
    );
  };
  const file = (label: string, path: () => string, name: string): HTMLElement => {
    const get = (): void => {
      if (shown)
        void download(`plans/${shown.plan.id}/${path()}`, `${name.replace("ID", shown.plan.id.slice(0, 8))}`);
    };
    return h("button", { type: "button", click: get }, label);
  };
  const query = (format: string): string =>
    `estimates?round=${shown?.round}&${shown ? queryOf(choice, shown.plan) : ""}&format=${format}`;
  smoothed.append(...shares("smoothed", "Smoothed").childNodes);
  const close = (event: Event): void => {
    if ((event as KeyboardEvent).key === "Escape") (event.currentTarget as HTMLDetailsElement).open = false;
  };
  return h(
    "section",
    { class: "controls", "aria-label": "What is shown" },
    field("Round", round),
    field("Confidence", level),
    field("Consistency step", project),
    h(
      "fieldset",
      { class: "field" },
      h("legend", {}, "View"),
      h("div", { class: "switch" }, view("charts", "Charts"), view("tables", "Tables")),
    ),
    h(
      "fieldset",
      { class: "field" },
      h("legend", {}, "Shares"),
      h("div", { class: "switch" }, shares("possible", "Possible"), smoothed, shares("unbiased", "Unbiased")),
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
        operates && file("Tallies, JSON", () => `tallies?round=${shown?.round}`, "tallies-ID.json"),
        operates && file("Reports, Parquet", () => `reports?round=${shown?.round}`, "reports-ID.parquet"),
      ),
    ),
  );
}

function choose(change: Partial<Choice>): void {
  choice = { ...choice, ...change };
  void refresh();
}

addEventListener("hashchange", start);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !paused) void refresh();
});
new ResizeObserver(() => draw()).observe(board);
skipping();
start();
