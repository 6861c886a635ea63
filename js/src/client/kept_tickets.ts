/** Keeps the tickets of a device until their reports have arrived. */

import type { Plan } from "../plan/plan.js";
import type { Ledger } from "./ledger.js";

/** Milliseconds between an exchange and its report: at random, from the first to the second. */
export const WAIT = [60_000, 600_000] as const;

/** What a device keeps of a ticket until its report has arrived; bytes are in hexadecimal. */
export interface Kept {
  readonly prepared: string;
  readonly blinded: string;
  /** The inverse of the blinding factor; empty once the ticket is there. */
  readonly inverse: string;
  /** Empty once the ticket is there. */
  readonly invitation: string;
  /** As it is sent; empty until the collector has signed it. */
  readonly ticket: string;
  /** When the report is to be sent, in milliseconds since 1970. */
  readonly due: number;
  /** The round whose report is to be sent with it; 0 where the person has asked for none. */
  readonly round: number;
}

/** The ticket that is kept for a plan, or that was asked for; null where there is none. */
export function find(ledger: Ledger, plan: Plan): Kept | null {
  return all(ledger)[plan.id] ?? null;
}

/** Keep the ticket of a plan, but send no report with it before the person asks again. */
export function hold(ledger: Ledger, plan: Plan): Promise<void> {
  return ledger.alone(async () => {
    const now = find(ledger, plan);
    if (now) keep(ledger, plan, { ...now, round: 0 });
  });
}

/** Forget the ticket of a plan: a report arrived with it, or it was refused. */
export function drop(ledger: Ledger, plan: Plan): void {
  const { [plan.id]: _, ...others } = all(ledger);
  ledger.tickets = JSON.stringify(others);
}

/** Keep this ticket for a plan. */
export function keep(ledger: Ledger, plan: Plan, ticket: Kept): Kept {
  ledger.tickets = JSON.stringify({ ...all(ledger), [plan.id]: ticket });
  return ticket;
}

function all(ledger: Ledger): Readonly<Record<string, Kept>> {
  return JSON.parse(ledger.tickets ?? "{}");
}
