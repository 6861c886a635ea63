/** Exchanges an invitation for a ticket, and keeps the report back for a while, so that nothing links the two. */

import type { Client, Ledger, Plan } from "../src/index.js";
import { drop, exchange, find, WAIT } from "../src/tickets.js";
import { h } from "./dom.js";

export { drop };

const [LEAST, MOST] = WAIT.map((milliseconds) => milliseconds / 60_000);

/** Whether a ticket for this round is kept here, or was asked for. */
export function isKept(ledger: Ledger, plan: Plan, round: number): boolean {
  return find(ledger, plan, round) !== null;
}

/** What will happen, before it does. */
export function hint(): HTMLElement {
  return h(
    "p",
    { class: "soft" },
    `First your invitation is exchanged for a ticket. Even the collector cannot see which invitation a ticket comes from. Times could still link the two, so your report leaves ${LEAST} to ${MOST} minutes later, at random, over another connection; or when you say so. Your network address is the same both times.`,
  );
}

/** The ticket of a round, when its report is to be sent: at a random time, or when the person says so. */
export async function obtain(
  client: Client,
  url: string,
  given: { readonly round: number; readonly invitation: string | null; readonly attempts: number },
  { notice, button, exchanged }: { notice: HTMLElement; button: HTMLElement; exchanged: () => void },
): Promise<string> {
  const { ticket, due } = await exchange(client, url, given.invitation ?? "", given);
  exchanged();
  const before = button.textContent;
  button.textContent = "Waiting…";
  await wait(due, notice);
  button.textContent = before;
  return ticket;
}

function wait(due: number, notice: HTMLElement): Promise<void> {
  const left = due - Date.now();
  if (left <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener("beforeunload", warn);
      notice.replaceChildren();
      resolve();
    };
    // the browser then asks whether to leave: who does not come back is not counted
    const warn = (event: Event): void => event.preventDefault();
    addEventListener("beforeunload", warn);
    const timer = setTimeout(end, left);
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
        h("button", { type: "button", click: end }, "Send now"),
      ),
    );
  });
}
