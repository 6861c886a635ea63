import { describe, expect, it } from "vitest";
import vectors from "../../spec/vectors/codes.json" with { type: "json" };
import { type Code, deriveInvitation, findPlans, readCode, tagPlans } from "../src/client/codes.js";

describe("codes", () => {
  for (const { name, typed, refused, tag, plans = [], invitations } of vectors as {
    name: string;
    typed: string;
    refused?: string;
    tag?: number;
    plans?: string[];
    invitations?: string[];
  }[])
    it(name, async () => {
      const found = readCode(typed);
      if (refused) return expect(found).toBe(refused);
      expect((found as Code).tag).toBe(tag);
      expect(tagPlans(plans)).toBe(tag);
      const made = plans.map((plan) => deriveInvitation(found as Code, plan));
      expect(await Promise.all(made)).toEqual(invitations);
    });
});

type Rule = (
  letter: readonly string[],
  plans: readonly string[],
  shown: readonly string[],
) => string[] | null;

const rule: Rule = (letter, plans, shown) => findPlans({ tag: tagPlans(letter) }, plans, shown);

/** A rule that is wrong too often: ten bits name any set of the first plans, and one with the plan that is shown comes first. */
const tenBits: Rule = (letter, plans, shown) => {
  const short = (ids: readonly string[]): number => tagPlans(ids) >> 10;
  let sets: string[][] = [[]];
  for (const plan of plans)
    if (sets.length <= 2048) sets = [...sets, ...sets.map((some) => [...some, plan])];
    else sets.push([plan]);
  const fitting = sets.filter((some) => some.length && short(some) === short(letter));
  fitting.sort((one, other) => one.length - other.length);
  return fitting.find((some) => shown.every((plan) => some.includes(plan))) ?? fitting[0] ?? null;
};

type Setting = Record<"plans" | "size" | "shown" | "repeats", number>;

/** How many letters of so many collectors lead to other plans; ids are the same at each run. */
function countWrong(find: Rule, { plans, size, shown, repeats }: Setting): number {
  let state = 1;
  const draw = (): string => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0).toString(16).padStart(8, "0");
  };
  let wrong = 0;
  for (let one = 0; one < repeats; one++) {
    const ids = Array.from({ length: plans }, draw);
    const letter = ids.slice(0, size);
    const found = find(letter, ids.toSorted(), ids.slice(plans - shown)); // shown is none of the letter
    if (found?.toSorted().join() !== letter.toSorted().join()) wrong++;
  }
  return wrong;
}

describe("the plans of a code among all of a collector", () => {
  // Wrong at a rate of at most 7.5e-4 each (MOST_PLANS in tickets/codes.py): of 200, more than 4 in less than 1 of 10^6 choices of ids.
  for (const [name, given] of Object.entries({
    "one plan, where another of 20 is shown": { plans: 20, size: 1, shown: 1 },
    "two of 20 plans, on the list": { plans: 20, size: 2, shown: 0 },
    "three of 20 plans, on the list": { plans: 20, size: 3, shown: 0 },
  }))
    it(name, () => expect(countWrong(rule, { ...given, repeats: 200 })).toBeLessThanOrEqual(4));

  it("would be others by ten bits", () => {
    expect(countWrong(tenBits, { plans: 12, size: 1, shown: 1, repeats: 20 })).toBeGreaterThan(4);
    expect(countWrong(tenBits, { plans: 20, size: 2, shown: 0, repeats: 20 })).toBeGreaterThan(4);
  });

  it("are those that are shown, where two sets fit", () => {
    const [one, other, third] = ["00001", "00002", "00003"].map((start) => start.padEnd(64, "0")) as [
      string,
      string,
      string,
    ];
    const code = { tag: tagPlans([third]) };
    expect(findPlans(code, [one, other, third], [])).toEqual([third]);
    expect(findPlans(code, [one, other, third], [other])).toEqual([one, other]);
    expect(findPlans(code, [one, other], [])).toEqual([one, other]);
    expect(findPlans(code, [one], [])).toBeNull();
  });
});
