/** Explains what a plan promises. Only plans that were verified on this device get here. */

import type { Attribute, Plan } from "../src/index.js";
import type { Group } from "../src/records.js";
import { byDistance } from "./distances.js";
import { type Child, h, svg } from "./dom.js";
import { asking } from "./language.js";
import { plural, rich, spoken, t } from "./messages.js";
import { allRounds, atMost, count, loss, often, sentence } from "./phrases.js";

const MOST_NAMED = 4; // questions that are named in a sentence
const MOST_SHOWN = 3; // metric attributes, of which all is said at once

/** Which of the answers are sent, where not all of them are; for people to read before they answer. */
function drawing(plan: Plan): Child {
  const always: string[] = [];
  const drawn: { names: readonly string[]; group: Group }[] = [];
  let first = 0;
  for (const group of plan.mechanism.groups) {
    const names = plan.attributes.slice(first, (first += group.size)).map(({ name }) => name);
    if (group.real === group.size) always.push(...names);
    else drawn.push({ names, group });
  }
  if (!drawn.length) return null;
  const which = (names: readonly string[]): Child => {
    if (always.length && drawn.length > 1) return listed(plan, names);
    const n = names.length;
    if (areQuestions(plan)) return t(always.length ? "other_questions" : "these_questions", { n });
    return t(always.length ? "other_answers" : "these_answers", { n });
  };
  return [
    always.length > 0 && [rich("everybody_reports", { names: listed(plan, always) }), " "],
    drawn.map(({ names, group }) => [
      rich(always.length ? "draws_also" : "draws", {
        n: group.real === 1 ? t("one") : count(group.real),
        names: which(names),
      }),
      ` ${sentTo(group)} `,
      uneven(plan, names, group),
    ]),
    plan.rounds !== null && t("draws_same"),
  ];
}

/** That only some questions are asked, and who chose them. */
export function drawnFirst(asked: number, all: number): HTMLElement {
  return h("p", { class: "drawn-first" }, t(asked === 1 ? "ask_one" : "ask_some", { n: asked, all }));
}

/** How often each question is drawn, where that differs. */
function uneven(plan: Plan, names: readonly string[], { chance }: Group): Child {
  if (!chance) return null;
  const share = (j: number): string => {
    const [n, d] = chance(j);
    const way = { style: "percent", maximumFractionDigits: 1 } as const;
    return (Number(n) / Number(d)).toLocaleString(spoken().tag, way);
  };
  const each = names.map((name, j) => [j > 0 && ", ", inQuotes(plan, name), " ", share(j)]);
  return [rich("draws_uneven", { names: each }), " "];
}

/** What becomes of the answers that are drawn, and of the others. */
function sentTo({ named, real }: Group): string {
  if (named > 0) return t(real === 1 ? "sent_one" : "sent_some");
  return t(real === 1 ? "faked_one" : "faked_some");
}

/** Names in a sentence; of many, how many they are. */
function listed(plan: Plan, names: readonly string[]): Child {
  const n = names.length;
  if (n > MOST_NAMED) return t(areQuestions(plan) ? "some_questions" : "some_answers", { n });
  const between = (i: number): string => (i === 0 ? "" : i === names.length - 1 ? t("and") : ", ");
  return names.map((name, i) => [between(i), inQuotes(plan, name)]);
}

/** Whether every attribute is a question; a box to tick is none, nor is whether a question is answered. */
function areQuestions(plan: Plan): boolean {
  return plan.attributes.every(({ several, answers }) => several === null && answers === null);
}

function inQuotes(plan: Plan, name: string): Child {
  return rich("in_quotes", { name: asking(plan, name) });
}

/** How often an answer is guessed right, in words; and from the reports of all rounds. */
function guessed(plan: Plan, name: string): Guessed {
  const found = plan.bestGuess(name);
  const { domain } = plan.attributes.find((one) => one.name === name) as Attribute;
  const among = Math.round(1e6 / found.blind) / 1e6; // where more people have one answer, no whole number
  const values = {
    what: domain.kind === "number" ? t("guess_half") : "",
    whole: often(found.wholeReport),
    known: often(found.oneReport),
    blind: Number.isInteger(among) ? t("one_in", { n: among }) : often(found.blind),
  };
  const isDrawn = found.wholeReport !== found.oneReport;
  const again =
    plan.rounds === null
      ? null
      : t("guess_again", { rounds: allRounds(plan.rounds), all: often(found.allReports) });
  const once = t(isDrawn ? "guess_headline_known" : "guess_headline", values);
  return { ...found, name, kind: domain.kind, once, again };
}

interface Guessed {
  readonly name: string;
  readonly kind: string;
  readonly oneReport: number;
  readonly blind: number;
  readonly once: string;
  readonly again: string | null;
}

/**
 * The promise as a whole: what is guessed most often, in a sentence and a picture, and the worst of what distances
 * reveal. The rest is folded: which answers are sent, question by question, and the exact numbers. Whatever is
 * folded away is not worse than what is not. A page with several of them has a key for each.
 */
export function promise(plan: Plan, key = ""): HTMLElement {
  const guesses = plan.attributes.map(({ name }) => guessed(plan, name));
  const easiest = largest(guesses);
  const answers = guesses.filter(({ kind }) => kind !== "number"); // of a number only its half is guessed
  const answer = easiest.kind === "number" && answers.length > 0 ? largest(answers) : null;
  const alone = guesses.length === 1;
  const drawn = drawing(plan);
  const distant = guesses
    .flatMap(({ name }) => byDistance(plan, name) ?? [])
    .sort((one, other) => other.loss - one.loss);
  const folded = distant.slice(MOST_SHOWN);
  return h(
    "section",
    { class: "promise", "aria-labelledby": `promise-title${key}${key && ` part${key}`}` },
    h("h2", { id: `promise-title${key}`, class: "verified" }, check(), t("verified")),
    h("p", { class: "headline" }, easiest.once),
    bars(easiest.oneReport, easiest.blind, t("picture")),
    plan.attributes.some(({ onlyIf }) => onlyIf !== null) && h("p", { class: "again" }, t("guess_related")),
    easiest.again && h("p", { class: "again" }, easiest.again),
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
    h(
      "details",
      { class: "more" },
      h("summary", {}, t("promise_more")),
      !alone && h("p", { class: "soft" }, rich("easiest", { name: asking(plan, easiest.name) })),
      answer &&
        h(
          "p",
          { class: "again" },
          rich("easiest_answer", { name: asking(plan, answer.name), guess: answer.once }),
        ),
      distant
        .slice(1, MOST_SHOWN)
        .map((one) =>
          h(
            "p",
            { class: "again distant" },
            [inQuotes(plan, one.name), ": "],
            one.near,
            " ",
            strongly(one.worst),
          ),
        ),
      folded.length > 0 && h("p", { class: "again" }, plural("more_questions", folded.length)),
      drawn !== null && h("p", { class: "drawing" }, drawn),
      !alone &&
        h(
          "details",
          {},
          h("summary", {}, t("question_by_question")),
          h(
            "ul",
            { class: "guesses" },
            guesses.map((one) =>
              h(
                "li",
                {},
                h("strong", {}, asking(plan, one.name)),
                bars(one.oneReport, one.blind),
                h("p", {}, one.once, one.again && ` ${one.again}`),
                folded
                  .filter(({ name }) => name === one.name)
                  .map(({ near, worst }) => h("p", {}, near, " ", worst)),
              ),
            ),
          ),
        ),
      exact(plan),
    ),
  );
}

const strongly = (text: string): HTMLElement => h("strong", {}, text);

function largest<One extends { readonly oneReport: number }>(guesses: readonly One[]): One {
  return guesses.reduce((most, one) => (one.oneReport > most.oneReport ? one : most));
}

function exact(plan: Plan): HTMLElement {
  const { record, repeated, metric } = plan.verify();
  const line = (what: Child, nano: number | null): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, loss(nano)),
  ];
  const perUnit = (name: string): Child => {
    const domain = plan.attributes.find((one) => one.name === name)?.domain;
    const values = { name: asking(plan, name) };
    if (domain?.kind !== "range") return rich("loss_kilometer", values);
    return rich("loss_step", { ...values, step: count(domain.step / 10 ** domain.digits) });
  };
  return h(
    "details",
    {},
    h("summary", {}, t("exact_loss")),
    h("p", {}, rich(metric ? "exact_worst" : "exact_recomputed", { times: strongly(atMost(record)) })),
    h(
      "dl",
      { class: "figures" },
      metric?.units.map(({ name, loss: nano }) => line(perUnit(name), nano)),
      metric && metric.units.length < plan.attributes.length && line(t("loss_rest"), metric.rest),
      line(t(metric ? "loss_report_worst" : "loss_report"), record),
      repeated && [
        line(t("loss_unchanged"), repeated.one_value_forever),
        line(
          sentence(t("loss_changing", { rounds: allRounds(plan.rounds) })).slice(0, -1),
          repeated.changing_values,
        ),
      ],
    ),
    metric && h("p", { class: "soft" }, t("loss_metric")),
    h("p", { class: "soft" }, rich("plan", { id: h("code", { class: "whole" }, plan.id) })),
  );
}

/** Two bars: a guess from the report, and a blind one. */
function bars(oneReport: number, blind: number, label?: string): SVGElement {
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

export function check(): SVGElement {
  return svg(
    "svg",
    { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" },
    svg("circle", { cx: 10, cy: 10, r: 10, fill: "currentColor" }),
    svg("path", {
      class: "tick",
      d: "M5.5 10.4l3 3 6-6.4",
      fill: "none",
      "stroke-width": 2,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}
