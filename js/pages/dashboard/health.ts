/** Says whether the reports look as honest ones do: one line where they do, and otherwise what was seen. */

import type { HealthCheck, ReportHealth } from "../kit/api.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { sentence, several } from "../kit/phrases.js";
import { table } from "./tables.js";

const BURST = "answers of one minute"; // notices fake reports only if they all come in it

export function health(state: ReportHealth | null): Child {
  if (!state) return null;
  const { checks, alarms } = state;
  if (checks.length === 0)
    return h("p", { class: "soft" }, `Health of the reports: ${state.verdict}.`, unjudged(state));
  const summary = `${state.summary.slice(state.verdict.length)}.`;
  if (alarms === 0)
    return [
      h(
        "p",
        { class: "soft" },
        h("strong", {}, `Health of the reports: ${state.verdict}`),
        summary,
        unjudged(state),
      ),
      details(state),
    ];
  return h(
    "section",
    { class: "notice bad", "aria-labelledby": "health" },
    h("h2", { id: "health" }, `Health of the reports: ${several(alarms, "alarm")}`),
    checks.filter(({ alarm }) => alarm).map(describe),
    h("p", {}, state.advice),
    h("p", { class: "soft" }, state.verdict, summary, unjudged(state)),
    details(state),
  );
}

/** Which questions could not be checked; where all could, nothing. */
function unjudged({ too_few: names }: ReportHealth): Child {
  return names.length > 0 && [" Too few reports to judge: ", quoted(names.join(", ")), "."];
}

/** A share in percent, by its first two digits. */
const rare = (share: number): string =>
  share < 0.001 ? "less than 0.1 %" : `${Number((100 * share).toPrecision(2))} %`;

function describe({ attribute, name, saw, means }: HealthCheck): HTMLElement {
  const about = attribute ? [" of “", quoted(attribute), "”"] : "";
  return h("p", {}, h("strong", {}, sentence(name).slice(0, -1), about, ": "), sentence(saw), " ", means);
}

/** From what share on fake reports of which kind are noticed, by the best check; others may go unnoticed. */
function noticed(checks: readonly HealthCheck[]): string {
  const sensitive = checks.filter(
    ({ attribute, name, noticed: share }) => attribute && name !== BURST && share < 1,
  );
  const best = sensitive.sort((a, b) => a.noticed - b.noticed)[0];
  if (!best) return "";
  return `Fake reports raise an alarm nine times in ten if they are ${rare(best.noticed)} of the reports to a question, and are ${best.fakes}. Other kinds may need more, or go unnoticed.`;
}

/** What checks notice, what none notices, and all of them. */
function details({ checks, unseen }: ReportHealth): HTMLElement {
  const lines = checks.map(({ attribute, name, saw, p_value, noticed: share, fakes }): Child[] => [
    [sentence(name).slice(0, -1), attribute && [", ", quoted(attribute)]],
    sentence(saw),
    p_value.toPrecision(2),
    share < 1 ? rare(share) : "–",
    fakes,
  ]);
  return h(
    "details",
    { class: "checks" },
    h("summary", { "data-name": "checks" }, "More"),
    [noticed(checks), unseen].map((text) => text && h("p", { class: "soft" }, text)),
    table(
      "Checks of the reports",
      ["Check", "Seen", "p-value", "Fakes needed for an alarm, of the reports to this question", "Which are"],
      lines,
    ),
  );
}
