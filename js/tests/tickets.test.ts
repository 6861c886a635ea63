import { BlindRSA, getSuiteByName } from "@cloudflare/blindrsa-ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import vectors from "../../spec/vectors/rfc9474.json" with { type: "json" };
import { Client } from "../src/client/client.js";
import { Ledger, memoryStore } from "../src/client/ledger.js";
import { drop, exchange, find, hold, WAIT } from "../src/client/tickets.js";
import { fromHexadecimal, hexadecimal } from "../src/hexadecimal.js";
import { Plan } from "../src/plan/plan.js";
import { type Document, small } from "./helpers.js";

const whole = (text: string): bigint => BigInt(`0x${text}`);

const base64 = (text: string): string =>
  btoa(String.fromCharCode(...fromHexadecimal(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const digits = (text: string): string => {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return hexadecimal(Uint8Array.from(raw, (sign) => sign.charCodeAt(0)));
};

const SCHEME = { name: "RSA-PSS", hash: "SHA-384" };
const made = await crypto.subtle.generateKey(
  { ...SCHEME, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  true,
  ["sign", "verify"],
);
const { n: modulus = "", d: exponent = "" } = await crypto.subtle.exportKey("jwk", made.privateKey);
const [n, d] = [digits(modulus), digits(exponent)];
const MODULUS = whole(n);

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base % MODULUS];
  for (let left = exponent; left; left >>= 1n) {
    if (left & 1n) result = (result * square) % MODULUS;
    square = (square * square) % MODULUS;
  }
  return result;
};

const inverse = (number: bigint, modulus = MODULUS): bigint => {
  let [one, other, a, b] = [number, modulus, 1n, 0n];
  while (other) {
    const times = one / other;
    [one, other, a, b] = [other, one - times * other, b, a - times * b];
  }
  return ((a % modulus) + modulus) % modulus;
};

const written = (number: bigint, like = n): string => number.toString(16).padStart(like.length, "0");

/** The signature of a blinded message. */
const signed = (blinded: Uint8Array): Uint8Array<ArrayBuffer> =>
  fromHexadecimal(written(power(whole(hexadecimal(blinded)), whole(d))));

/** A plan with the key. */
const ticketed = (key: unknown = n): Promise<string> => small((data) => (data.ticket_key = key));

const device = async (store = memoryStore()): Promise<Client> =>
  Client.open(await ticketed(), { ledger: new Ledger(store) });

/** Answers as a collector does, and keeps what it was sent. */
function collector(sign = signed): { url: string; token: string; body: string }[] {
  const seen: { url: string; token: string; body: string }[] = [];
  vi.stubGlobal("fetch", async (url: string, { headers, body }: Document) => {
    seen.push({ url, token: headers.authorization, body: hexadecimal(body) });
    return url.endsWith("/signatures")
      ? new Response(sign(body))
      : new Response('{"outcome":"counted"}', { status: 201 });
  });
  return seen;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("the vectors of RFC 9474", () => {
  for (const one of vectors.cases)
    it(one.name, async () => {
      const suite = getSuiteByName(BlindRSA, one.name);
      const { n, e } = vectors.key;
      const jwk = { kty: "RSA", ext: true, n: base64(n), e: base64(e) };
      const key = await crypto.subtle.importKey("jwk", jwk, SCHEME, true, ["verify"]);
      const factor = written(inverse(whole(one.inv), whole(n)), n);
      const drawn = [one.msg_prefix, one.salt, factor].filter(Boolean);
      vi.spyOn(crypto, "getRandomValues").mockImplementation((array: Document) => {
        if (array.length) array.set(fromHexadecimal(drawn.shift() as string));
        return array;
      });
      const prepared = suite.prepare(fromHexadecimal(one.msg));
      expect(hexadecimal(prepared)).toBe(one.prepared_msg);
      const { blindedMsg, inv } = await suite.blind(key, prepared);
      expect(drawn).toEqual([]);
      expect(hexadecimal(blindedMsg)).toBe(one.blinded_msg);
      expect(hexadecimal(inv)).toBe(one.inv);
      const signature = await suite.finalize(key, prepared, fromHexadecimal(one.blind_sig), inv);
      expect(hexadecimal(signature)).toBe(one.sig);
    });
});

describe("a ticket", () => {
  it("is exchanged for an invitation once, and lets in a report", async () => {
    const [seen, store] = [collector(), memoryStore()];
    vi.spyOn(Math, "random").mockImplementation(() => {
      throw new Error("only the operating system's randomness");
    });
    const client = await device(store);
    const before = Date.now();
    const kept = await exchange(client, "https://collector.example/", "first");
    expect(seen).toEqual([
      {
        url: `https://collector.example/plans/${client.plan.id}/signatures`,
        token: "Invitation first",
        body: kept.blinded,
      },
    ]);
    expect(kept.due).toBeGreaterThanOrEqual(before + WAIT[0]);
    expect(kept.due).toBeLessThanOrEqual(Date.now() + WAIT[1]);
    expect(kept.invitation + kept.inverse).toBe("");
    const later = await device(store); // the page was closed, and opened again
    expect(await exchange(later, "https://collector.example", "another")).toEqual(kept);
    expect(seen.length).toBe(1);
    const report = await later.report({ color: "red" });
    expect(await later.send("https://collector.example", report, { ticket: kept.ticket })).toBe("counted");
    expect(seen[1]?.token).toBe(`Ticket ${kept.ticket}`);
    drop(later.ledger, later.plan);
    expect(find(later.ledger, later.plan)).toBe(null);
  });

  it("is good in a later round, and waits where the person does not want to send", async () => {
    const seen = collector();
    const client = await device();
    const url = "https://collector.example";
    const first = await exchange(client, url, "first");
    expect(await exchange(client, url, "", { round: 2 })).toEqual({ ...first, round: 2 });
    expect(seen.length).toBe(1);
    await hold(client.ledger, client.plan);
    expect(find(client.ledger, client.plan)).toEqual({ ...first, round: 0 });
  });

  it("is asked for with the same message until there is an answer", async () => {
    const store = memoryStore();
    const bodies: string[] = [];
    vi.stubGlobal("fetch", async (_: string, { body }: Document) => {
      bodies.push(hexadecimal(body));
      throw new TypeError("the network is gone");
    });
    const asked = exchange(await device(store), "https://collector.example", "first", { attempts: 2 });
    await expect(asked).rejects.toThrow("the invitation did not arrive");
    const seen = collector();
    const kept = await exchange(await device(store), "https://collector.example", ""); // after a reload
    expect(new Set([...bodies, seen[0]?.body]).size).toBe(1);
    expect(seen[0]?.token).toBe("Invitation first");
    expect(kept.ticket).not.toBe("");
    const other = memoryStore();
    vi.stubGlobal("fetch", async () => new Response('{"reason":"invitation"}', { status: 403 }));
    await expect(exchange(await device(other), "https://collector.example", "used")).rejects.toThrow(
      "refused the invitation",
    );
    const refused = await device(other);
    expect(find(refused.ledger, refused.plan)).toBe(null); // so that nobody sends it again unasked
    expect((await exchangeWith(other, "second")).token).toBe("Invitation second");
  });

  async function exchangeWith(store: ReturnType<typeof memoryStore>, invitation: string): Promise<Document> {
    const seen = collector();
    await exchange(await device(store), "https://collector.example", invitation);
    return seen[0];
  }

  it("fits every exchange, by one factor each", async () => {
    const seen = collector();
    const tickets: string[] = [];
    for (const name of ["a", "b", "c"])
      tickets.push((await exchange(await device(), "https://collector.example", name)).ticket);
    for (const { body } of seen)
      for (const ticket of tickets) {
        const signature = whole(digits(ticket.split(".")[1] as string));
        const blindSignature = whole(hexadecimal(signed(fromHexadecimal(body))));
        const factor = (blindSignature * inverse(signature)) % MODULUS;
        expect(written(power(signature * factor, 65537n))).toBe(body);
      }
  });

  it("is refused where another key signed it, and nothing is sent without one", async () => {
    collector((blinded) => new Uint8Array(blinded.length).fill(7));
    const client = await device();
    await expect(exchange(client, "https://collector.example", "first")).rejects.toThrow(
      "did not sign with the key in the plan",
    );
    const report = await client.report({ color: "red" });
    await expect(client.send("https://collector.example", report, { invitation: "first" })).rejects.toThrow(
      "exchange the invitation for one",
    );
  });

  it("waits with its report, and is kept for no other", async () => {
    const [seen, store] = [collector(), memoryStore()];
    const client = await device(store);
    const report = await client.report({ color: "red" });
    await expect(client.postpone(report)).rejects.toThrow("exchange its invitation while there is a network");
    const { ticket } = await exchange(client, "https://collector.example", "first");
    await client.postpone(report, { ticket });
    expect(find(client.ledger, client.plan)).toBe(null);
    const later = await device(store); // the page was closed, and opened again
    expect((await later.sendWaiting("https://collector.example", { wait: 0 })).arrived).toBe(1);
    expect(seen[1]).toMatchObject({ url: "https://collector.example/reports", token: `Ticket ${ticket}` });
    const { ledger, plan } = later;
    const changed = report.bytes.map((byte, i) => (i === report.bytes.length - 1 ? byte ^ 1 : byte));
    ledger.add(plan, 1, changed, Infinity);
    expect(() => ledger.postpone(plan, changed, `Ticket ${ticket}`)).toThrow("which lets in one");
  });

  it("is forgotten with everything else", async () => {
    collector();
    const [store, texts] = [memoryStore(), ["deniable", "deniable.tickets"]];
    const client = await device(store);
    await exchange(client, "https://collector.example", "first");
    await client.ledger.forget();
    expect(texts.map((key) => store.get(key))).toEqual([null, null]);
  });
});

it("has its key in the plan, in one form", async () => {
  expect((await Plan.fromJson(await small())).ticketKey).toBe(null);
  expect((await Plan.fromJson(await ticketed())).ticketKey).toBe(n);
  for (const wrong of [
    null,
    7,
    "",
    "ff",
    n.toUpperCase(),
    `0${n}`,
    `${n}1`,
    n.slice(0, 500),
    `${n.slice(0, -1)}0`,
  ])
    await expect(Plan.fromJson(await ticketed(wrong))).rejects.toThrow(/ticket.key/);
});
