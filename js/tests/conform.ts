/** Answers the lines of spec/conformance.md, so that `deniable conform` tests this client. */

import { createInterface } from "node:readline";
import { RSABSSA } from "@cloudflare/blindrsa-ts";
import { Client, makeReport } from "../src/client/client.js";
import { deriveInvitation, readCode } from "../src/client/codes.js";
import { Ledger } from "../src/client/ledger.js";
import { decode } from "../src/client/report.js";
import type { Answers } from "../src/domains/attribute.js";
import { DeniableError, InvalidValue } from "../src/errors.js";
import { fromHexadecimal, hexadecimal } from "../src/hexadecimal.js";
import { Plan } from "../src/plan/plan.js";
import { fixedRow } from "../src/randomness/words_testing.js";
import type { Document } from "./helpers.js";

interface Step {
  readonly plan: number;
  readonly round: number;
  readonly answers: Answers;
  readonly change: boolean;
  readonly cap?: number;
}

const SUITE = RSABSSA.SHA384.PSS.Randomized();
const LEVELS = [
  "single",
  "records",
  "rounds",
  "chains",
  "metric",
  "text",
  "tickets",
  "read",
  "ledger",
  "verify",
];

const device = ({ plan, secret }: Document): Promise<Client> =>
  Client.open(plan, { secret, planCap: Infinity });

const base64 = (digits: string): string => Buffer.from(digits, "hex").toString("base64url");

const keyOf = (modulus: string): Promise<CryptoKey> => {
  const key = { kty: "RSA", ext: true, n: base64(modulus), e: "AQAB" };
  return crypto.subtle.importKey("jwk", key, { name: "RSA-PSS", hash: "SHA-384" }, true, ["verify"]);
};

/** The inverse of a number that has no divisor in common with the modulus. */
function inverse(factor: string, modulus: string): string {
  const n = BigInt(`0x${modulus}`);
  let [one, other, a, b] = [BigInt(`0x${factor}`), n, 1n, 0n];
  while (other) [one, other, a, b] = [other, one % other, b, a - (one / other) * b];
  return (((a % n) + n) % n).toString(16).padStart(modulus.length, "0");
}

/** What the work gives if these bytes are drawn, one after the other. */
async function drawing<T>(draws: string[], work: () => Promise<T>): Promise<T> {
  const system = crypto.getRandomValues;
  crypto.getRandomValues = (array: Document) => {
    array.set(fromHexadecimal(draws.shift() as string));
    return array;
  };
  try {
    return await work();
  } finally {
    crypto.getRandomValues = system;
  }
}

const ANSWERS: Record<string, (request: Document) => Promise<Document>> = {
  verify: async ({ plan }) => ({ losses: (await Plan.fromJson(plan)).verify() }),
  report: async (request) => {
    const { answers, round, words, secret } = request;
    if (!words)
      return { bytes: hexadecimal((await (await device(request)).report(answers, { round })).bytes) };
    const plan = await Plan.fromJson(request.plan);
    const row = await fixedRow(words, fromHexadecimal(secret), plan.id);
    const id = new Uint32Array(fromHexadecimal(request.id).buffer);
    return { bytes: hexadecimal((await makeReport(plan, answers, round, row, async () => id)).bytes) };
  },
  questions: async (request) => ({ questions: await (await device(request)).questions() }),
  values: async ({ plan, answers }) => {
    const [{ domain, name }] = (await Plan.fromJson(plan)).attributes as Document;
    const value = (answer: unknown): unknown => {
      try {
        const code = domain.code(answer, name);
        return domain.isUnlisted && domain.kind !== "number" ? String(code) : code;
      } catch (problem) {
        if (!(problem instanceof InvalidValue)) throw problem;
        return null;
      }
    };
    return { values: answers.map(value) };
  },
  read: async ({ plan, bytes, json }) => {
    const report = decode(await Plan.fromJson(plan), json ?? fromHexadecimal(bytes));
    return { bytes: hexadecimal(report.bytes), json: report.json };
  },
  steps: async ({ plans, secret, cap, steps }) => {
    const ledger = new Ledger();
    const answers: Document[] = [];
    for (const step of steps as Step[]) {
      const limit = step.cap ?? cap;
      const follow = async (): Promise<Document> => {
        const options = { ledger, secret, ...(limit === null ? {} : { cap: limit }) };
        const client = await Client.open(plans[step.plan], options);
        return { bytes: hexadecimal((await client.report(step.answers, step)).bytes) };
      };
      answers.push({ ...(await follow().catch(refusal)), counted: ledger.lifetime().changing });
    }
    return { steps: answers };
  },
  code: async ({ typed, plans }) => {
    const code = readCode(typed);
    if (typeof code === "string") return { refused: code };
    const invitations = await Promise.all(plans.map((plan: string) => deriveInvitation(code, plan)));
    return { tag: code.tag, invitations };
  },
  blind: async ({ key, prepared, salt, factor }) => {
    const blind = async () => SUITE.blind(await keyOf(key), fromHexadecimal(prepared));
    return { blinded: hexadecimal((await drawing([salt, factor], blind)).blindedMsg) };
  },
  unblind: async ({ key, prepared, factor, signature }) => {
    const [message, signed] = [prepared, signature].map(fromHexadecimal) as [Uint8Array, Uint8Array];
    const factorOf = fromHexadecimal(inverse(factor, key));
    const ticket = await SUITE.finalize(await keyOf(key), message, signed, factorOf).catch(() => null);
    if (!ticket) return { refused: "signature" };
    return { ticket: `${base64(prepared)}.${base64(hexadecimal(ticket))}` };
  },
  prepare: async ({ plan, prefix }) => {
    const message = Uint8Array.from([
      ...new TextEncoder().encode("deniable ticket"),
      ...fromHexadecimal(plan),
    ]);
    return { prepared: hexadecimal(await drawing([prefix], async () => SUITE.prepare(message))) };
  },
};

function refusal(problem: unknown): { refused: string } {
  if (!(problem instanceof DeniableError)) throw problem;
  return { refused: (problem as { reason?: string }).reason ?? problem.constructor.name };
}

console.log(JSON.stringify({ conform: 1, name: "the TypeScript client of deniable", levels: LEVELS }));
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = ANSWERS[request.ask]?.(request) ?? Promise.resolve({ failed: `asked for ${request.ask}` });
  console.log(JSON.stringify(await answer.catch(refusal)));
}
