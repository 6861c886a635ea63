/** The store of a real browser, shared by the pages of a site. */

import { expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { browserStore, Ledger } from "../src/client/ledger.js";
import { small } from "./helpers.js";

it("remembers across pages, and lets one of them answer", async () => {
  localStorage.clear();
  const text = await small();
  const pages = await Promise.all(
    Array.from({ length: 10 }, () => Client.open(text, { ledger: new Ledger(browserStore()) })),
  );
  const reports = await Promise.all(pages.map((page) => page.report({ color: "red" })));
  expect(new Set(reports.map((report) => report.id)).size).toBe(1);
  const ledger = new Ledger(browserStore());
  expect(ledger.lifetime()).toMatchObject({ studies: 1, reports: 1 });
  expect(Object.values({ ...localStorage }).join()).not.toContain("red");
  ledger.cap = 3;
  await ledger.forget();
  expect(localStorage.length).toBe(0);
});

it("forgets only when no page is making a report", async () => {
  const ledger = new Ledger(browserStore());
  await (await Client.open(await small(), { ledger })).report({ color: "red" });
  let gone: Promise<void> | undefined;
  await navigator.locks.request("deniable", async () => {
    gone = new Ledger(browserStore()).forget();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ledger.entries.length).toBe(1);
  });
  await gone;
  expect(localStorage.getItem("deniable")).toBe(null);
});
