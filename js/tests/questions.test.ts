/** Answers to questions that are several attributes, or apply only to some. */

import { expect, it } from "vitest";
import vectors from "../../spec/vectors/questions.json";
import { DeniableError } from "../src/errors.js";
import { Plan } from "../src/plan/plan.js";

const person = { works: "yes", hours: 45, media: ["tv"], mood: 5 };

it("refuses answers that contradict each other", async () => {
  const plan = await Plan.fromJson(vectors[0]?.plan as string);
  expect(plan.encode(person).length).toBe(plan.attributes.length);
  for (const changed of [
    { works: "no" },
    { hours: "not applicable" },
    { media: ["radio"] },
    { media: 3 },
    { media: null },
    { "media: tv": "yes" },
    { mood: 4.5 },
    { mood: 6 },
    { moved: "2025-01" },
    { media: ["web"], moved: "2025-03" },
    { media: ["web"], moved: "2025-13" },
    { media: ["web"], moved: 2025 },
    { media: ["web"] },
    { medium: "tv" },
  ])
    expect(() => plan.encode({ ...person, ...changed }), JSON.stringify(changed)).toThrow(DeniableError);
});

it("takes a list of options, a text of them, or each by itself", async () => {
  const plan = await Plan.fromJson(vectors[0]?.plan as string);
  const codes = plan.encode({ ...person, media: ["tv"] });
  expect(plan.encode({ ...person, media: " tv " })).toEqual(codes);
  const { media: _, ...others } = person;
  expect(plan.encode({ ...others, "media: tv": "yes", "media: web": "no" })).toEqual(codes);
  expect(plan.encode({ ...person, media: "none of these" })).toEqual(plan.encode({ ...person, media: [] }));
});
