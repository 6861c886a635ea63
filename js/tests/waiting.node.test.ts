/** Reports that wait on a device that is offline, for a real collector that is stopped and started. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { Client } from "../src/client/client.js";
import { Ledger, memoryStore } from "../src/client/ledger.js";
import type { Document } from "./helpers.js";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const own = here("../../.venv/bin/python");
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
const found = spawnSync(python, ["-c", "import deniable.collect"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "deniable-"));
const vectors = JSON.parse(readFileSync(here("../../spec/vectors/rounds.json"), "utf8")) as Document[];
const { plan } = vectors.find(({ name }) => name === "two rounds") as Document; // of three
const TITLE = JSON.parse(plan).title;
const ANSWERS = { city: "city 1" };

if (!found && process.env.CI === "true")
  throw new Error("the Python library is not installed; say where its Python is in PYTHON");

/** A collector, and its address. */
async function start(port: string, ...options: string[]): Promise<{ url: string; child: ChildProcess }> {
  const serve = ["-m", "deniable.cli", "serve", "plan.json", "--port", port, ...options];
  const child = spawn(python, serve, { cwd: folder });
  let said = "";
  child.stdout.on("data", (text) => (said += text));
  await vi.waitFor(() => expect(said).toContain("dashboard"), { timeout: 30_000, interval: 50 });
  return { url: /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] as string, child };
}

const stop = (child: ChildProcess): Promise<unknown> =>
  new Promise((done) => child.on("exit", done) && child.kill());

afterAll(() => rmSync(folder, { recursive: true }));

it.skipIf(!found)(
  "wait in the ledger, arrive once, and are lost with their round",
  async () => {
    writeFileSync(join(folder, "plan.json"), `${plan}\n`);
    const { url, child } = await start("0");
    await stop(child);
    const store = memoryStore();
    const open = (): Promise<Client> => Client.open(plan, { ledger: new Ledger(store), cap: 1000 });
    const client = await open();
    for (const round of [1, 2, 3]) await client.postpone(await client.report(ANSWERS, { round }));
    const quickly = { wait: 0, attempts: 1 };
    expect(await client.sendWaiting(url, quickly)).toEqual({ arrived: 0, waiting: 3, lost: [] });
    const { child: second } = await start(new URL(url).port, "--round", "2");
    const parts = [await (await open()).sendWaiting(url, { ...quickly, most: 1 })];
    parts.push(await (await open()).sendWaiting(url, quickly));
    expect(parts.reduce((sum, { arrived }) => sum + arrived, 0)).toBe(2);
    expect(parts.flatMap(({ lost }) => lost)).toEqual([
      `Round 3 of '${TITLE}' is lost: the collector takes no more reports of it.`,
    ]);
    expect(parts.at(-1)?.waiting).toBe(0);
    const later = await open();
    expect(await later.send(url, await later.report(ANSWERS, { round: 2 }))).toBe("counted before");
    await stop(second);
  },
  90_000,
);

it("drops what is too old or too many, and says so", async () => {
  const store = memoryStore();
  const open = (): Promise<Client> => Client.open(plan, { ledger: new Ledger(store), cap: 1000 });
  const client = await open();
  await client.postpone(await client.report(ANSWERS, { round: 1 }));
  vi.useFakeTimers({ now: Date.now() + 31 * 86_400_000, toFake: ["Date"] });
  const late = await open();
  const delivery = await late.sendWaiting("http://127.0.0.1:9", { wait: 0 });
  expect(delivery.lost).toEqual([`Round 1 of '${TITLE}' is lost: its report waited for more than 30 days.`]);
  vi.useRealTimers();
  const other = JSON.parse(store.get("deniable") as string);
  const entries = Array.from({ length: 33 }, (_, i) => ({
    ...other.entries[0],
    round: i + 1,
    report: `${i}`.padStart(2, "0"),
    lost: undefined,
    since: Math.floor(Date.now() / 86_400_000) - (i === 7 ? 3 : 0),
  }));
  store.set("deniable", JSON.stringify({ ...other, entries }));
  const ledger = new Ledger(store);
  expect(ledger.listWaiting(client.plan)).toHaveLength(32);
  expect(ledger.lost).toEqual([
    `Round 8 of '${TITLE}' is lost: more than 32 reports waited, and its report was the oldest.`,
  ]);
});

/** A network: what is asked, and what `answer` gives; null where the answer is lost. */
function network(answer: (url: string, body: Uint8Array) => Response | null): [string, string, string][] {
  const asked: [string, string, string][] = [];
  vi.stubGlobal("fetch", async (url: string, { body, headers }: RequestInit) => {
    const bytes = body as Uint8Array;
    const { authorization = "" } = headers as Record<string, string>;
    asked.push([url, Buffer.from(bytes).toString("hex"), authorization]);
    const response = answer(url, bytes);
    if (!response) throw new TypeError("the answer was lost");
    return response;
  });
  return asked;
}

const said = (body: object, status = 200): Response => new Response(JSON.stringify(body), { status });
const URL_OF_NOBODY = "http://127.0.0.1:9";
const quickly = { wait: 0, attempts: 1 };

async function waiting(store = memoryStore(), text = plan): Promise<Client> {
  const client = await Client.open(text, { ledger: new Ledger(store), cap: 1000 });
  for (const round of [3, 1, 2]) await client.postpone(await client.report(ANSWERS, { round }));
  return client;
}

it("leave together in one order, and a lost answer neither loses nor doubles one", async () => {
  const store = memoryStore();
  const client = await waiting(store);
  const lost = network(() => null);
  expect(await client.sendWaiting(URL_OF_NOBODY, quickly)).toEqual({ arrived: 0, waiting: 3, lost: [] });
  const again = network(() => said({ outcomes: ["counted before", "closed", "invitation"] }));
  const later = await Client.open(plan, { ledger: new Ledger(store), cap: 1000 });
  expect((await later.sendWaiting(URL_OF_NOBODY, quickly)).arrived).toBe(1);
  expect(again[0]).toEqual(lost[0]);
  expect(again.map(([url]) => url.split("/").at(-1))).toEqual(["batch", "reports"]);
  expect(later.ledger.lost).toEqual([
    `Round 2 of '${TITLE}' is lost: the collector takes no more reports of it.`,
  ]);
  expect(later.ledger.listWaiting(later.plan)).toHaveLength(1);
  const body = Buffer.from(lost[0]?.[1] as string, "hex");
  const size = 4 + body.readUInt32LE(0);
  const reports = [0, 1, 2].map((i) => body.subarray(i * size + 4, (i + 1) * size));
  expect(body.length).toBe(3 * size);
  expect(reports.map((report) => report[9])).toEqual([1, 2, 3]); // in the order of their bytes
});

it("leave one by one where that is asked, and where no batch is taken", async () => {
  const client = await waiting();
  const apart = network(() => said({ outcome: "counted" }, 201));
  expect((await client.sendWaiting(URL_OF_NOBODY, { ...quickly, apart: true })).arrived).toBe(3);
  expect(apart.map(([url]) => url)).toEqual(Array(3).fill(`${URL_OF_NOBODY}/reports`));
  const other = await waiting();
  const gateway = network((url) =>
    url.endsWith("batch") ? new Response("", { status: 404 }) : said({ outcome: "counted" }, 201),
  );
  expect((await other.sendWaiting(URL_OF_NOBODY, quickly)).arrived).toBe(3);
  expect(gateway).toHaveLength(4);
});

it("wait with an invitation or a ticket, which lets in no other", async () => {
  const client = await waiting();
  const [first, second] = [
    await client.report(ANSWERS, { round: 1 }),
    await client.report(ANSWERS, { round: 2 }),
  ];
  await client.postpone(first, { invitation: "first" });
  await expect(client.postpone(second, { invitation: "first" })).rejects.toThrow("which lets in one");
  const asked = network((url) =>
    said(url.endsWith("batch") ? { outcomes: ["counted", "counted"] } : { outcome: "counted" }),
  );
  expect((await client.sendWaiting(URL_OF_NOBODY, quickly)).arrived).toBe(3);
  expect(asked.map(([url, , token]) => [url.split("/").at(-1), token])).toEqual([
    ["batch", ""],
    ["reports", "Invitation first"],
  ]);
  vi.unstubAllGlobals();
});

it("refuses what cannot wait or be sent, whether or not anything waits", async () => {
  const forgetful = await Client.open(plan, { secret: "00".repeat(32), planCap: 1000 });
  const report = await forgetful.report(ANSWERS, { round: 1 });
  const missing = "reports wait in a ledger, and this client has none";
  await expect(forgetful.postpone(report)).rejects.toThrow(missing);
  await expect(forgetful.sendWaiting(URL_OF_NOBODY, quickly)).rejects.toThrow(missing);
  const asked = network(() => null);
  const sending: [string, string, unknown[]][] = [
    [
      "url",
      "a collector's address is like http://localhost:8000 or https://example.org",
      [null, "", "notaurl", "ftp://x.org", "http://", "http://a b", "http://a@x.org", "http://x.org/#plan=1"],
    ],
    ["attempts", "attempts must be an integer of at least 1", [0, -1, 1.5, "1", null]],
    ["timeout", "timeout is a number of milliseconds from 1 to 2147483647", [0, -1, Number.NaN, "1"]],
  ];
  const leaving: typeof sending = [
    ["wait", "wait is a number of milliseconds from 0 to 2147483647", [-1, "1", Number.NaN, 2 ** 31]],
    ["most", "most must be an integer of at least 1", [0, 1.5, "1", Infinity]],
  ];
  const empty = await Client.open(plan, { ledger: new Ledger(), cap: 1000 });
  for (const client of [empty, await waiting()]) {
    for (const [name, sentence, values] of [...sending, ...leaving])
      for (const value of values) {
        const { url = URL_OF_NOBODY, ...options } = { ...quickly, [name]: value } as Document;
        const refused = `${sentence}, got ${typeof value === "number" ? value : JSON.stringify(value)}`;
        await expect(client.sendWaiting(url, options), refused).rejects.toThrow(refused);
        if (sending.some(([other]) => other === name))
          await expect(client.send(url, report, options), refused).rejects.toThrow(refused);
      }
    for (const wrong of ["x", null, { city: "city 1" }] as unknown[])
      for (const give of [client.postpone(wrong as never), client.send(URL_OF_NOBODY, wrong as never)])
        await expect(give).rejects.toThrow(/^what is sent is a report.*got (string|null|object)$/);
  }
  expect(asked).toEqual([]);
  vi.unstubAllGlobals();
});
