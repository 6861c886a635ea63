/**
 * Exchanges an invitation for a ticket that nobody can link to it: RSA blind signatures, RFC 9474.
 *
 * What blinds a ticket is stored before the collector is asked, so that a lost answer can be asked for again.
 */

import { RSABSSA } from "@cloudflare/blindrsa-ts";
import type { NotSent } from "../errors.js";
import { fromHexadecimal, hexadecimal } from "../hexadecimal.js";
import type { Plan } from "../plan/plan.js";
import { type Bytes, below, subtle, system } from "../randomness/words.js";
import type { Client, SendOptions } from "./client.js";
import type { Ledger } from "./ledger.js";

const SUITE = RSABSSA.SHA384.PSS.Randomized();
const LABEL = "deniable ticket";
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

/**
 * The ticket of a plan, for a report of this round. It is exchanged for the invitation once; afterwards, and on
 * a page that was opened again, it is the one that is kept. A ticket is good in every round.
 */
export async function exchange(
  client: Client,
  url: string,
  invitation: string,
  { round = 1, ...options }: SendOptions & { readonly round?: number } = {},
): Promise<Kept> {
  const { plan, ledger } = client;
  const asked = await ledger.alone(async () => {
    const before = find(ledger, plan);
    if (before && (before.ticket || !invitation || before.invitation === invitation))
      return keep(ledger, plan, { ...before, round });
    return keep(ledger, plan, { ...(await blind(plan, invitation)), round });
  });
  if (asked.ticket) return asked;
  const signature = await client
    .sign(url, fromHexadecimal(asked.blinded), asked.invitation, options)
    .catch(async (problem: Partial<NotSent>) => {
      if (problem.reason === "invitation")
        await ledger.alone(async () => {
          if (find(ledger, plan)?.blinded === asked.blinded) drop(ledger, plan);
        });
      throw problem;
    });
  const ticket = await unblind(plan, asked, signature);
  return ledger.alone(async () => {
    const now = find(ledger, plan);
    if (now?.ticket) return now; // another page was first
    const [least, most] = WAIT;
    const due = Date.now() + least + below(system(1), 0, most - least + 1);
    const one = { ...asked, inverse: "", invitation: "", ticket, due };
    return now ? keep(ledger, plan, one) : one; // else everything was forgotten meanwhile
  });
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

function keep(ledger: Ledger, plan: Plan, one: Kept): Kept {
  ledger.tickets = JSON.stringify({ ...all(ledger), [plan.id]: one });
  return one;
}

function all(ledger: Ledger): Readonly<Record<string, Kept>> {
  return JSON.parse(ledger.tickets ?? "{}");
}

/** A message that the plan's tickets say, with random bytes before it, and blinded. */
async function blind(plan: Plan, invitation: string): Promise<Omit<Kept, "round">> {
  const message = [...new TextEncoder().encode(LABEL), ...fromHexadecimal(plan.id)];
  const prepared = SUITE.prepare(new Uint8Array(message));
  const { blindedMsg, inv } = await SUITE.blind(await keyOf(plan), prepared);
  const [blinded, inverse] = [hexadecimal(blindedMsg), hexadecimal(inv)];
  return { prepared: hexadecimal(prepared), blinded, inverse, invitation, ticket: "", due: 0 };
}

/** The ticket as text, or a refusal where the signature is not by the plan's key. */
async function unblind(plan: Plan, { prepared, inverse }: Kept, signature: Bytes): Promise<string> {
  const message = fromHexadecimal(prepared);
  try {
    const found = await SUITE.finalize(await keyOf(plan), message, signature, fromHexadecimal(inverse));
    return `${base64(message)}.${base64(found)}`;
  } catch {
    throw new Error("The collector did not sign with the key in the plan. Nothing was reported.");
  }
}

function keyOf({ ticketKey }: Plan): Promise<CryptoKey> {
  const n = base64(fromHexadecimal(ticketKey ?? ""));
  const key = { kty: "RSA", alg: "PS384", e: "AQAB", n, ext: true };
  return subtle().importKey("jwk", key, { name: "RSA-PSS", hash: "SHA-384" }, true, ["verify"]);
}

const base64 = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
