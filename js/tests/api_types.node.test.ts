/** The types of what a collector answers are those of spec/api.json. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const PAGES = join(import.meta.dirname, "../pages");
const { composeTypes } = await import(join(PAGES, "api_types.mjs"));
const api = JSON.parse(readFileSync(join(PAGES, "../../spec/api.json"), "utf8"));

it("are current: node js/pages/build.mjs makes them again", () => {
  expect(composeTypes(api)).toBe(readFileSync(join(PAGES, "kit/api.ts"), "utf8"));
});

it("follow a field that is added, or may be left out", () => {
  const { properties, required } = api.components.schemas.Row;
  properties.tried = { type: "array", items: { anyOf: [{ type: "integer" }, { type: "null" }] } };
  properties.sure = { description: "Whether it is.", type: "boolean" };
  required.push("sure");
  const text = composeTypes(api);
  expect(text).toContain("  readonly tried?: readonly (number | null)[];\n");
  expect(text).toContain("  /** Whether it is. */\n  readonly sure: boolean;\n");
});
