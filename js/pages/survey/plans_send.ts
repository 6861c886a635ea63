/** Sends the reports of several plans with one button: what has arrived stays, the rest is tried again. */

import { drop } from "../../src/client/kept_tickets.js";
import { Client, NotSent, type Report } from "../../src/index.js";
import { HERE } from "../kit/collector.js";
import { find, h, quoted } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { showDevice } from "./device.js";
import { byOperator, check } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { paragraphs } from "./language.js";
import { keepFor, keptFor } from "./plans_link.js";
import { distinct, type Part } from "./plans_parts.js";
import { isReceived, markReceived } from "./receipts.js";
import { why } from "./report.js";
import { put } from "./stage.js";
import { hint, isDue, isKept, obtain } from "./tickets.js";
import type { Visit } from "./visit.js";

const ATTEMPTS = 6;
const PAUSE = 20_000; // milliseconds until what did not arrive is sent again
const FINAL = ["invitation", "ticket", "closed"]; // reasons that another attempt does not change

/** The button, and a line for each report. */
export function sendAll(visit: Visit, head: HTMLElement, parts: readonly Part[]): HTMLElement {
  const { ledger } = visit;
  const lines = parts.map((part) => ({ part, notice: h("div", { role: "status", "aria-live": "polite" }) }));
  const rest = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "main", click: () => void send() }, t("send"));
  let timer = 0;
  const hasTickets = parts.some(({ plan }) => plan.ticketKey !== null);
  const due = lines.filter(({ part }) => !isSent(part) && isDue(ledger, part.plan, part.round)); // the person sent these before
  if (due.length) void send(due);
  return h(
    "div",
    { class: "act" },
    hasTickets && hint(),
    lines.map(({ notice }) => notice),
    rest,
    button,
  );

  /** Whether the invitation that was kept is of no use. */
  function isRefused({ plan }: Part): boolean {
    return keptFor(plan.id) === null && !isKept(ledger, plan);
  }

  async function send(chosen = lines): Promise<void> {
    clearTimeout(timer);
    button.disabled = true;
    button.textContent = t("sending");
    rest.replaceChildren();
    const waiting = chosen.filter(({ part }) => !isSent(part));
    const problems = (await Promise.all(waiting.map(sendOne))).filter((problem) => problem !== null);
    showDevice(ledger, (isForgotten) => visit.start(isForgotten));
    if (!button.isConnected) return; // something else is shown by now
    if (parts.every(isSent)) {
      put(head, ...receipts(parts));
      return find("receipt").focus();
    }
    button.disabled = false;
    button.textContent = t("try_again");
    if (parts.some(isSent)) rest.replaceChildren(h("p", { class: "notice" }, t("plans_retry")));
    const refused = parts.filter((part) => part.summary.invited && !isSent(part) && isRefused(part));
    if (refused.length)
      rest.append(
        askInvitation(
          visit,
          refused.map(({ plan }) => plan.id),
        ),
      );
    const isHopeless = problems.every(
      (problem) => problem instanceof NotSent && FINAL.includes(problem.reason),
    );
    if (!isHopeless) timer = setTimeout(() => button.isConnected && !button.disabled && void send(), PAUSE);
  }

  /** Send one report: null when it has arrived, or what was in the way. */
  async function sendOne({ part, notice }: (typeof lines)[number]): Promise<Error | null> {
    const { plan, round, title } = part;
    const client = new Client(plan, { ledger });
    const signal = AbortSignal.any([visit.shown.signal, visit.remembering.signal]);
    const values = { title: quoted(title) };
    try {
      if (!navigator.onLine) throw new NotSent("this device is offline", 0);
      const invitation = keptFor(plan.id);
      const ticket =
        plan.ticketKey === null
          ? undefined
          : await obtain(
              client,
              HERE,
              { round, invitation, attempts: ATTEMPTS, signal },
              { notice, button: h("button"), exchanged: () => keepFor(plan.id, null) },
            );
      if (ticket === null) {
        notice.replaceChildren(h("p", { class: "notice" }, t("ticket_held")));
        return null;
      }
      const token = ticket ? { ticket } : invitation !== null && plan.ticketKey === null && { invitation };
      const options = { attempts: ATTEMPTS, signal: visit.remembering.signal, ...token };
      await client.send(HERE, part.made as Report, options);
      if (ticket) drop(ledger, plan);
      // unless it was forgotten meanwhile
      if (ledger.find(plan, round)) markReceived(plan.id, round);
      keepFor(plan.id, null);
      notice.replaceChildren(h("p", { class: "notice" }, rich("plans_received", values)));
      return null;
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return null;
      if (problem instanceof NotSent && problem.reason === "ticket") drop(ledger, plan);
      if (problem instanceof NotSent && problem.reason === "invitation") keepFor(plan.id, null);
      const reason = why(problem as Error, plan);
      notice.replaceChildren(h("p", { class: "notice bad" }, rich("plans_kept", { ...values, why: reason })));
      return problem as Error;
    }
  }
}

const isSent = ({ plan, round }: Part): boolean => isReceived({ plan: plan.id, round });

function receipts(parts: readonly Part[]): HTMLElement[] {
  const thanking = parts.filter(({ plan }) => plan.texts?.thanks).reverse(); // thanks are below all that they are for
  const last = new Set(distinct(thanking, ({ plan }) => plan.texts?.thanks).map(({ plan }) => plan));
  return [
    h(
      "section",
      { class: "receipt", "aria-labelledby": "receipt" },
      h("h2", { id: "receipt", tabindex: -1 }, check(), t("received")),
      parts.map(({ plan, title, made }) => [
        h(
          "p",
          { class: "soft" },
          quoted(title),
          " · ",
          rich("report", { id: h("code", { title: made?.id ?? "" }, `${made?.id.slice(0, 12)}…`) }),
        ),
        last.has(plan) && byOperator(...paragraphs(plan, plan.texts?.thanks)),
      ]),
    ),
  ];
}
