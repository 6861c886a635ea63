/** Says what the collector has counted and refused. */

import { type Child, h } from "../kit/dom.js";
import { count } from "../kit/phrases.js";
import type { Counters, View } from "./results.js";

const REASONS: Readonly<Record<string, string>> = {
  malformed: "cannot be read",
  version: "of another version",
  form: "not in canonical form",
  size: "too long or too short",
  round: "no such round",
  parameter: "wrong parameter",
  token: "token missing or not valid",
  role: "token that does not allow it",
  invitation: "invitation missing, unknown or used",
  plan: "of a plan that is not collected here",
  path: "no such address",
  method: "method not allowed at that address",
  slow: "arrived too slowly",
  closed: "round not open",
  few: "results asked for too early",
  head: "headers too long",
  request: "not a request of HTTP/1.1",
  large: "too large",
  type: "wrong kind of content",
  rate: "too many requests from one sender",
  busy: "collector busy",
  store: "store not available",
  fault: "an error of the collector",
};

// what was refused so was asked, and no report
const NO_REPORT = ["token", "role", "path", "method", "parameter", "few", "head", "request"];
// what was refused so is sent again by every client, after a moment
const LATER = ["rate", "busy", "store"];

/** What the collector has counted and refused since it was started. */
export function collector({ counters }: View): Child {
  const title = h("h2", {}, "The collector");
  if (!counters) return [title, h("p", { class: "soft" }, "This page cannot read its counters.")];
  const { before, waiting: queue, refused } = counters;
  const others = refused.filter(([reason]) => NO_REPORT.includes(reason));
  const later = refused.filter(([reason]) => LATER.includes(reason));
  const reports = refused.filter((refusal) => !others.includes(refusal) && !later.includes(refusal));
  const sum = (all: Counters["refused"]): number => all.reduce((total, [, number]) => total + number, 0);
  const line = (what: string, number: number): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, count(number)),
  ];
  const why = (what: string, name: string, all: Counters["refused"]): Child =>
    all.length > 0 &&
    h(
      "details",
      {},
      h("summary", { "data-name": name }, what),
      h(
        "dl",
        { class: "figures" },
        all.map(([reason, number]) => line(REASONS[reason] ?? reason, number)),
      ),
    );
  return [
    title,
    h("p", { class: "soft" }, "Since its start, over all studies."),
    h(
      "dl",
      { class: "figures" },
      line("Reports counted", counters.counted),
      line("Sent again, counted before", before),
      line("Waiting to be stored", queue),
      line("Reports refused", sum(reports)),
    ),
    why("Why reports were refused", "refused", reports),
    why(`Asked to come again later: ${count(sum(later))}`, "later", later),
    why(`Other requests refused: ${count(sum(others))}`, "others", others),
  ];
}
