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
