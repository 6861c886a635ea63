/** Says the promise in full: which answers are sent, question by question, and the exact numbers. */

import type { Attribute, Plan } from "../../src/index.js";
import type { Mechanism } from "../../src/mechanisms/mechanism.js";
import type { Group } from "../../src/records/records.js";
import type { ByDistance } from "../kit/distances.js";
import { type Child, h } from "../kit/dom.js";
import { plural, rich, spoken, t } from "../kit/messages.js";
import { allRounds, atMost, count, loss, often, sentence } from "../kit/phrases.js";
import { bars, type Guessed, inQuotes, largest, strongly } from "./guarantee.js";
import { asking } from "./language.js";
import { nameLevel, nameOf } from "./levels.js";

const MOST_NAMED = 4; // questions that are named in a sentence
const MOST_SHOWN = 3; // metric attributes, of which all is said at once

/** What is folded below a promise: the easiest guess, what distances reveal, and all numbers. */
export function promiseInFull(
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
              bars(one.allRounds, one.blind),
              h("p", {}, one.headline, one.again && ` ${one.again}`),
              folded
                .filter(({ name }) => name === one.name)
                .map(({ near, worst }) => h("p", {}, near, " ", worst)),
            ),
          ),
        ),
      ),
    exact(plan),
  ]
    .flat()
    .filter((one) => one instanceof HTMLElement);
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
  const levels = attributes.filter((one) => nameOf(one) === name);
  if (levels.length < 2) return [];
  const told = (one: Attribute): string => {
    if (one.domain.isUnlisted) return nameLevel(one); // of text it is said once, which of two answers it is
    const times = often(guessLevel(plan, one));
    return t("level_guessed", { level: nameLevel(one), times });
  };
  const all = [...new Set(levels.map(told))].join(", ");
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
    const all = attributes.map((one, j) => (nameOf(one) === name ? chance(j) : [0n, 1n]));
    return all.reduce((total, [n, d]) => total + Number(n) / Number(d), 0);
  };
  const shares = names.map(share);
  if (shares.every((one) => Math.abs(one * names.length - 1) < 1e-9)) return null; // only levels differ
  const written = (one = 0): string =>
    one.toLocaleString(spoken().tag, { style: "percent", maximumFractionDigits: 1 });
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
  return plan.attributes.every((one) => one.questions[0] === nameOf(one));
}

function exact(plan: Plan): HTMLElement {
  const { record, repeated, metric } = plan.verify();
  const line = (what: Child, nano: number | null, more = ""): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, loss(nano), more),
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
        line(
          sentence(t("loss_changing", { rounds: allRounds(plan.rounds) })).slice(0, -1),
          repeated.changing_values,
          ` (${atMost(repeated.changing_values)})`,
        ),
        line(t("loss_unchanged"), repeated.one_value_forever),
      ],
    ),
    metric && h("p", { class: "soft" }, t("loss_metric")),
    plan.known && h("p", { class: "soft" }, t("loss_group")),
    h("p", { class: "soft" }, rich("plan", { id: h("code", { class: "whole" }, plan.id) })),
  );
}
