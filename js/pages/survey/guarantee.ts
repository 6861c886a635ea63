/** Explains what a plan promises. Only plans that were verified on this device get here. */

import type { Attribute, Plan } from "../../src/index.js";
import { type Level, rateProtection } from "../../src/losses/protection.js";
import { byDistance } from "../kit/distances.js";
import { type Child, h, seen, svg } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { allRounds, often } from "../kit/phrases.js";
import { asking, loadMore } from "./language.js";
import { shared } from "./shared.js";

/** That only some questions are asked, and who chose them. */
export function drawnFirst(asked: number, all: number): HTMLElement {
  return h("p", { class: "drawn-first" }, t(asked === 1 ? "ask_one" : "ask_some", { n: asked, all }));
}

export function inQuotes(plan: Plan, name: string): Child {
  return rich("in_quotes", { name: asking(plan, name) });
}

/** How often an answer is guessed right, in words; and from the reports of all rounds. */
function guessed(plan: Plan, name: string): Guessed {
  const found = plan.bestGuess(name);
  const { domain } = plan.asked.find((one) => one.name === name) as Attribute;
  const among = Math.round(1e6 / found.blind) / 1e6; // where more people have one answer, no whole number
  const values = {
    what: domain.kind === "number" ? t("guess_half") : (shared.texts?.nameGuess(domain, found) ?? ""),
    whole: often(found.wholeReport),
    known: often(found.oneReport),
    blind: Number.isInteger(among) ? t("one_in", { n: among }) : often(found.blind),
  };
  const isDrawn = found.wholeReport !== found.oneReport;
  const isAgain = plan.rounds !== null;
  const all = { rounds: allRounds(plan.rounds), all: often(found.allRounds), same: often(found.allReports) };
  const once = t(isDrawn ? "guess_headline_known" : "guess_headline", values);
  const headline = isAgain ? t("guess_rounds", { ...values, ...all }) : once;
  const again = isAgain ? t("guess_again", { ...values, ...all }) : null;
  return { ...found, name, kind: domain.kind, headline, again };
}

export interface Guessed {
  readonly name: string;
  readonly kind: string;
  readonly allRounds: number;
  readonly blind: number;
  /** How often it is guessed from all reports, in a sentence. */
  readonly headline: string;
  /** Where there are several rounds: from one report, and from all if no answer changes. */
  readonly again: string | null;
}

/**
 * The promise as a whole: what is guessed most often, in a sentence and a picture, and the worst of what distances
 * reveal. The rest is folded: which answers are sent, question by question, and the exact numbers. Whatever is
 * folded away is not worse than what is not. A page with several of them has a key for each.
 */
export function promise(plan: Plan, key = ""): HTMLElement {
  const guesses = listGuesses(plan);
  const easiest = largest(guesses);
  const alone = guesses.length === 1;
  const distant = guesses
    .flatMap(({ name }) => byDistance(plan, name) ?? [])
    .sort((one, other) => other.loss - one.loss);
  const more = h("details", { class: "more" }, h("summary", {}, t("promise_more")));
  unfold(more, async () =>
    (await loadMore(import("./guarantee_full.js"))).promiseInFull(plan, guesses, easiest, distant),
  );
  const { level, percent } = rateProtection(plan);
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": `promise-title${key}${key && ` part${key}`}` },
    rated(level, `promise-title${key}`),
    h("p", { class: "headline" }, easiest.headline),
    bars(easiest.allRounds, easiest.blind, t("picture")),
    plan.attributes.some(({ onlyIf }) => onlyIf !== null) && h("p", { class: "again" }, t("guess_related")),
    easiest.again && h("p", { class: "again" }, easiest.again),
    h("p", { class: "again" }, t("picks", { n: percent })),
    shared.known?.exceptKnown(plan),
    distant
      .slice(0, 1)
      .map((one) =>
        h(
          "p",
          { class: "again distant" },
          !alone && [inQuotes(plan, one.name), ": "],
          one.near,
          " ",
          strongly(one.worst),
        ),
      ),
    more,
  );
}

/** The guesses of all questions whose answers are randomized. */
export function listGuesses(plan: Plan): Guessed[] {
  return plan.asked.slice(plan.open.length).map(({ name }) => guessed(plan, name));
}

/** How each level looks; it is said in words, too. */
export const CLASSES: Readonly<Record<Level, string>> = {
  well: "well",
  "a little": "little",
  hardly: "hardly",
};
const RATINGS = { well: "rate_well", "a little": "rate_little", hardly: "rate_hardly" } as const;

/** What a box begins with: how well answers are protected, and that this device computed it. */
export function rated(level: Level, id: string): HTMLElement {
  return h(
    "h2",
    { id, class: "verified" },
    sign(level),
    h("span", {}, t(RATINGS[level]), h("small", {}, t("verified"))),
  );
}

/** The promise again where answers are reviewed: the level, what is guessed most often, and nothing folded. */
export function promiseAgain(plan: Plan, key = "-again"): HTMLElement {
  const { level, percent } = rateProtection(plan);
  const easiest = largest(listGuesses(plan));
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": `promise-title${key}` },
    rated(level, `promise-title${key}`),
    h("p", { class: "again" }, easiest.headline),
    easiest.again && h("p", { class: "again" }, easiest.again),
    h("p", { class: "again" }, t("picks", { n: percent })),
  );
}

/** Texts of those who run the survey, in a frame that says so: nothing in it is what this page says itself. */
export function byOperator(...children: readonly Child[]): HTMLElement {
  return h("div", { class: "operator" }, h("p", { class: "by" }, t("written_by")), ...children);
}

/** Who wrote the questions, above them. */
export function askedBy(): HTMLElement {
  return h("p", { class: "by" }, t("written_by_questions"));
}

/** Fill what is folded once the page is seen, and again when it is unfolded where that was not possible. */
export function unfold(more: HTMLElement, make: () => Promise<readonly HTMLElement[]>): void {
  const fill = async (): Promise<void> => {
    if (more.childElementCount > 1) return;
    const made = await make().catch(() => []); // without a connection
    if (more.childElementCount === 1) more.append(...made);
  };
  more.addEventListener("toggle", () => void fill());
  void seen().then(seen).then(fill); // a frame later than what is asked
}

export const strongly = (text: string): HTMLElement => h("strong", {}, text);

/** The easiest guess, by the reports of all rounds. */
export function largest<One extends { readonly allRounds: number }>(guesses: readonly One[]): One {
  return guesses.reduce((most, one) => (one.allRounds > most.allRounds ? one : most));
}

/** Two bars: a guess from the report, and a blind one. */
export function bars(oneReport: number, blind: number, label?: string): SVGElement {
  const width = (share: number): string => `${(100 * share).toFixed(1)}%`;
  return svg(
    "svg",
    {
      class: "bars",
      width: "100%",
      height: 14,
      ...(label === undefined ? { "aria-hidden": "true" } : { role: "img", "aria-label": label }),
    },
    svg("rect", { class: "track", width: "100%", height: 14, rx: 3 }),
    svg("rect", { class: "guess", width: width(oneReport), height: 14, rx: 3 }),
    svg("rect", { class: "blind", width: width(blind), height: 14, rx: 3 }),
  );
}

/** The tick of a receipt. */
export function check(): SVGElement {
  return sign("well");
}

/** A tick, an exclamation mark in a triangle, or a cross. */
function sign(level: Level): SVGElement {
  const paths = {
    well: "M5.5 10.4l3 3 6-6.4",
    "a little": "M10 7.5v4.5M10 15v.2",
    hardly: "M6.5 6.5l7 7M13.5 6.5l-7 7",
  };
  return svg(
    "svg",
    { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" },
    level === "a little"
      ? svg("path", { d: "M10 1l9.5 18H.5z", fill: "currentColor" })
      : svg("circle", { cx: 10, cy: 10, r: 10, fill: "currentColor" }),
    svg("path", {
      class: "tick",
      d: paths[level],
      fill: "none",
      "stroke-width": 2,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}
