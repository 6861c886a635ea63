/** Makes a study: writes its file, and shows what it will tell and give away as it is written. */

import { announce, type Child, find, h, handOver, skipping } from "../kit/dom.js";
import { pages } from "../kit/messages/en.json";
import { speak } from "../kit/messages.js";
import { sentence, several } from "../kit/phrases.js";
import { Adviser } from "./advice.js";
import { ageLine, setAge } from "./age.js";
import { FOLLOWS } from "./asking.js";
import {
  type Keys,
  makeQuestion,
  type Question,
  readField,
  tableOf,
  type Written,
  written,
} from "./draft.js";
import { showQuestions } from "./editor.js";
import { button, complain } from "./fields.js";
import {
  choice,
  errors,
  type Forecast,
  guesses,
  judged,
  type Preview,
  replaceFigures,
  results,
  verdict,
  warnings,
} from "./figures.js";
import { showNext } from "./next.js";
import { type Settings, showBudget, showTexts } from "./settings.js";
import { showTogether } from "./together.js";

speak(pages, "en");

const WAIT = 120; // milliseconds after a change: people write and slide on
const WAIT_RESULTS = 250;
const WAIT_SURVEY = 700;
const PAGE = crypto.randomUUID();

interface Read extends Written {
  readonly file: string;
  readonly is_new: boolean;
  readonly version: string;
  readonly people: number;
}

interface Problem {
  readonly text: string;
  readonly question: number | null;
  readonly field: string | null;
  /** Whether nothing is wrong, but something is still to be filled in. */
  readonly unfinished: boolean;
}

class Refused extends Error {
  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

const main = find("study");
const trouble = find("trouble");
const settings: Settings = {
  draft: { study: {}, questions: [], people: 1000 },
  budget: 1,
  language: () => {
    const usual = readField(tableOf(settings.draft.study, "survey").language) || "en";
    return { usual, now: writing ?? usual };
  },
  write: (language) => {
    writing = language;
    showTexts(panels.texts, settings);
    showQuestions(panels.questions, { ...settings, announce });
    paint();
  },
  changed: () => change(),
};
let about = { file: "study.toml", version: "", people: 1000, isNew: true };
let saved = ""; // the draft as the file has it
let turn = 0;
let asking = new AbortController();
let timer = 0;
let surveyTimer = 0;
let simulateTimer = 0;
let shown: Forecast | null = null;
let simulated = { truth: "uneven", seed: 1 };
let computed: "now" | "computing" | "failed" = "computing"; // whether figures are of the page as it is now
let resultsOf = ""; // the plan and the people that the results are of
let surveyOf = ""; // the plan whose survey is shown
const adviser = new Adviser({
  ask: (path, body, signal) => ask(path, "POST", { ...body, page: PAGE, turn }, signal),
  body: () => ({ ...written(settings.draft, settings.budget), people: settings.draft.people }),
  show: (draft) => replaceDraft(draft),
  announce,
});
let panels: Panels;
let problems: readonly Problem[] = []; // why the study cannot be saved as it is
let writing: string | null = null; // the language of texts, where it is not the first one
const left = new Set<string>(); // the ids of fields that somebody has been in

interface Panels {
  readonly texts: HTMLElement;
  readonly questions: HTMLElement;
  readonly together: HTMLElement;
  readonly budget: HTMLElement;
  readonly figures: HTMLElement;
  readonly below: HTMLElement;
  readonly warnings: HTMLElement;
  readonly errors: HTMLElement;
  readonly guesses: HTMLElement;
  readonly choice: HTMLElement;
  readonly results: HTMLElement;
  readonly survey: HTMLIFrameElement;
  readonly simulated: HTMLElement;
  readonly shown: HTMLElement;
  readonly next: HTMLElement;
  readonly state: HTMLElement;
}

async function ask<T>(path: string, method = "GET", body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await request(path, method, body, signal)).json();
}

async function request(
  path: string,
  method: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      credentials: "omit",
      ...(signal ? { signal } : {}),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
  } catch (problem) {
    if ((problem as Error).name === "AbortError") throw problem;
    throw new Refused(
      "offline",
      "deniable design has ended; start it again to go on. What you wrote is still here.",
    );
  }
  if (answer.ok) return answer;
  const { reason, detail } = await answer.json();
  throw new Refused(String(reason), String(detail));
}

/** Read the file, and show it. */
async function start(): Promise<void> {
  try {
    load(await ask<Read>("study"));
  } catch (problem) {
    main.replaceChildren(
      h("h1", {}, "This file cannot be shown"),
      h("p", { class: "notice bad" }, sentence((problem as Error).message)),
      button("Read it again", () => void start()),
    );
  }
}

function load(read: Read): void {
  about = { file: read.file, version: read.version, people: read.people, isNew: read.is_new };
  saved = resultsOf = surveyOf = "";
  shown = null;
  panels = build();
  showNext(panels.next, { file: about.file, draft: settings.draft, download });
  replaceDraft(read);
  saved = read.is_new ? "" : current();
  sayState();
}

/** Show another study in the place of this one; questions of the same name stay open. */
function replaceDraft({ study, questions, people }: Written & { readonly people: number }): void {
  const { draft } = settings;
  const before = new Map(draft.questions.map(({ name, isOpen }) => [name, isOpen]));
  draft.study = study as Keys;
  draft.questions = questions.map(({ name, keys, was }, i) =>
    makeQuestion(name, keys, was, before.get(name) ?? (i === 0 && questions.length <= 2)),
  );
  draft.people = people;
  const { epsilon } = study;
  settings.budget = typeof epsilon === "number" ? epsilon : 1;
  showTexts(panels.texts, settings);
  showBudget(panels.budget, settings);
  showQuestions(panels.questions, { ...settings, announce });
  showTogether(panels.together, { ...settings, announce });
  change();
}

const current = (): string => {
  const { study, questions } = written(settings.draft, settings.budget);
  return JSON.stringify([study, questions.map(({ name, keys }) => [name, keys]), settings.draft.people]);
};
const isSaved = (): boolean => current() === saved;

function change(): void {
  for (const element of main.querySelectorAll(`.${FOLLOWS}`)) element.dispatchEvent(new Event("refresh"));
  sayState();
  document.title = `${readField(settings.draft.study.title) || "Design"} · Deniable`;
  asking.abort();
  turn++;
  showAges("computing");
  adviser.wait();
  clearTimeout(timer);
  timer = setTimeout(() => void look(), WAIT);
}

/** Say of each part whether it shows the study as it is now. */
function showAges(figures = computed): void {
  computed = figures;
  const plan = shown?.plan ?? "";
  const follow = (isOf: boolean): typeof figures => (figures === "now" && !isOf ? "computing" : figures);
  setAge(panels.figures, figures, shown === null);
  panels.questions.classList.toggle("old", figures !== "now");
  setAge(panels.simulated, follow(resultsOf === describeResults(plan)), resultsOf === "");
  setAge(panels.shown, follow(surveyOf === shown?.plans[0]), surveyOf === "");
}

const describeResults = (plan: string): string => JSON.stringify([plan, simulated]);

/** Say beside the button whether the file has it, and why it cannot be saved yet. */
function sayState(): void {
  const { questions } = settings.draft;
  const first = problems.find(isWrong) ?? problems[0];
  const question = first && first.question !== null ? questions[first.question]?.name : undefined;
  const blamed = first ? `${question ? `“${question}”: ` : ""}${first.text}` : "";
  const reason = questions.length ? blamed : "it has no question";
  const words = reason ? `Cannot be saved yet: ${reason}` : "Not saved yet";
  panels.state.textContent = isSaved() ? `Saved in ${about.file}` : words;
  panels.state.classList.toggle("wrong", !isSaved() && first !== undefined && isWrong(first));
}

/** Ask for the figures of what is on the page now; what was asked before is stale. */
async function look(): Promise<void> {
  asking = new AbortController();
  const mine = turn;
  const { draft } = settings;
  const body = { ...written(draft, settings.budget), people: draft.people, page: PAGE, turn: mine };
  try {
    const draftState = await ask<{ problems: Problem[]; forecast: Forecast | null }>(
      "forecast",
      "POST",
      body,
      asking.signal,
    );
    if (mine !== turn) return;
    trouble.textContent = "";
    problems = draftState.problems;
    show(draftState.forecast);
    showAges("now");
  } catch (problem) {
    if (mine !== turn || (problem as Error).name === "AbortError") return;
    trouble.textContent = sentence((problem as Error).message);
    showAges("failed");
  }
}

/** Whether something is wrong; what is only not filled in yet is not, until its field was left. */
function isWrong(problem: Problem): boolean {
  const id = placeOf(problem, settings.draft.questions);
  return left.has(id) || (!problem.unfinished && document.activeElement?.id !== id);
}

/** Say at every field, and above every question, what is wrong with it or to be filled in. */
function paint(forecast: Forecast | null = shown): void {
  const { questions } = settings.draft;
  sayState();
  for (const place of main.querySelectorAll<HTMLElement>(".complaint")) {
    const id = place.id.replace(/-complaint$/, "");
    const problem = problems.find((each) => placeOf(each, questions) === id);
    complain(id, problem ? sentence(problem.text) : "", problem && isWrong(problem));
  }
  for (const { id, name, keys } of questions) {
    const place = document.getElementById(`q${id}-verdict`);
    const ofQuestion = problems.filter(({ question }) => question !== null && questions[question]?.id === id);
    const precision = forecast ? judged(forecast.precisions, name) : undefined;
    if (!place) continue;
    const isRead = forecast?.tables.some(({ of, by }) => of === name || by === name);
    const other = keys.known === true ? "you know it" : isRead ? "read in tables" : "";
    const words = precision ? verdict(precision) : other;
    place.textContent = ofQuestion.length ? "to be completed" : words;
    place.className = `verdict ${ofQuestion.some(isWrong) ? "wrong" : ofQuestion.length ? "soft" : (precision?.use ?? "")}`;
  }
}

/** What figures leave out, in words. */
function leftOut(): HTMLElement[] {
  const { questions } = settings.draft;
  const names = (isOpen: boolean): string =>
    [
      ...new Set(
        problems.filter(({ field }) => (field === "only_if") === isOpen).map((problem) => problem.question),
      ),
    ]
      .flatMap((i) => (i === null ? [] : [`“${questions[i]?.name}”`]))
      .join(", ");
  const [without, free] = [names(false), names(true)];
  const text = [
    without && `All figures leave out what is not complete yet: ${without}.`,
    free && `${without ? "They" : "All figures"} take it that everybody is asked ${free}.`,
    problems.some(({ field }) => field === "together" || field === "target") &&
      "All figures are without tables, which cannot be asked so.",
  ].filter(Boolean);
  return text.length ? [h("p", { class: "notice" }, text.join(" "))] : [];
}

function show(forecast: Forecast | null): void {
  paint(forecast);
  panels.figures.hidden = panels.below.hidden = forecast === null;
  if (!forecast) return;
  shown = forecast;
  const { plans } = forecast;
  replaceFigures(panels.warnings, leftOut(), warnings(forecast));
  replaceFigures(panels.errors, errors(forecast));
  replaceFigures(panels.guesses, guesses(forecast));
  replaceFigures(panels.choice, choice(forecast));
  const isWeak = [...forecast.precisions, ...forecast.tables].some(
    ({ use }) => use === "noise" || use === "rough",
  );
  adviser.follow(isWeak);
  clearTimeout(simulateTimer);
  simulateTimer = setTimeout(() => void simulate(), panels.results.hasChildNodes() ? WAIT_RESULTS : 0);
  clearTimeout(surveyTimer);
  const address = `survey/${plans[0]}/#${plans.map((plan) => `plan=${plan}`).join("&")}`;
  if (!panels.survey.src.endsWith(address))
    surveyTimer = setTimeout(() => void (panels.survey.src = address), panels.survey.src ? WAIT_SURVEY : 0);
}

/** The id of the field that a problem is about, or of the place for what has no field. */
function placeOf({ question, field }: Problem, questions: readonly Question[]): string {
  if (question === null) return field !== null && document.getElementById(field) ? field : "study";
  const at = `q${questions[question]?.id}`;
  return field !== null && document.getElementById(`${at}-${field}-complaint`) ? `${at}-${field}` : at;
}

/** Show results of simulated people; those of an older plan, or of other people, come too late. */
async function simulate(): Promise<void> {
  if (!shown) return;
  const { plan, people } = shown;
  const wanted = describeResults(plan);
  showAges();
  let figures: Child;
  try {
    figures = results(await ask<Preview>("preview", "POST", { plan, ...simulated }), people);
  } catch (problem) {
    if (problem instanceof Refused && problem.reason === "stale") return;
    figures = h("p", { class: "soft" }, sentence((problem as Error).message));
  }
  if (wanted !== describeResults(shown.plan)) return;
  replaceFigures(panels.results, figures);
  resultsOf = wanted;
  showAges();
}

/** Save the study, and download what is needed next; what is not saved is not given. */
async function download(url: string, letters: number): Promise<void> {
  if (!isSaved()) await save();
  if (!isSaved()) return;
  announce("The download is being made.");
  const { draft, budget } = settings;
  const body = { ...written(draft, budget), people: draft.people, url, letters };
  try {
    handOver(await (await request("download", "POST", body)).blob(), about.file.replace(/\.toml$/, ".zip"));
    trouble.textContent = "";
  } catch (problem) {
    trouble.textContent = sentence((problem as Error).message);
  }
}

async function save(isForced = false): Promise<void> {
  const { draft } = settings;
  const now = current();
  const hasPeople = about.isNew || draft.people !== about.people;
  const body = {
    ...written(draft, settings.budget),
    version: about.version,
    force: isForced,
    ...(hasPeople ? { people: draft.people } : {}),
  };
  try {
    const { version } = await ask<{ version: string }>("study", "PUT", body);
    about = { ...about, version, people: draft.people, isNew: false };
    draft.questions = draft.questions.map((question) => ({ ...question, was: question.name }));
    saved = now;
    trouble.textContent = "";
    announce(`Saved in ${about.file}.`);
    showQuestions(panels.questions, { ...settings, announce }, document.activeElement?.id);
    change();
  } catch (problem) {
    if (problem instanceof Refused && problem.reason === "changed") return conflict();
    trouble.textContent = sentence((problem as Error).message);
    for (const problem of problems) left.add(placeOf(problem, draft.questions));
    paint();
    const wrong = main.querySelector<HTMLElement>('[aria-invalid="true"]');
    wrong?.closest<HTMLDetailsElement>("details.asked")?.setAttribute("open", "");
    wrong?.focus();
  }
}

/** Somebody else has changed the file: ask before anything of that is lost. */
function conflict(): void {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "conflict-title" },
    h("h2", { id: "conflict-title" }, `${about.file} was changed`),
    h("p", {}, "Another program has written the file since this page read it."),
    h(
      "div",
      { class: "row" },
      button("Write mine over it", () => [dialog.close(), save(true)], { class: "bad" }),
      button("Read the file, drop mine", () => [dialog.close(), start()]),
      button("Cancel", () => dialog.close()),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function build(): Panels {
  const panel = (name: string, ...children: readonly HTMLElement[]): HTMLElement =>
    h("section", { class: `panel ${name}` }, ...children);
  const results = h("div", { class: "results" });
  const survey = h("iframe", { title: "The survey as it will look" });
  survey.addEventListener("load", () => {
    if (!survey.src) return;
    surveyOf = /\/survey\/(\w+)\//.exec(survey.src)?.[1] ?? "";
    showAges();
  });
  const next = panel("next");
  const state = h("span", { class: "soft" });
  const truth = h(
    "select",
    { id: "truth" },
    h("option", { value: "uneven" }, "uneven, at random"),
    h("option", { value: "even" }, "even"),
  );
  truth.addEventListener("change", () => {
    simulated = { ...simulated, truth: truth.value };
    void simulate();
  });
  const redraw = (): void => {
    simulated = { ...simulated, seed: simulated.seed + 1 };
    void simulate();
  };
  const made: Panels = {
    texts: panel("texts"),
    questions: panel("list"),
    together: panel("joined"),
    budget: panel("budget"),
    warnings: h("div", { class: "warnings" }),
    errors: panel("errors"),
    guesses: panel("attack"),
    choice: panel("choice"),
    results,
    survey,
    simulated: panel("simulated"),
    shown: panel("shown"),
    next,
    state,
    figures: h("div", { class: "figures-of" }),
    below: h("div", { class: "below" }),
  };
  made.figures.append(
    ageLine("floating"),
    made.warnings,
    adviser.panel,
    made.errors,
    made.guesses,
    made.simulated,
    made.choice,
  );
  made.simulated.append(
    ageLine(),
    h("h2", {}, "Results of simulated people"),
    h(
      "div",
      { class: "row" },
      h("label", { for: "truth" }, "Their answers are"),
      truth,
      button("Draw others", redraw),
    ),
    results,
  );
  made.shown.append(
    ageLine(),
    h("h2", {}, "The survey"),
    h("p", { class: "soft" }, "As people will see it. Try it: nothing is stored, and nothing can be sent."),
    survey,
  );
  made.below.append(made.shown, next);
  find("session").replaceChildren(
    state,
    button("Save", () => void save(), { class: "main", id: "save", "aria-keyshortcuts": "Control+S" }),
  );
  main.replaceChildren(
    h("h1", { class: "unseen" }, "Design a study"),
    h("div", { class: "left" }, made.texts, made.questions, made.together),
    h("div", { class: "right" }, made.budget, made.figures),
    made.below,
  );
  return made;
}

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  void save();
});
addEventListener("beforeunload", (event) => {
  if (panels && !isSaved() && settings.draft.questions.length > 0) event.preventDefault();
});
addEventListener("focus", () => void refresh());
main.addEventListener("focusout", ({ target }) => {
  left.add((target as HTMLElement).id.replace(/-(only_if|scale|dates|ends|labels)-\d+$/, "-$1"));
  if (panels) setTimeout(paint); // when the focus is elsewhere
});
skipping();
void start();

/** Somebody may have written the file in an editor: show that, unless something here would be lost. */
async function refresh(): Promise<void> {
  if (!panels || !isSaved()) return;
  try {
    const read = await ask<Read>("study");
    if (read.version === about.version || !isSaved()) return;
    load(read);
    announce(
      `${about.file} was changed, and is shown as it is now: ${several(read.questions.length, "question")}.`,
    );
  } catch (problem) {
    trouble.textContent = sentence((problem as Error).message);
  }
}
