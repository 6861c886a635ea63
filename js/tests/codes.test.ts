import { describe, expect, it } from "vitest";
import vectors from "../../spec/vectors/codes.json" with { type: "json" };
import { type Code, deriveInvitation, readCode, tagPlans } from "../src/codes.js";

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
