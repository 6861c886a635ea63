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
import { drop, find, type Kept, keep, WAIT } from "./kept_tickets.js";

export { drop, find, hold, type Kept, WAIT } from "./kept_tickets.js";

const SUITE = RSABSSA.SHA384.PSS.Randomized();
const LABEL = "deniable ticket";

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
  const request = await ledger.alone(async () => {
    const before = find(ledger, plan);
    if (before && (before.ticket || !invitation || before.invitation === invitation))
      return keep(ledger, plan, { ...before, round });
    return keep(ledger, plan, { ...(await blind(plan, invitation)), round });
  });
  if (request.ticket) return request;
  const signature = await client
    .sign(url, fromHexadecimal(request.blinded), request.invitation, options)
    .catch(async (problem: Partial<NotSent>) => {
      if (problem.reason === "invitation")
        await ledger.alone(async () => {
          if (find(ledger, plan)?.blinded === request.blinded) drop(ledger, plan);
        });
      throw problem;
    });
  const ticket = await unblind(plan, request, signature);
  return ledger.alone(async () => {
    const now = find(ledger, plan);
    if (now?.ticket) return now; // another page was first
    const [least, most] = WAIT;
    const due = Date.now() + least + below(system(1), 0, most - least + 1);
    const signed = { ...request, inverse: "", invitation: "", ticket, due };
    return now ? keep(ledger, plan, signed) : signed; // else everything was forgotten meanwhile
  });
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
    const signed = await SUITE.finalize(await keyOf(plan), message, signature, fromHexadecimal(inverse));
    return `${base64(message)}.${base64(signed)}`;
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
