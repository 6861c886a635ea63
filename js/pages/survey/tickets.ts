/** Exchanges an invitation for a ticket, and keeps the report back for a while, so that nothing links the two. */

import { find, hold, WAIT } from "../../src/client/kept_tickets.js";
import type { Client, Ledger, Plan } from "../../src/index.js";
import { h } from "../kit/dom.js";
import { clock, t } from "../kit/messages.js";

/** Loads what exchanges invitations: a library for blind signatures, which only some studies need. */
const load = (): Promise<typeof import("../../src/client/tickets.js")> =>
  import("../../src/client/tickets.js");

/** Load what some of these plans need, so that it is there without a connection later. */
export async function prepareTickets(plans: readonly Plan[]): Promise<void> {
  if (plans.some(({ ticketKey }) => ticketKey !== null)) await load();
}

const [LEAST, MOST] = WAIT.map((milliseconds) => milliseconds / 60_000) as [number, number];
const BETWEEN = { least: LEAST, most: MOST };

/** Whether a ticket of this plan is kept here, or was asked for. */
export function isKept(ledger: Ledger, plan: Plan): boolean {
  return plan.ticketKey !== null && find(ledger, plan) !== null;
}

/** Whether the report of this round is to be sent with a ticket that is kept, as the person asked before. */
export function isDue(ledger: Ledger, plan: Plan, round: number): boolean {
  const kept = plan.ticketKey === null ? null : find(ledger, plan);
  return kept !== null && kept.ticket !== "" && kept.round === round;
}

/** What an invitation tells and what it does not, for people to read before they answer. */
export function explanation(hasKnown: boolean): HTMLElement {
  return h(
    "details",
    { class: "kept-apart" },
    h("summary", {}, t("ticket_title")),
    h("p", {}, t(hasKnown ? "ticket_group" : "ticket_known")),
    h("p", {}, t("ticket_how", BETWEEN)),
    h("p", {}, t("ticket_address")),
  );
}

/** What will happen, before it does. */
export function hint(): HTMLElement {
  return h("p", { class: "soft" }, t("ticket_hint", BETWEEN));
}

interface Exchange {
  readonly round: number;
  readonly invitation: string | null;
  readonly attempts: number;
  readonly signal: AbortSignal;
}

/**
 * The ticket of a round, when its report is to be sent: at a random time, or when the person says so. It is null
 * where the person decides not to send it, and where another page has sent it or everything was forgotten.
 */
export async function obtain(
  client: Client,
  url: string,
  request: Exchange,
  { notice, button, exchanged }: { notice: HTMLElement; button: HTMLElement; exchanged: () => void },
): Promise<string | null> {
  const { plan, ledger } = client;
  const { invitation: _, ...rest } = request;
  const { ticket, due } = await (await load()).exchange(client, url, request.invitation ?? "", rest);
  request.signal.throwIfAborted();
  exchanged();
  const before = button.textContent;
  button.textContent = t("ticket_waiting");
  if (!(await wait(due, notice, request.signal))) await hold(ledger, plan);
  button.textContent = before;
  return isDue(ledger, plan, request.round) ? ticket : null;
}

/** Whether to send: true when the time has come or the person says so, false when they say not to. */
function wait(due: number, notice: HTMLElement, signal: AbortSignal): Promise<boolean> {
  const left = due - Date.now();
  if (left <= 0) return Promise.resolve(true);
  return new Promise((resolve, reject) => {
    const end = (isSent: boolean): void => {
      clearTimeout(timer);
      removeEventListener("beforeunload", warn);
      notice.replaceChildren();
      resolve(isSent);
    };
    // the browser then asks whether to leave: who does not come back is not counted
    const warn = (event: Event): void => event.preventDefault();
    addEventListener("beforeunload", warn);
    signal.addEventListener("abort", () => {
      reject(signal.reason);
      end(false);
    });
    const timer = setTimeout(() => end(true), left);
    const at = clock(new Date(due));
    notice.replaceChildren(
      h(
        "div",
        { class: "notice waiting-ticket" },
        h("p", {}, t("ticket_leaves", { at, ...BETWEEN })),
        h("p", {}, t("ticket_stay")),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", click: () => end(true) }, t("ticket_now")),
          h("button", { type: "button", click: () => end(false) }, t("ticket_not")),
        ),
      ),
    );
  });
}
