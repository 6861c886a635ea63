/** Builds the head of the dashboard and what is there before results are. */

import type { Attribute, Plan } from "../../src/index.js";
import { chained } from "../../src/losses/losses.js";
import type { Estimates, Row } from "../kit/api.js";
import { lastOf } from "../kit/chains.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { atMost, count, moment, roundsOf, sentence, several, titleOf } from "../kit/phrases.js";
import { roundLoss } from "./readings.js";
import type { View } from "./results.js";
import { table } from "./tables.js";

const UNDRAWN = ["coarse", "text", "code"]; // a level is drawn with its question, text by itself

export type Mode = "charts" | "tables";

/** Fill a section unless it shows the same already; the focus stays where it was, and what was unfolded is. */
export function keep(section: HTMLElement, key: unknown, build: () => Child): void {
  const text = JSON.stringify(key);
  if (section.dataset.key === text) return;
  section.dataset.key = text;
  const focused = section.contains(document.activeElement)
    ? (document.activeElement as HTMLElement).dataset.name
    : undefined;
  const unfolded = [...section.querySelectorAll("details[open]")].map(({ className }) => className);
  section.replaceChildren(...h("div", {}, build()).childNodes);
  for (const details of section.querySelectorAll("details"))
    details.open ||= unfolded.includes(details.className);
  if (focused) section.querySelector<HTMLElement>(`[data-name="${focused}"]`)?.focus();
}

/** The title of a plan; where another has the same, with how often its questions are asked. */
function nameOf({ title, id, rounds }: Named, plans: readonly Named[]): string {
  if (title === "" || plans.filter((other) => other.title === title).length < 2) return titleOf(title, id);
  return `${title}, ${rounds === null ? "asked once" : `asked in ${rounds} rounds`}`;
}

type Named = Pick<View["summary"], "title" | "id" | "rounds">;

export function heading({ plan, plans, summary, byDay }: View): Child {
  const tab = (study: View["summary"]): HTMLElement =>
    h(
      "a",
      {
        href: `#plan=${study.id}`,
        "aria-current": [study.id, ...study.continues].includes(summary.id) ? "page" : null,
        "data-name": study.id,
      },
      quoted(nameOf(study, lastOf(plans))),
    );
  const last = lastOf(plans);
  const chain = last.find(({ id, continues }) => [id, ...continues].includes(summary.id));
  const others = plans.filter(
    ({ id }) => id !== summary.id && [chain?.id, ...(chain?.continues ?? [])].includes(id),
  );
  const linked = ({ id }: View["summary"]): HTMLElement =>
    h("a", { href: `#plan=${id}`, "data-name": id }, `plan ${id.slice(0, 12)}…`);
  return [
    last.length > 1 && h("nav", { "aria-label": "Studies" }, last.map(tab)),
    h("h1", {}, quoted(titleOf(plan.title, plan.id))),
    h(
      "p",
      { class: "soft links" },
      h("span", {}, "Plan ", h("code", { title: plan.id }, `${plan.id.slice(0, 12)}…`)),
      h(
        "a",
        { href: `plans/${plan.id}`, target: "_blank", rel: "noopener", "data-name": "plan" },
        "Read the plan",
      ),
      !byDay &&
        h(
          "a",
          { href: `./#plan=${plan.id}`, target: "_blank", rel: "noopener", "data-name": "survey" },
          "Open the survey",
        ),
      others.map((other) =>
        h(
          "span",
          {},
          summary.continues.includes(other.id) ? "It continues " : "It is continued by ",
          linked(other),
        ),
      ),
    ),
  ];
}

/** A number of reports, where it is known. */
export const counted = (reports: number | null): string => (reports === null ? "–" : count(reports));

/** The shares that are drawn: of groups of bins and blocks of cells, where single ones scatter widely. */
export const shown = ({ rows, groups }: Estimates): readonly Row[] => {
  const grouped = new Set(groups.map(({ attribute }) => attribute));
  return [...rows.filter(({ attribute }) => !grouped.has(attribute)), ...groups];
};

/** The options of a question to which all that apply are chosen; none of an attribute. */
export function optionsOf(plan: Plan, question: string): readonly Attribute[] {
  return plan.attributes.filter(({ several }) => several === question);
}

/** What has a panel of its own: questions with options, and all other attributes but levels and text. */
export function listPanels(plan: Plan): readonly string[] {
  const drawn = plan.attributes.filter(({ domain: { kind } }) => !UNDRAWN.includes(kind));
  return [...new Set(drawn.map(({ name, several }) => several ?? name))];
}

/** The numbers that matter most. */
export function facts({ plan, reports, round, rounds, estimates, isJoined, days, byDay }: View): Child {
  const fact = (what: string, number: string, more: string): HTMLElement =>
    h(
      "div",
      { class: "fact" },
      h("dt", {}, what),
      h("dd", {}, h("strong", {}, number), h("span", { class: "soft" }, more)),
    );
  const open = rounds.find(({ number }) => number === round)?.open ?? false;
  const widths = (estimates ? shown(estimates) : []).map(({ low, high }) => 100 * (high - low));
  const typical = widths.reduce((sum, width) => sum + width, 0) / widths.length;
  const { record, repeated, metric } = chained(plan.stated);
  const expected = `of ${count(plan.people)} expected`;
  return h(
    "dl",
    { class: "facts" },
    byDay
      ? fact("Reports", counted(reports), "on the last day")
      : isJoined && estimates
        ? fact("Reports", count(estimates.n), `to ${several(estimates.plans.length, "plan")}, joined`)
        : fact("Reports", counted(reports), expected),
    byDay
      ? fact("Last day", estimates?.day ?? days?.dates.at(-1) ?? "–", describeDay(plan, estimates, days))
      : fact(
          "Round",
          plan.rounds === null ? (open ? "Open" : "Closed") : `${round} of ${plan.rounds}`,
          plan.rounds === null ? "asked once" : open ? "open now" : "closed",
        ),
    fact("Typical interval", widths.length ? typical.toFixed(1) : "–", "points from end to end"),
    fact(
      "A report gives away",
      roundLoss(record),
      repeated
        ? `epsilon; ${roundLoss(repeated.changing_values)} over ${roundsOf(plan)}, even if answers change`
        : `epsilon: ${atMost(record)} likelier${metric ? ", in the worst case" : ""}`,
    ),
  );
}

/** Of how many days the last one is, and the round of its reports. */
function describeDay({ rounds }: View["plan"], estimates: Estimates | null, days: View["days"]): string {
  const of = days ? `of ${count(days.dates.length)}` : "";
  return rounds !== null && estimates?.round ? `${of}, in round ${estimates.round}` : of;
}

/** Not enough yet. */
export function waiting(view: View): Child {
  const why =
    view.reports === 0 && view.counters ? "No report has arrived in this round yet." : sentence(view.few);
  return h(
    "section",
    { class: "panel few" },
    h("h2", {}, "Nothing to show yet"),
    h("p", {}, why),
    h(
      "p",
      { class: "soft" },
      "Results from few people say little about many people and too much about those few. This page updates by itself.",
    ),
  );
}

/** What operators did, the newest first. */
export function log({ actions, plans }: View): Child {
  const titled = (id: string | null): string => {
    const study = plans.find((study) => study.id === id);
    return id === null ? "" : study ? nameOf(study, plans) : titleOf("", id);
  };
  const several = plans.length > 1;
  const lines = actions.map((action): Child[] => [
    moment(action.time),
    action.through === "shell" ? `${action.who} (shell)` : action.who,
    action.what,
    action.detail,
    ...(several ? [titled(action.plan)] : []),
  ]);
  return [
    h("h2", {}, "What operators did"),
    lines.length
      ? table("What operators did", ["When", "Who", "What", "Detail", ...(several ? ["Study"] : [])], lines)
      : h("p", { class: "soft" }, "Nothing yet."),
  ];
}

const SCALE = 10; // points that people read one by one
const PAIR = 2;

/** The questions whose values are more than two numbers in order, but for short scales. */
export function listRanges(plan: Pick<Plan, "attributes">): readonly string[] {
  return plan.attributes
    .filter(({ domain }) => domain.kind === "range" && domain.bins > (domain.unit === "whole" ? SCALE : PAIR))
    .map(({ name }) => name);
}
