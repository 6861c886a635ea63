/** Says what a plan gives away. */

import type { Plan } from "../../src/index.js";
import { answerLoss } from "../../src/losses/answer_loss.js";
import { chained } from "../../src/losses/losses.js";
import { isRepeated } from "../../src/mechanisms/repeated.js";
import { unitName } from "../kit/distances.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { roundsOf, sentence } from "../kit/phrases.js";
import { exactLoss } from "./readings.js";
import type { View } from "./results.js";

/** What the plan gives away, as verified in this browser. */
export function losses({ plan }: View): Child {
  const truth = plan.verify();
  const { record, attribute: perAttribute, metric } = truth;
  const { repeated } = chained(truth);
  const answer = answerLoss(plan, truth);
  const line = (what: Child, nano: number | null): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, exactLoss(nano)),
  ];
  return [
    h("h2", {}, "What is given away"),
    h(
      "ul",
      { class: "soft guesses" },
      listQuestions(plan).map((name) =>
        h(
          "li",
          {},
          h("strong", {}, quoted(name)),
          " – ",
          plan.bestGuess(name).sentence.replaceAll("your ", "a person’s "),
          ".",
          keeping(plan, name),
        ),
      ),
    ),
    plan.attributes.some(({ onlyIf }) => onlyIf !== null) &&
      h(
        "p",
        { class: "soft" },
        "Where questions depend on each other, whether one applies says something about the other. These guesses count that: of such questions they are bounds.",
      ),
    h(
      "details",
      { class: "more" },
      h("summary", { "data-name": "losses-more" }, "More"),
      h(
        "p",
        { class: "soft" },
        "Epsilon, recomputed in this browser from the plan’s numbers and rounded up.",
      ),
      h(
        "dl",
        { class: "figures" },
        metric?.units.map(({ name, loss: nano }) =>
          line([`One report, ${unitName(plan, name)} “`, quoted(name), "”"], nano),
        ),
        metric &&
          metric.units.length < plan.attributes.length &&
          line("One report, all other answers together", metric.rest),
        line(metric ? "One report, in the worst case" : "One report", record),
        plan.attributes.length > 1 &&
          line("One report, between people who differ in one attribute", perAttribute),
        answer !== null && line("One report, between people who differ in one answer", answer),
        repeated && [
          line(sentence(`${roundsOf(plan)}, even if answers change`).slice(0, -1), repeated.changing_values),
          repeated.one_value_forever === null
            ? line(sentence(`${roundsOf(plan)}, if answers do not change`).slice(0, -1), repeated.same_value)
            : line("Any number of rounds, if answers do not change", repeated.one_value_forever),
        ],
      ),
    ),
  ];
}

/** Whether a device keeps what it says of a question, where it keeps that of some and not of others. */
function keeping({ attributes, mechanisms }: Plan, name: string): string {
  const isKept = mechanisms.map(isRepeated);
  if (!isKept.includes(true) || !isKept.includes(false)) return "";
  return isKept[attributes.findIndex((attribute) => attribute.name === name)]
    ? " Each device keeps one random answer for all rounds."
    : " Every round has fresh noise.";
}

/** The attributes, but for levels: what is guessed of their question is said once. */
function listQuestions(plan: Plan): string[] {
  return plan.attributes.filter(({ domain }) => domain.kind !== "coarse").map(({ name }) => name);
}
