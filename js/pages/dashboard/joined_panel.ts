/** Lets whoever reads the dashboard choose between a plan alone and the plans that it continues with it. */

import type { JoinedPlan, NotJoined } from "../kit/api.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, sentence } from "../kit/phrases.js";
import type { Choice, View } from "./results.js";

/** The switch, and which rounds are joined. */
export function joinedPlans(
  { estimates, unjoined }: View,
  { joined, weights }: Choice,
  choose: (joined: boolean) => void,
): Child {
  const plans = estimates?.plans ?? [];
  return [
    h("h2", {}, "Which plans results are of"),
    h(
      "div",
      { class: "switch", role: "radiogroup", "aria-label": "Which plans results are of" },
      offer("This plan alone", !joined, () => choose(false)),
      offer("With the plans before it", joined, () => choose(true)),
    ),
    joined &&
      weights !== "" &&
      h("p", { class: "soft", role: "status" }, "A population is weighted in this plan alone."),
    unjoined !== "" && h("p", { class: "soft", role: "status" }, sentence(unjoined)),
    plans.length > 0 && h("p", { class: "soft", role: "status" }, describeJoined(plans)),
    estimates?.not_joined.map((left) => h("p", { class: "soft" }, describeLeftOut(left))),
  ];
}

function offer(label: string, checked: boolean, set: () => void): HTMLElement {
  const name = label === "This plan alone" ? "alone" : "joined";
  return h(
    "label",
    {},
    h("input", { type: "radio", name: "plans", "data-name": `plans-${name}`, checked, change: set }),
    label,
  );
}

/** How many people reported to which plan, in which round. */
function describeJoined(plans: readonly JoinedPlan[]): string {
  const people = plans.map(
    ({ plan, n, round }) => `${count(n)} to plan ${plan.slice(0, 12)} in round ${round}`,
  );
  return `Joined by the numbers of people: ${people.join(" and ")}. The same people may be in several of them, so intervals are wider. Tables of two questions are of this plan alone. So are changes, and how results narrow: choose this plan alone to see them.`;
}

const describeLeftOut = ({ plan, attribute, why }: NotJoined): Child =>
  attribute === null
    ? `Plan ${plan.slice(0, 12)} is not joined: ${sentence(why)}`
    : [quoted(attribute), ` is not joined with plan ${plan.slice(0, 12)}: ${why}.`];
