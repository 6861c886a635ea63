/**
 * Does what follows the questions: shows the answers, makes the report of them, shows it and sends it.
 *
 * A report is drawn once and stored before it is shown. People who could draw again until they like the
 * report would reveal something by the one they keep.
 */

import { drop } from "../../src/client/kept_tickets.js";
import { Client, decode, NotSent, type Plan, type Report } from "../../src/index.js";
import type { Round } from "../kit/api.js";
import { HERE, keepInvitation } from "../kit/collector.js";
import { type Child, find, h } from "../kit/dom.js";
import { count, plural, rich, t } from "../kit/messages.js";
import { loss, moment, sentence } from "../kit/phrases.js";
import { answersOf, cards } from "./cards.js";
import { foldDevice, persist, showDevice } from "./device.js";
import { byOperator, check, promiseAgain } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { paragraphs } from "./language.js";
import { keepFor } from "./plans_link.js";
import type { Reply } from "./question.js";
import { isReceived, markReceived } from "./receipts.js";
import { current, put, refusal, refuse } from "./stage.js";
import { hint, isDue, isKept, obtain } from "./tickets.js";
import { shorten } from "./top.js";
import type { Offer, Visit } from "./visit.js";

const ATTEMPTS = 6;

/** Why no round is open to this device, and when the next one opens; of the rounds, `turns` are its own. */
export function closed(
  visit: Visit,
  plan: Plan,
  rounds: readonly Round[],
  turns: readonly number[],
): HTMLElement {
  const next = rounds.find(
    ({ number, opens }) => opens !== null && Date.parse(opens) > Date.now() && turns.includes(number),
  );
  const hasMore =
    next !== undefined || (turns.at(-1) ?? 1) > Math.max(0, ...rounds.map(({ number }) => number));
  const isOthers = rounds.some(({ open }) => open);
  const isOnce = plan.rounds === null;
  const opening = next && { when: moment(next.opens as string), round: next.number };
  const when = opening
    ? t(isOnce ? "opens_study" : "opens_round", opening)
    : t(isOnce ? "come_back_study" : "come_back_round");
  const made = visit.ledger.entries.filter((entry) => entry.plan === plan.id);
  const sent = made.filter((entry) => isReceived(entry)).length;
  return refusal(
    t(isOthers ? "no_turn" : hasMore ? "closed_now" : "ended"),
    plan.turns !== null && h("p", {}, t("turns", { numbers: turns.join(", "), rounds: plan.rounds ?? 1 })),
    (!hasMore || opening || plan.turns === null) && h("p", {}, hasMore ? when : t("no_more")),
    sent > 0 && h("p", {}, plural("rounds_answered", sent)),
    made.length > sent && h("p", {}, plural("no_receipt", made.length - sent)),
  );
}

/** Why the device refuses a plan that is above the person's limit. */
export function limited({ ledger }: Visit, plan: Plan): HTMLElement {
  const toLimit = (event: Event): void => {
    event.preventDefault();
    foldDevice(false);
    find("cap").focus();
  };
  const to = h("a", { href: "#cap", click: toLimit }, t("change_limit"));
  const { reports, changing: before } = ledger.lifetime();
  const after = ledger.lifetime([plan]).changing;
  const total = t(reports > 0 ? "limit_above" : "limit_alone", {
    before: loss(before),
    loss: loss(after),
    cap: count(ledger.cap),
  });
  return refusal(
    t("limit_refuses"),
    h("p", {}, total),
    after !== null && h("p", {}, rich("limit_change", { need: count(limitFor(after)), change: to })),
  );
}

/** The least limit, in hundredths, that allows a loss of this many billionths. */
function limitFor(nano: number): number {
  let hundredths = Math.ceil(nano / 1e7);
  while ((hundredths / 100) * 1e9 < nano) hundredths++;
  return hundredths / 100;
}

/** The questions that this device has drawn, where only these are asked. */
export function drawQuestions({ ledger }: Visit, plan: Plan): Promise<string[]> {
  return new Client(plan, { ledger }).questions();
}

/** Show the answers before the report is made of them, and ask for consent; with a way back. */
export function review(
  visit: Visit,
  head: HTMLElement,
  offer: Offer,
  replies: readonly Reply[],
  showQuestion: (name: string) => void,
): void {
  const before = current();
  const wasShort = head.classList.contains("short");
  shorten(head, true);
  const title = h("h2", { tabindex: -1 }, t("review_title"));
  const { plan } = offer;
  const consent = plan.texts?.consent;
  const tick = consent ? consenting(paragraphs(plan, consent), t("agree")) : null;
  const next = h("button", { type: "button", class: "main", click: () => void go() }, t("make"));
  const back = h("button", { type: "button", click: () => goBack() }, t("change"));
  const goBack = (name?: string): void => {
    put(...before);
    shorten(head, wasShort);
    if (name === undefined) head.querySelector("h1")?.focus();
    else showQuestion(name);
  };
  const go = async (): Promise<void> => {
    if (tick && !tick.isGiven()) return;
    next.disabled = back.disabled = true;
    await make(visit, head, offer, replies);
  };
  put(
    head,
    title,
    h("p", {}, t("review_hint")),
    h(
      "section",
      { class: "card stays review", "aria-label": t("review_title") },
      answersOf(plan, replies, goBack),
    ),
    promiseAgain(plan),
    ...(tick ? [tick.element] : []),
    h("div", { class: "act row" }, next, back),
  );
  title.focus();
}

/** What the operator asks people to agree to, and what they tick. */
export function consenting(text: Child, label: Child): { readonly element: HTMLElement; isGiven(): boolean } {
  const complaint = h("p", { class: "complaint", id: "consent-complaint", role: "alert" });
  const field = h("input", {
    type: "checkbox",
    id: "consent",
    "aria-describedby": "consent-complaint",
    change: () => void (complaint.textContent = ""),
  });
  const isGiven = (): boolean => {
    complaint.textContent = field.checked ? "" : t("must_agree");
    field.setAttribute("aria-invalid", String(!field.checked));
    if (!field.checked) field.focus();
    return field.checked;
  };
  const element = h(
    "section",
    { class: "question consent", "aria-labelledby": "consent-title" },
    h("h3", { id: "consent-title" }, t("consent")),
    byOperator(text),
    h("label", { class: "choice" }, field, h("span", {}, label)),
    complaint,
  );
  return { element, isGiven };
}

/** Draw the report, once, and show it before it leaves. */
async function make(visit: Visit, head: HTMLElement, offer: Offer, replies: readonly Reply[]): Promise<void> {
  const { plan, round } = offer;
  const { ledger } = visit;
  let client: Client;
  let report: Report;
  try {
    client = new Client(plan, { ledger });
    const answers = Object.fromEntries(replies.map(({ name, answer }) => [name, answer]));
    report = await client.report(answers, { round });
  } catch (problem) {
    return refuse(visit, problem as Error);
  }
  showDevice(ledger, (isForgotten) => visit.start(isForgotten));
  void persist(); // a browser may ask the person, who need not answer now
  const title = h("h2", { tabindex: -1 }, t("look"));
  put(head, title, cards(plan, report, replies), sending(visit, head, offer, client, report, t("send")));
  title.focus();
}

/** A round that was answered on this device. */
export function answered(visit: Visit, head: HTMLElement, offer: Offer, bytes: Uint8Array): void {
  const { plan, round } = offer;
  const report = decode(plan, bytes);
  const arrived = isReceived({ plan: plan.id, round });
  const client = new Client(plan, { ledger: visit.ledger }); // whatever the limit is now: nothing is new
  put(
    head,
    h("h2", { tabindex: -1 }, t(arrived ? "answered" : "unsent")),
    h("p", {}, t(arrived ? "answered_hint" : "unsent_hint")),
    cards(plan, report, null, arrived),
    sending(visit, head, offer, client, report, t(arrived ? "send_again" : "send")),
  );
}

/** The button that sends, and what becomes of it. */
function sending(
  visit: Visit,
  head: HTMLElement,
  offer: Offer,
  client: Client,
  report: Report,
  label: string,
): HTMLElement {
  const notice = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "main", click: () => void send() }, label);
  const { plan, round } = offer;
  const { ledger } = visit;
  const hasTickets = plan.ticketKey !== null;
  const arrived = isReceived({ plan: plan.id, round });
  const isUninvited = offer.summary.invited && visit.invitation === null && !arrived && !isKept(ledger, plan);
  if (isUninvited) return askInvitation(visit, [plan.id]);
  if (!arrived && isDue(ledger, plan, round)) void send();
  return h("div", { class: "act" }, !arrived && hasTickets && hint(), notice, button);

  async function send(): Promise<void> {
    button.disabled = true;
    button.textContent = t("sending");
    notice.replaceChildren();
    let slow = 0;
    const signal = AbortSignal.any([visit.shown.signal, visit.remembering.signal]);
    const { signal: remembering } = visit.remembering;
    const forgetInvitation = (): void => {
      keepInvitation((visit.invitation = null));
      keepFor(plan.id, null);
    };
    try {
      if (!navigator.onLine) throw new NotSent("this device is offline", 0);
      const ticket =
        hasTickets && !arrived
          ? await obtain(
              client,
              HERE,
              { round, invitation: visit.invitation, attempts: ATTEMPTS, signal },
              { notice, button, exchanged: forgetInvitation },
            )
          : undefined;
      if (ticket === null) return withhold();
      const { invitation } = visit;
      const token = ticket ? { ticket } : invitation !== null && !hasTickets && { invitation };
      slow = setTimeout(() => notice.replaceChildren(h("p", { class: "notice" }, t("no_answer_yet"))), 2500);
      const outcome = await client.send(HERE, report, { attempts: ATTEMPTS, signal: remembering, ...token });
      if (ticket) drop(ledger, plan);
      // unless it was forgotten meanwhile
      if (ledger.find(plan, round)) markReceived(plan.id, round);
      forgetInvitation(); // it is used; the next round takes another
      showDevice(ledger, (isForgotten) => visit.start(isForgotten));
      if (!notice.isConnected) return; // another study is shown by now
      put(head, receipt(offer, report, outcome), cards(plan, report, null, true));
      find("receipt").focus();
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return; // something else is shown
      notice.replaceChildren(h("p", { class: "notice bad" }, why(problem as Error, plan)));
      button.disabled = false;
      button.textContent = t("try_again");
      if (!navigator.onLine)
        addEventListener("online", () => button.isConnected && !button.disabled && void send(), {
          once: true,
        });
      else if (problem instanceof NotSent && ["invitation", "ticket"].includes(problem.reason)) {
        if (problem.reason === "ticket") drop(ledger, plan);
        forgetInvitation();
        button.hidden = true;
        notice.append(askInvitation(visit, [plan.id]));
      }
    } finally {
      clearTimeout(slow);
    }
  }

  /** The person decided not to send it; or another page has sent it, and this one shows that. */
  function withhold(): void {
    if (!isKept(ledger, plan)) return void visit.start();
    notice.replaceChildren(h("p", { class: "notice" }, t("ticket_held")));
    button.disabled = false;
    button.textContent = label;
  }
}

function receipt({ round, plan }: Offer, report: Report, outcome: string): HTMLElement {
  return h(
    "section",
    { class: "receipt", "aria-labelledby": "receipt" },
    h(
      "h2",
      { id: "receipt", tabindex: -1 },
      check(),
      t(outcome === "counted" ? "received" : "received_before"),
    ),
    h("p", {}, t(outcome === "counted" ? "stored" : "stored_before")),
    plan.texts?.thanks && byOperator(...paragraphs(plan, plan.texts.thanks)),
    h(
      "p",
      { class: "soft" },
      plan.rounds === null ? "" : `${t("round", { round })} · `,
      rich("report", { id: h("code", { title: report.id }, `${report.id.slice(0, 12)}…`) }),
    ),
  );
}

/** Why a report of a plan did not arrive. */
export function why(problem: Error, { ticketKey }: Plan): string {
  if (!(problem instanceof NotSent)) return sentence(problem.message);
  if (!navigator.onLine) return t("waits_offline");
  if (problem.status === 0) return t("waits_unreachable");
  const { reason, detail } = problem;
  if (reason === "invitation") return t("invitation_refused");
  if (reason === "ticket") return t("ticket_refused");
  if (reason === "closed")
    return t("round_closed") + (ticketKey !== null ? ` ${t("round_closed_ticket")}` : "");
  if (problem.status >= 500 || problem.status === 429) return t("waits_busy");
  return detail ? t("refused_report", { detail }) : sentence(problem.message);
}
