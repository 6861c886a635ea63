/** Sends the reports of several plans with one button: what has arrived stays, the rest is tried again. */

import { Client, NotSent, type Report } from "../../src/index.js";
import { HERE } from "../kit/collector.js";
import { find, h, quoted } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { showDevice } from "./device.js";
import { byOperator, check } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { paragraphs } from "./language.js";
import type { Part } from "./plans.js";
import { keepFor, keptFor } from "./plans_link.js";
import { isReceived, markReceived } from "./receipts.js";
import { why } from "./report.js";
import { put, shared } from "./shared.js";

type Tickets = typeof import("./tickets.js");

const ATTEMPTS = 6;
const PAUSE = 20_000; // milliseconds until what did not arrive is sent again
const FINAL = ["invitation", "ticket", "closed"]; // reasons that another attempt does not change

/** The button, and a line for each report. */
export function sendAll(head: HTMLElement, parts: readonly Part[], tickets: Tickets | null): HTMLElement {
  const lines = parts.map((part) => ({ part, notice: h("div", { role: "status", "aria-live": "polite" }) }));
  const rest = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "main", click: () => void send() }, t("send"));
  let timer = 0;
  const hasTickets = parts.some(({ plan }) => plan.ticketKey !== null);
  const due = lines.filter(({ part }) => !isSent(part) && isDue(part)); // the person sent these before
  if (due.length) void send(due);
  return h(
    "div",
    { class: "act" },
    hasTickets && tickets?.hint(),
    lines.map(({ notice }) => notice),
    rest,
    button,
  );

  /** Whether the invitation that was kept is of no use. */
  function isRefused({ plan }: Part): boolean {
    return keptFor(plan.id) === null && !(plan.ticketKey && tickets?.isKept(shared.ledger, plan));
  }

  function isDue({ plan, round }: Part): boolean {
    return plan.ticketKey !== null && (tickets?.isDue(shared.ledger, plan, round) ?? false);
  }

  async function send(some = lines): Promise<void> {
    clearTimeout(timer);
    button.disabled = true;
    button.textContent = t("sending");
    rest.replaceChildren();
    const waiting = some.filter(({ part }) => !isSent(part));
    const problems = (await Promise.all(waiting.map(sendOne))).filter((one) => one !== null);
    showDevice(shared.ledger, shared.start);
    if (!button.isConnected) return; // something else is shown by now
    if (parts.every(isSent)) {
      put(head, ...receipts(parts));
      return find("receipt").focus();
    }
    button.disabled = false;
    button.textContent = t("try_again");
    if (parts.some(isSent)) rest.replaceChildren(h("p", { class: "notice" }, t("plans_retry")));
    const refused = parts.filter((part) => part.summary.invited && !isSent(part) && isRefused(part));
    if (refused.length) rest.append(askInvitation(refused.map(({ plan }) => plan.id)));
    const isHopeless = problems.every((one) => one instanceof NotSent && FINAL.includes(one.reason));
    if (!isHopeless) timer = setTimeout(() => button.isConnected && !button.disabled && void send(), PAUSE);
  }

  /** Send one report: null when it has arrived, or what was in the way. */
  async function sendOne({ part, notice }: (typeof lines)[number]): Promise<Error | null> {
    const { plan, round, title } = part;
    const own = plan.ticketKey === null ? null : tickets;
    const client = new Client(plan, { ledger: shared.ledger });
    const signal = AbortSignal.any([shared.shown.signal, shared.remembering.signal]);
    const said = { title: quoted(title) };
    try {
      if (!navigator.onLine) throw new NotSent("this device is offline", 0);
      const invitation = keptFor(plan.id);
      const ticket = await own?.obtain(
        client,
        HERE,
        { round, invitation, attempts: ATTEMPTS, signal },
        { notice, button: h("button"), exchanged: () => keepFor(plan.id, null) },
      );
      if (ticket === null) {
        notice.replaceChildren(h("p", { class: "notice" }, t("ticket_held")));
        return null;
      }
      const token = ticket ? { ticket } : invitation !== null && !own && { invitation };
      const options = { attempts: ATTEMPTS, signal: shared.remembering.signal, ...token };
      await client.send(HERE, part.made as Report, options);
      if (ticket) own?.drop(shared.ledger, plan);
      // unless it was forgotten meanwhile
      if (shared.ledger.find(plan, round)) markReceived(plan.id, round);
      keepFor(plan.id, null);
      notice.replaceChildren(h("p", { class: "notice" }, rich("plans_received", said)));
      return null;
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return null;
      if (problem instanceof NotSent && problem.reason === "ticket") own?.drop(shared.ledger, plan);
      if (problem instanceof NotSent && problem.reason === "invitation") keepFor(plan.id, null);
      const reason = why(problem as Error);
      notice.replaceChildren(h("p", { class: "notice bad" }, rich("plans_kept", { ...said, why: reason })));
      return problem as Error;
    }
  }
}

const isSent = ({ plan, round }: Part): boolean => isReceived({ plan: plan.id, round });

function receipts(parts: readonly Part[]): HTMLElement[] {
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
        plan.texts?.thanks && byOperator(...paragraphs(plan, plan.texts.thanks)),
      ]),
    ),
  ];
}
