/** What the survey loads in groups is what a client loads at once. */

import { describe, expect, it } from "vitest";
import { loadRareKinds } from "../src/plan/rare_groups.js";
import { load } from "../src/plan/rare_kinds.js";

const all = await load('{"kind":"text"}');

describe("groups of rare kinds", () => {
  it("have every kind of a plan in which it occurs", async () => {
    for (const [table, names] of Object.entries({
      mechanisms: Object.keys(all.mechanisms),
      domains: Object.keys(all.domains),
      records: ["faked"],
    })) {
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) {
        const found = await loadRareKinds(`{"kind":"${name}"}`);
        expect(Object.keys(found[table as "mechanisms"])).toContain(name);
      }
    }
    expect(Object.keys((await loadRareKinds('{"weights":[1,2]}')).records)).toEqual(["sample"]);
  });

  it("have the readers of every field that is loaded on demand", async () => {
    const fields = {
      readMaps: '{"maps":{}}',
      readKnown: '{"known":[]}',
      statedMetric: '{"metric":{}}',
      verifiedMetric: '{"kind":"geometric"}',
      counted: '{"unit":"month"}',
      boundGuess: '{"kind":"product"}',
      boundRelated: '{"only_if":{}}',
      checkTables: '{"kind":"product"}',
      guessFactor: '{"kind":"coarse"}',
      checkQuestions: '{"only_if":{}}',
      encodeAnswers: '{"several":"media"}',
    };
    const every: Readonly<Record<string, unknown>> = { ...all };
    const tables = ["mechanisms", "domains", "records"];
    expect(Object.keys(fields).sort()).toEqual(
      Object.keys(all)
        .filter((one) => !tables.includes(one))
        .sort(),
    );
    for (const [name, text] of Object.entries(fields)) {
      const found = await loadRareKinds(text);
      expect(found[name as "readMaps"]).toBe(every[name]);
    }
  });

  it("refuse a field that nothing in the plan needs", async () => {
    const found = await loadRareKinds("{}");
    expect(() => found.readMaps({}, [])).toThrow("nothing in it needs");
    expect(Object.keys({ ...found.mechanisms, ...found.domains, ...found.records })).toEqual([]);
  });
});
