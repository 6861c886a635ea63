/** Remembers which reports a collector has acknowledged. */

import type { Entry } from "../../src/index.js";

const RECEIVED = "deniable.received";

/** Which reports a collector has acknowledged: plan and round. */
export function received(): Set<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(RECEIVED) ?? "[]"));
  } catch {
    return new Set();
  }
}

/** A report was sent when a receipt for it came; the ledger also has those that were only made. */
export function isReceived(
  { plan, round }: Pick<Entry, "plan" | "round">,
  known: ReadonlySet<string> = received(),
): boolean {
  return known.has(`${plan} ${round}`);
}

export function markReceived(plan: string, round: number): void {
  localStorage.setItem(RECEIVED, JSON.stringify([...received().add(`${plan} ${round}`)]));
}

export function forgetReceipts(): void {
  localStorage.removeItem(RECEIVED);
}
