/** Explains what a plan promises. Only plans that were verified on this device get here. */

import type { Attribute, BestGuess, Domain, Plan } from "../../src/index.js";
import { chained } from "../../src/losses/losses.js";
import { type Level, rateProtection } from "../../src/losses/protection.js";
import type { Mechanism } from "../../src/mechanisms/mechanism.js";
import { isRepeated } from "../../src/mechanisms/repeated.js";
import type { Group } from "../../src/records/records.js";
import { type ByDistance, byDistance } from "../kit/distances.js";
import { type Child, h, svg } from "../kit/dom.js";
import { plural, rich, spoken, t } from "../kit/messages.js";
import { atMost, count, loss, often, roundsOf, sentence } from "../kit/phrases.js";
import { exceptKnown } from "./known_group.js";
import { asking } from "./language.js";
import { nameLevel, nameOf } from "./levels.js";

const MOST_NAMED = 4; // questions that are named in a sentence
const MOST_SHOWN = 3; // metric attributes, of which all is said at once

/** That only some questions are asked, and who chose them. */
export function drawnFirst(drawn: number, all: number): HTMLElement {
  return h("p", { class: "drawn-first" }, t(drawn === 1 ? "ask_one" : "ask_some", { n: drawn, all }));
}

function inQuotes(plan: Plan, name: string): Child {
  return rich("in_quotes", { name: asking(plan, name) });
}

/** How often an answer is guessed right, in words; and from the reports of all rounds. */
function guessed(plan: Plan, name: string): Guessed {
  const guess = plan.bestGuess(name);
  const { domain } = plan.asked.find((question) => question.name === name) as Attribute;
  const among = Math.round(1e6 / guess.blind) / 1e6; // where more people have one answer, no whole number
  const values = {
    what: nameGuess(domain, guess),
    whole: often(guess.wholeReport),
    known: often(guess.oneReport),
    blind: Number.isInteger(among) ? t("one_in", { n: among }) : often(guess.blind),
  };
  const isDrawn = guess.wholeReport !== guess.oneReport;
  const isAgain = plan.rounds !== null;
  const all = { rounds: roundsOf(plan), all: often(guess.allRounds), same: often(guess.allReports) };
  const promise = isAgain ? t("guess_rounds", { ...values, ...all }) : t("guess_headline", values);
  const reading = [...(isDrawn && !isAgain ? [t("guess_known", values)] : []), t("guess_blind", values)].join(
    " ",
  );
  const again = isAgain ? t("guess_again", { ...values, ...all }) : null;
  return { ...guess, name, kind: domain.kind, promise, reading, headline: `${promise} ${reading}`, again };
}

/** What is guessed: half of a number, a text out of two, or a group of values; empty where it is the answer itself. */
function nameGuess({ kind }: Domain, { groups }: BestGuess): string {
  if (kind === "number") return t("guess_half");
  if (groups) return t("guess_groups", { n: groups });
  return kind === "text" || kind === "code" ? t("guess_two") : "";
}

export interface Guessed {
  readonly name: string;
  readonly kind: string;
  readonly allRounds: number;
  readonly blind: number;
  /** How often it is guessed from all reports, in one short sentence. */
  readonly promise: string;
  /** How often it is guessed by others: those who know more, and those who know nothing. */
  readonly reading: string;
  /** Both. */
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
  const distant = guesses.flatMap(({ name }) => byDistance(plan, name) ?? []).sort((a, b) => b.loss - a.loss);
  const more = h(
    "details",
    { class: "more" },
    h("summary", {}, t("promise_more")),
    promiseInFull(plan, guesses, easiest, distant),
  );
  const { level, percent } = rateProtection(plan.verify());
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": `promise-title${key}${key && ` part${key}`}` },
    rated(level, `promise-title${key}`),
    headline(easiest),
    bars(easiest.allRounds, easiest.blind, t("picture")),
    plan.attributes.some(({ onlyIf }) => onlyIf !== null) && h("p", { class: "again" }, t("guess_related")),
    easiest.again && h("p", { class: "again" }, easiest.again),
    plan.linked && h("p", { class: "again" }, t("linked")),
    h("p", { class: "again" }, t("picks", { n: percent })),
    exceptKnown(plan),
    distant
      .slice(0, 1)
      .map(({ name, near, worst }) =>
        h(
          "p",
          { class: "again distant" },
          !alone && [inQuotes(plan, name), ": "],
          near,
          " ",
          strongly(worst),
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

/** The promise in one short sentence, and how to read it. */
export function headline({ promise, reading }: Guessed): HTMLElement {
  return h("p", { class: "headline" }, promise, " ", h("small", {}, reading));
}

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
  const { level, percent } = rateProtection(plan.verify());
  const easiest = largest(listGuesses(plan));
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": `promise-title${key}` },
    rated(level, `promise-title${key}`),
    h("p", { class: "again" }, easiest.headline),
    easiest.again && h("p", { class: "again" }, easiest.again),
    plan.linked && h("p", { class: "again" }, t("linked")),
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

const strongly = (text: string): HTMLElement => h("strong", {}, text);

/** The easiest guess, by the reports of all rounds. */
export function largest<Guess extends { readonly allRounds: number }>(guesses: readonly Guess[]): Guess {
  return guesses.reduce((most, guess) => (guess.allRounds > most.allRounds ? guess : most));
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

/** What is folded below a promise: the easiest guess, what distances reveal, and all numbers. */
function promiseInFull(
  plan: Plan,
  guesses: readonly Guessed[],
  easiest: Guessed,
  distant: readonly ByDistance[],
): HTMLElement[] {
  const answers = guesses.filter(({ kind }) => kind !== "number"); // of a number only its half is guessed
  const answer = easiest.kind === "number" && answers.length > 0 ? largest(answers) : null;
  const alone = guesses.length === 1;
  const drawn = drawing(plan);
  const folded = distant.slice(MOST_SHOWN);
  return [
    !alone && h("p", { class: "soft" }, rich("easiest", { name: asking(plan, easiest.name) })),
    answer &&
      h(
        "p",
        { class: "again" },
        rich("easiest_answer", { name: asking(plan, answer.name), guess: answer.headline }),
      ),
    distant
      .slice(1, MOST_SHOWN)
      .map(({ name, near, worst }) =>
        h("p", { class: "again distant" }, [inQuotes(plan, name), ": "], near, " ", strongly(worst)),
      ),
    folded.length > 0 && h("p", { class: "again" }, plural("more_questions", folded.length)),
    drawn !== null && h("p", { class: "drawing" }, drawn),
    ...sayFresh(plan),
    !alone &&
      h(
        "details",
        {},
        h("summary", {}, t("question_by_question")),
        h(
          "ul",
          { class: "guesses" },
          guesses.map((guess) =>
            h(
              "li",
              {},
              h("strong", {}, asking(plan, guess.name)),
              bars(guess.allRounds, guess.blind),
              h("p", {}, guess.headline, guess.again && ` ${guess.again}`),
              folded
                .filter(({ name }) => name === guess.name)
                .map(({ near, worst }) => h("p", {}, near, " ", worst)),
            ),
          ),
        ),
      ),
    exact(plan),
  ]
    .flat()
    .filter((element) => element instanceof HTMLElement);
}

/** Which answers get new noise in every round, where a device keeps what it says of others. */
function sayFresh(plan: Plan): HTMLElement[] {
  const [kept, fresh] = [true, false].map((isKept) => {
    const attributes = plan.attributes.filter(
      (_, j) => isRepeated(plan.mechanisms[j] as Mechanism) === isKept,
    );
    return [...new Set(attributes.map(nameOf))];
  }) as [string[], string[]];
  if (!kept.length || !fresh.length) return [];
  return [
    h(
      "p",
      { class: "fresh" },
      rich("kept_and_fresh", { kept: listed(plan, kept), fresh: listed(plan, fresh) }),
    ),
  ];
}

/** Which of the answers are sent, where not all of them are; for people to read before they answer. */
function drawing(plan: Plan): Child {
  const always: string[] = [];
  const drawn: { names: readonly string[]; group: Group; attributes: readonly Attribute[] }[] = [];
  const leveled: Child[] = [];
  let first = 0;
  for (const group of plan.mechanism.groups) {
    const attributes = plan.attributes.slice(first, (first += group.size));
    const names = [...new Set(attributes.map(nameOf))];
    if (group.real === group.size) always.push(...names);
    else if (names.length > 1) drawn.push({ names, group, attributes });
    for (const name of names) leveled.push(...sayLevels(plan, name, attributes));
  }
  if (!drawn.length) return leveled.length ? leveled : null;
  const which = (names: readonly string[]): Child => {
    if (always.length && drawn.length > 1) return listed(plan, names);
    const n = names.length;
    if (areQuestions(plan)) return t(always.length ? "other_questions" : "these_questions", { n });
    return t(always.length ? "other_answers" : "these_answers", { n });
  };
  return [
    always.length > 0 && [rich("everybody_reports", { names: listed(plan, always) }), " "],
    drawn.map(({ names, group, attributes }) => [
      rich(always.length ? "draws_also" : "draws", {
        n: group.real === 1 ? t("one") : count(group.real),
        names: which(names),
      }),
      ` ${sentTo(group)} `,
      uneven(plan, names, group, attributes),
    ]),
    leveled,
    plan.rounds !== null && t("draws_same"),
  ];
}

/** On which levels a question is reported, where it has several, and what is guessed from each. */
function sayLevels(plan: Plan, name: string, attributes: readonly Attribute[]): Child[] {
  const levels = attributes.filter((attribute) => nameOf(attribute) === name);
  if (levels.length < 2) return [];
  const describe = (level: Attribute): string => {
    if (level.domain.isUnlisted) return nameLevel(level); // of text it is said once, which of two answers it is
    const times = often(guessLevel(plan, level));
    return t("level_guessed", { level: nameLevel(level), times });
  };
  const all = [...new Set(levels.map(describe))].join(", ");
  return [rich("draws_level", { name: inQuotes(plan, name), levels: all }), " "];
}

/** How often a group or value of one level is guessed right from a report that holds it, at most. */
function guessLevel(plan: Plan, level: Attribute): number {
  const { k, ratio } = plan.mechanisms[plan.attributes.indexOf(level)] as Mechanism;
  const { domain } = level;
  const blind = domain.kind === "coarse" ? domain.divisor / (domain.factors[0]?.domain.k ?? 1) : 1 / k;
  const odds = (Number(ratio[0]) / Number(ratio[1])) * blind;
  return odds / (odds + 1 - blind);
}

/** How often each question is drawn, where that differs. */
function uneven(
  plan: Plan,
  names: readonly string[],
  { chance }: Group,
  attributes: readonly Attribute[],
): Child {
  if (!chance) return null;
  const share = (name: string): number => {
    const all = attributes.map((attribute, j) => (nameOf(attribute) === name ? chance(j) : [0n, 1n]));
    return all.reduce((total, [n, d]) => total + Number(n) / Number(d), 0);
  };
  const shares = names.map(share);
  if (shares.every((each) => Math.abs(each * names.length - 1) < 1e-9)) return null; // only levels differ
  const written = (part = 0): string =>
    part.toLocaleString(spoken().tag, { style: "percent", maximumFractionDigits: 1 });
  const each = names.map((name, j) => [j > 0 && ", ", inQuotes(plan, name), " ", written(shares[j])]);
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
  return plan.attributes.every((attribute) => attribute.questions[0] === nameOf(attribute));
}

function exact(plan: Plan): HTMLElement {
  const losses = plan.verify();
  const { record, metric } = losses;
  const { repeated } = chained(losses);
  const line = (what: Child, nano: number | null, more = ""): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, loss(nano), more),
  ];
  const perUnit = (name: string): Child => {
    const domain = plan.attributes.find((attribute) => attribute.name === name)?.domain;
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
        line(
          sentence(t("loss_changing", { rounds: roundsOf(plan) })).slice(0, -1),
          repeated.changing_values,
          ` (${atMost(repeated.changing_values)})`,
        ),
        repeated.one_value_forever === null
          ? line(sentence(t("loss_same", { rounds: roundsOf(plan) })).slice(0, -1), repeated.same_value)
          : line(t("loss_unchanged"), repeated.one_value_forever),
      ],
    ),
    metric && h("p", { class: "soft" }, t("loss_metric")),
    plan.known && h("p", { class: "soft" }, t("loss_group")),
    h("p", { class: "soft" }, rich("plan", { id: h("code", { class: "whole" }, plan.id) })),
  );
}
