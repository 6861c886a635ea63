/** Answers to questions that are several attributes, or apply only to some. */

import { expect, it } from "vitest";
import near from "../../spec/vectors/near.json";
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

it("takes as many options as a question asks for, and no other number", async () => {
  const texts = new Set(near.map(({ plan }) => plan));
  const limited = (await Promise.all([...texts].map((text) => Plan.fromJson(text).catch(() => null)))).filter(
    (plan) => plan?.attributes[0]?.several === "dishes" && plan.attributes.length === 10,
  );
  expect(limited.map((plan) => plan?.attributes[0]?.allowed)).toEqual([
    [3, 3],
    [3, 3],
  ]); // by near sets, and by sampling
  for (const plan of limited) {
    expect(
      plan?.encode({ dishes: ["dish 1", "dish 4", "dish 7"] }).filter((code) => code === 0),
    ).toHaveLength(3);
    for (const dishes of [
      [],
      ["dish 1", "dish 4"],
      ["dish 0", "dish 1", "dish 2", "dish 3"],
      "none of these",
    ])
      expect(() => plan?.encode({ dishes })).toThrow("takes exactly 3 options");
  }
});
