/** Explains what a plan promises. Only plans that were verified on this device get here. */

import type { Plan } from "../src/index.js";
import type { Group } from "../src/records.js";
import { byDistance, unitName } from "./distances.js";
import { type Child, h, quoted, svg } from "./dom.js";
import { allRounds, atMost, loss, sentence, several } from "./phrases.js";

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
  const again = plan.rounds === null ? "" : " It draws the same in every round.";
  return [
    always.length > 0 && ["Everybody reports ", listed(always), ", randomized. "],
    drawn.map(({ names, group }) => [
      `Your device ${always.length ? "also " : ""}draws ${group.real === 1 ? "one" : group.real} of `,
      ...(always.length && drawn.length > 1
        ? [listed(names)]
        : [`${always.length ? "the other" : "these"} ${names.length} questions`]),
      `. ${sentTo(group)} `,
    ]),
    again.trim(),
  ];
}

/** What becomes of the answers that are drawn, and of the others. */
function sentTo({ named, real }: Group): string {
  const those = real === 1 ? "that answer is" : "those answers are";
  return named > 0
    ? `Only ${those} sent, randomized. The others are not sent at all.`
    : `Only ${those} in your report, randomized. Random values take the place of the others, and nobody can see which is which.`;
}

/** Names in a sentence; of many, how many they are. */
function listed(names: readonly string[]): Child {
  if (names.length > MOST_NAMED) return `${names.length} of the questions`;
  const between = (i: number): string => (i === 0 ? "" : i === names.length - 1 ? " and " : ", ");
  return names.map((name, i) => [between(i), "“", quoted(name), "”"]);
}

/**
 * The promise as a whole: what is guessed most often, what distances reveal, which answers are sent; then
 * question by question, then the exact numbers. Whatever is folded away is not worse than what is not.
 */
export function promise(plan: Plan): HTMLElement {
  const guesses = plan.attributes.map(({ name, domain: { kind } }) => ({
    name,
    kind,
    ...plan.bestGuess(name),
  }));
  const easiest = largest(guesses);
  const answers = guesses.filter(({ kind }) => kind !== "number"); // of a number only its half is guessed
  const answer = easiest.kind === "number" && answers.length > 0 ? largest(answers) : null;
  const alone = guesses.length === 1;
  const drawn = drawing(plan);
  const [once, ...rest] = easiest.sentence.split("; ");
  const blind = rest.pop(); // between them: what all rounds together reveal
  const distant = guesses
    .flatMap(({ name }) => byDistance(plan, name) ?? [])
    .sort((one, other) => other.loss - one.loss);
  const folded = distant.slice(MOST_SHOWN);
  return h(
    "section",
    { class: "promise", "aria-labelledby": "promise-title" },
    h("h2", { id: "promise-title", class: "verified" }, check(), "Verified on this device"),
    h("p", { class: "headline" }, sentence(`${once}; ${blind}`)),
    rest.map((again) =>
      h(
        "p",
        { class: "again" },
        sentence(again.replace("all of them", `your reports of ${allRounds(plan.rounds)}`)),
      ),
    ),
    !alone &&
      h("p", { class: "soft" }, "This is for “", quoted(easiest.name), "”, the easiest question to guess."),
    answer &&
      h(
        "p",
        { class: "again" },
        "Among whole answers, “",
        quoted(answer.name),
        `” is the easiest to guess: ${answer.sentence}.`,
      ),
    distant
      .slice(0, MOST_SHOWN)
      .map((one) =>
        h(
          "p",
          { class: "again distant" },
          !alone && ["“", quoted(one.name), "”: "],
          sentence(one.near),
          " ",
          strongly(one.worst),
        ),
      ),
    folded.length > 0 &&
      h(
        "p",
        { class: "again" },
        `${several(folded.length, "more question")} below: the same kind of guarantee, with smaller losses.`,
      ),
    drawn !== null && h("p", { class: "drawing" }, drawn),
    !alone &&
      h(
        "details",
        {},
        h("summary", {}, "Question by question"),
        h(
          "ul",
          { class: "guesses" },
          guesses.map((one) =>
            h(
              "li",
              {},
              h("strong", {}, quoted(one.name)),
              bars(one.oneReport, one.blind),
              h("p", {}, sentence(one.sentence)),
              folded
                .filter(({ name }) => name === one.name)
                .map(({ near, worst }) => h("p", {}, sentence(near), " ", sentence(worst))),
            ),
          ),
        ),
      ),
    exact(plan),
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
  return h(
    "details",
    {},
    h("summary", {}, "The exact loss"),
    h(
      "p",
      {},
      "Your device has recomputed this from the plan’s own numbers. ",
      metric ? "In the worst case, a report is " : "A report is ",
      h("strong", {}, atMost(record)),
      " likelier from you than from anybody else, whatever you answer. The logarithm of that is the loss:",
    ),
    h(
      "dl",
      { class: "figures" },
      metric?.units.map(({ name, loss: nano }) =>
        line([`This report, ${unitName(plan, name)} “`, quoted(name), "”"], nano),
      ),
      metric &&
        metric.units.length < plan.attributes.length &&
        line("This report, all other answers together", metric.rest),
      line(metric ? "This report, in the worst case" : "This report", record),
      repeated && [
        line("Any number of rounds, if your answers do not change", repeated.one_value_forever),
        line(
          sentence(`${allRounds(plan.rounds)}, even if answers change`).slice(0, -1),
          repeated.changing_values,
        ),
      ],
    ),
    metric &&
      h(
        "p",
        { class: "soft" },
        "The loss grows with the distance: answers three steps or kilometers apart lose three times as much. A location counts as the middle of its cell. Your limit counts the worst case.",
      ),
    h("p", { class: "soft" }, "Plan ", h("code", { class: "whole" }, plan.id)),
  );
}

/** Two bars: a guess from the report, and a blind one. */
function bars(oneReport: number, blind: number): SVGElement {
  const width = (share: number): string => `${(100 * share).toFixed(1)}%`;
  return svg(
    "svg",
    { class: "bars", width: "100%", height: 14, "aria-hidden": "true" },
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
