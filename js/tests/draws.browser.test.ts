/** Answers are kept as often as a plan says, by the words of a browser's operating system. */

import { expect, it } from "vitest";
import { Client } from "../src/client/client.js";
import { Plan } from "../src/plan/plan.js";
import { FRESH, small } from "./helpers.js";

it("keeps the true answer with the probability of the plan", async () => {
  const plan = await Plan.fromJson(await small());
  let kept = 0;
  for (let i = 0; i < 4000; i++)
    kept += Number((await new Client(plan, FRESH).report({ color: "green" })).bytes[29] === 1);
  // these devices have no seed: 6.5 standard deviations are exceeded once in 10^10 runs
  expect(Math.abs(kept - 2400)).toBeLessThan(6.5 * Math.sqrt(4000 * 0.6 * 0.4));
});
