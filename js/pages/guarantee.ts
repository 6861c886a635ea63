/** What a plan promises, in plain words. Only plans that were verified on this device get here. */

import type { Plan } from "../src/index.js";
import { byDistance, unitName } from "./distances.js";
import { type Child, h, quoted, svg } from "./dom.js";
import { allRounds, atMost, loss, sentence, several } from "./phrases.js";

const MOST_SHOWN = 3; // attributes with distances, of which all is said at once

/** Which of the answers leave the device, where not all of them do; for people to read before they answer. */
export function sharing(plan: Plan, kind: string): string | null {
  const [asked, drawn] = [plan.attributes.length, plan.share.drawn];
  const same =
    plan.rounds === null
      ? ""
      : ` In every round ${drawn === 1 || kind === "faked" ? "it is the same one" : "they are the same"}.`;
  if (kind === "faked")
    return `Your device draws one of these ${asked} questions. Only that answer, randomized, is in the report; in place of the others are random ones, and nobody is told which is which.${same}`;
  if (drawn === 0 || drawn === asked) return null;
  return drawn === 1
    ? `Your device draws one of these ${asked} questions. Only that answer, randomized, leaves it; the rest is not sent at all.${same}`
    : `Your device draws ${drawn} of these ${asked} questions. Only those answers, randomized, leave it; the rest is not sent at all.${same}`;
}

/**
 * The promise as a whole: what is guessed most often, what can be told by distances, what of the answers leaves; then question
 * by question, then the exact numbers. Whatever is folded away is not worse than what is not.
 */
export function promise(plan: Plan, drawing: string | null): HTMLElement {
  const guesses = plan.attributes.map(({ name, domain: { kind } }) => ({ name, kind, ...plan.bestGuess(name) }));
  const easiest = largest(guesses);
  const answers = guesses.filter(({ kind }) => kind !== "number"); // of a number only its half is guessed
  const answer = easiest.kind === "number" && answers.length > 0 ? largest(answers) : null;
  const alone = guesses.length === 1;
  const [once, ...rest] = easiest.sentence.split("; ");
  const blind = rest.pop(); // between them: what all rounds together tell
  const distant = guesses.flatMap(({ name }) => byDistance(plan, name) ?? []).sort((one, other) => other.loss - one.loss);
  const folded = distant.slice(MOST_SHOWN);
  return h(
    "section",
    { class: "promise", "aria-labelledby": "promise-title" },
    h("h2", { id: "promise-title", class: "verified" }, check(), "Verified on this device"),
    h("p", { class: "headline" }, sentence(`${once}; ${blind}`)),
    rest.map((again) =>
      h("p", { class: "again" }, sentence(again.replace("all of them", `your reports of ${allRounds(plan.rounds)}`))),
    ),
    !alone && h("p", { class: "soft" }, "This is for “", quoted(easiest.name), "”, which is the easiest to guess."),
    answer && h("p", { class: "again" }, "Of whole answers, “", quoted(answer.name), `” is the easiest: ${answer.sentence}.`),
    distant
      .slice(0, MOST_SHOWN)
      .map((one) =>
        h("p", { class: "again distant" }, !alone && ["“", quoted(one.name), "”: "], sentence(one.near), " ", strongly(one.worst)),
      ),
    folded.length > 0 && h("p", { class: "again" }, `The same holds, less strongly, for ${several(folded.length, "more question")} below.`),
    drawing !== null && h("p", { class: "drawing" }, drawing),
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
  const line = (what: Child, nano: number | null): HTMLElement[] => [h("dt", {}, what), h("dd", {}, loss(nano))];
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
      metric?.units.map(({ name, loss: nano }) => line([`This report, ${unitName(plan, name)} “`, quoted(name), "”"], nano)),
      metric && metric.units.length < plan.attributes.length && line("This report, all other answers together", metric.rest),
      line(metric ? "This report, in the worst case" : "This report", record),
      repeated && [
        line("Any number of rounds, if your answers do not change", repeated.one_value_forever),
        line(sentence(`${allRounds(plan.rounds)}, whatever changes`).slice(0, -1), repeated.changing_values),
      ],
    ),
    metric &&
      h(
        "p",
        { class: "soft" },
        "Answers that are several steps or kilometers apart lose so many times that; places count as the middle of their cell. Your limit counts the worst case.",
      ),
    h("p", { class: "soft" }, "Plan ", h("code", { title: plan.id }, plan.id.slice(0, 12), "…")),
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
