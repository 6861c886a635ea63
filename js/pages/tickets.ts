/** Exchanges an invitation for a ticket, and keeps the report back for a while, so that nothing links the two. */

import type { Client, Ledger, Plan } from "../src/index.js";
import { drop, exchange, find, hold, WAIT } from "../src/tickets.js";
import { h } from "./dom.js";

export { drop };

const [LEAST, MOST] = WAIT.map((milliseconds) => milliseconds / 60_000);

/** Whether a ticket of this plan is kept here, or was asked for. */
export function isKept(ledger: Ledger, plan: Plan): boolean {
  return find(ledger, plan) !== null;
}

/** Whether the report of this round is to be sent with a ticket that is kept, as the person asked before. */
export function isDue(ledger: Ledger, plan: Plan, round: number): boolean {
  const kept = find(ledger, plan);
  return kept !== null && kept.ticket !== "" && kept.round === round;
}

/** What an invitation tells and what it does not, for people to read before they answer. */
export function explanation(): HTMLElement {
  return h(
    "details",
    { class: "kept-apart" },
    h("summary", {}, "How your invitation is kept apart from your answer"),
    h(
      "p",
      {},
      "That you take part can be known: whoever sent the links knows whose invitation was used. Nothing that is sent links your answer to it.",
    ),
    h(
      "p",
      {},
      `When you send, your invitation is first exchanged for a ticket. The collector signs the ticket without seeing it, so it cannot tell later whose ticket comes with a report. Your report leaves ${LEAST} to ${MOST} minutes after the exchange, at a random time, so that the times do not link the two. You can close the page and come back on another day.`,
    ),
    h(
      "p",
      {},
      "Your network address could still link the two, if few people share it. All must have the same plan: compare its id, under “The exact loss”, with that of others.",
    ),
  );
}

/** What will happen, before it does. */
export function hint(): HTMLElement {
  return h(
    "p",
    { class: "soft" },
    `First your invitation is exchanged for a ticket. Even the collector cannot see which invitation a ticket comes from. Times could still link the two, so your report leaves ${LEAST} to ${MOST} minutes later, at random, over another connection; or when you say so. Your network address is the same both times.`,
  );
}

interface Asked {
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
  asked: Asked,
  { notice, button, exchanged }: { notice: HTMLElement; button: HTMLElement; exchanged: () => void },
): Promise<string | null> {
  const { plan, ledger } = client;
  const { ticket, due } = await exchange(client, url, asked.invitation ?? "", asked);
  asked.signal.throwIfAborted();
  exchanged();
  const before = button.textContent;
  button.textContent = "Waiting…";
  if (!(await wait(due, notice, asked.signal))) await hold(ledger, plan);
  button.textContent = before;
  return isDue(ledger, plan, asked.round) ? ticket : null;
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
    const at = new Date(due).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    notice.replaceChildren(
      h(
        "div",
        { class: "notice waiting-ticket" },
        h(
          "p",
          {},
          `Your invitation was exchanged for a ticket. Your report leaves at about ${at}: a random time ${LEAST} to ${MOST} minutes after the exchange, so that the time does not link it to the invitation.`,
        ),
        h("p", {}, "Leave this page open. If you close it, the report leaves when you open it again."),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", click: () => end(true) }, "Send now"),
          h("button", { type: "button", click: () => end(false) }, "Do not send"),
        ),
      ),
    );
  });
}
