import { expect, it } from "vitest";
import * as everything from "../src/index.js";
import * as page from "../src/page.js";

it("has these public names, and no way to choose the words of a report", () => {
  expect(Object.keys(everything).sort()).toEqual([
    "AboveCap",
    "Categories",
    "Client",
    "DeniableError",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidReport",
    "InvalidValue",
    "Ledger",
    "NotSent",
    "Plan",
    "Range",
    "browserStore",
    "decode",
    "fromBytes",
    "fromJson",
    "memoryStore",
  ]);
  for (const name of Object.keys(page)) expect(Object.keys(everything)).toContain(name);
});
