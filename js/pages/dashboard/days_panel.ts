/** Shows numbers over days, and the days on which one moved: of tables of reports, by day. */

import type { DayLine, Days, Estimates } from "../kit/api.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, moment, several } from "../kit/phrases.js";
import { byDay } from "./charts.js";
import type { Mode } from "./panels.js";
import { percent, signed } from "./readings.js";
import type { View } from "./results.js";
import { table } from "./tables.js";

const RECENT = 28; // days of a table
const MANY = 4; // columns that have no room for intervals

/** That tables cannot be read, so that all numbers are old. */
export function explainOutdated({ outdated }: View): Child {
  return (
    outdated && [
      h("h2", {}, "These results are old"),
      h(
        "p",
        {},
        `The tables of reports cannot be read. They are looked at again every minute, and until they can be read, all numbers are those of ${moment(outdated.counted)}.`,
      ),
      h("p", {}, "The reason: ", quoted(outdated.why)),
    ]
  );
}

/** What moved, the newest first, and the days with too many reports. */
export function alarms({ days, estimates }: View): Child {
  if (!days) return null;
  const { dates, bursts, breaks, left_out: others } = days;
  const falseAlarmDays = Math.round(1 / days.rate);
  return [
    h("h2", {}, "What moved"),
    days.alarms.length
      ? h(
          "ul",
          { class: "alarms" },
          [...days.alarms].reverse().map(({ text }) => h("li", {}, text)),
        )
      : h("p", {}, "Nothing did."),
    bursts.map(({ day, times }) =>
      h(
        "p",
        { class: "noise" },
        `${day} has ${times.toFixed(1)} times the usual reports. It is left out of what other days are compared with.`,
      ),
    ),
    h(
      "p",
      { class: "soft" },
      `${several(dates.length, "day")}, ${dates[0]} to ${dates.at(-1)}. Spans of 1 to 14 days are compared with the same weekdays of eight weeks before, from the sixth week on. There is at most one false alarm in ${count(falseAlarmDays)} days, over all ${count(days.lines.length)} numbers.`,
    ),
    days.plans > 1 &&
      h(
        "p",
        { class: "soft" },
        `By day, numbers are those of all people who reported to any of ${days.plans} plans, of which each continues those before.`,
      ),
    describeLast(estimates, days.plans > 1),
    breaks.map(({ day, name, why }) =>
      h(
        "p",
        { class: "soft" },
        `From ${day} on, ${name} begins anew, and is compared with no day before: ${why}.`,
      ),
    ),
    Object.entries(others).map(([name, why]) => h("p", { class: "soft" }, `Not followed: ${name}, ${why}.`)),
  ];
}

/** The lines of one question, each on an axis of its own. */
export function overDays({ days }: View, names: readonly string[], mode: Mode, width: number): Child {
  const lines = days?.lines.filter(({ attribute }) => names.includes(attribute)) ?? [];
  if (!days || !lines.length) return null;
  const options = new Set(lines.map(({ attribute }) => attribute)).size > 1;
  const titled = lines.map((line) => ({ ...line, title: options ? line.attribute : line.value }));
  const drawing =
    mode === "tables"
      ? table(
          `The last days of ${names[0]}`,
          ["Day", "Reports", ...titled.map(({ title }) => title)],
          recent(days).map((t) => [
            days.dates[t] ?? "",
            count(days.reports[t] ?? 0),
            ...lines.map((line) => said(line, t, lines.length < MANY)),
          ]),
        )
      : titled.map((line) => byDay(line, days, width));
  return [h("h3", {}, mode === "tables" ? "The last days" : "By day"), drawing];
}

/** Whose the results of the last day are, in words. */
function describeLast(estimates: Estimates | null, isChain: boolean): Child {
  const plans = estimates?.plans ?? [];
  if (!plans.length) return isChain && h("p", { class: "soft" }, "All else is that of the newest.");
  const people = plans.map(
    ({ plan, n, round }) => `${count(n)} to plan ${plan.slice(0, 12)} in round ${round}`,
  );
  const last = plans.at(-1);
  return h(
    "p",
    { class: "soft" },
    `Results of the last day are joined: ${people.join(" and ")}. Tables of two questions are of round ${last?.round} of plan ${last?.plan.slice(0, 12)} alone.`,
  );
}

const meanOf = (number: number): string => signed(count(Number(number.toPrecision(4))));

const recent = ({ dates }: Days): number[] =>
  dates
    .map((_, t) => t)
    .slice(-RECENT)
    .reverse();

/** A number of a line, and the ends of its interval, in words. */
function said(line: DayLine, t: number, ends: boolean): string {
  const [number, low, high] = [line.numbers[t], line.low[t], line.high[t]];
  if (number == null || low == null || high == null) return "–";
  const form = (end: number): string => (line.kind === "mean" ? meanOf(end) : percent(end, 2));
  return ends ? `${form(number)} (${form(low)} to ${form(high)})` : form(number);
}
