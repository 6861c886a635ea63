/** What the design page writes: numbers that are promised, and parts of a study's file. */

import { expect, it } from "vitest";
import {
  type Draft,
  howOften,
  importanceOf,
  inToml,
  makeQuestion,
  rename,
  written,
} from "../pages/design/draft.js";
import { atMost, type Precision, verdict } from "../pages/design/figures.js";
import { listSteps } from "../pages/design/next.js";

it("rounds the factor that it promises up", () => {
  expect([Math.E, 20.0855, 1234.01].map(atMost)).toEqual(["2.72", "20.1", "1,240"]);
});

it("says where nothing will be known, by the figure and not by its words", () => {
  const words = (what: string, known: boolean, margin: string): string =>
    verdict({ what, known, known_to_within: margin, word: "rough" } as Precision);
  expect(words("share", true, "3 points")).toBe("± 3 points: rough");
  expect(words("mean", false, "the whole range")).toBe("nothing is known: rough");
  expect(words("found", true, "from 0.8 %")).toBe("found from 0.8 %");
  expect(words("found", false, "no share is enough")).toBe("found at most half of the time");
});

it("writes keys as the file has them, in quotes where they need these", () => {
  expect(inToml({ plain_key: 1, "two words": [true, "a"] })).toBe(
    '{ plain_key = 1, "two words" = [true, "a"] }',
  );
});

it("names the commands of this study, with letters only where they lead somewhere", () => {
  const draft = (known: boolean): Draft => ({
    study: {},
    questions: [makeQuestion("sex", { values: ["f", "m"], known }, null, false)],
    people: 900,
  });
  const commands = (known: boolean, url: string): string[] =>
    listSteps({ file: "town.toml", draft: draft(known) }, url).flatMap(([, ...lines]) => lines);
  expect(commands(false, "")).toEqual([
    "unzip town.zip && cd town",
    "deniable serve plan.json",
    "deniable estimate plan.json --from sqlite:///reports.db",
  ]);
  expect(commands(true, "https://survey.example").slice(1)).toEqual([
    "deniable tokens plan.json --register invitations.csv",
    "deniable serve plan.json --invited --url https://survey.example",
    "deniable estimate plan.json --from sqlite:///reports.db",
    "deniable estimate plan.json --from sqlite:///reports.db --weights weights.csv",
  ]);
});

it("writes epsilon for what is asked once, beside that of what is asked again", () => {
  const repeat = { epsilon_first: 0.5, epsilon_forever: 1 };
  const once = makeQuestion("smokes", { yes_no: true }, null, true);
  const again = makeQuestion("mood", { yes_no: true, repeat: 4 }, null, true);
  const known = makeQuestion("arm", { values: ["A", "B"], known: true }, null, true);
  const budgetOf = (...questions: (typeof once)[]): unknown[] => {
    const draft = { study: { repeat }, questions, people: 1 };
    return [howOften(draft), written(draft, 2).study];
  };
  expect(budgetOf(once, again)).toEqual(["some", { repeat, epsilon: 2 }]);
  expect(budgetOf(known, again)).toEqual(["some", { repeat }]);
  expect(budgetOf(once)).toEqual(["again", { repeat }]);
});

it("keeps importance where the file states it, under the names that questions have now", () => {
  const [sex, drugs] = ["sex", "drugs"].map((name) => makeQuestion(name, { importance: 2 }, name, false));
  const study = { importance: { sex: 3, "sex x age": 4, "age x drugs": 5 } };
  const draft = { study, questions: [sex, drugs], people: 1 } as Draft;
  const read = (question: typeof sex): unknown => {
    const [keys, key] = importanceOf(draft, question as NonNullable<typeof sex>);
    return keys[key];
  };
  expect([read(sex), read(drugs)]).toEqual([3, 2]);
  (sex as NonNullable<typeof sex>).name = "gender";
  rename(draft, "sex", "gender");
  rename(draft, "age", null);
  expect(draft.study.importance).toEqual({ gender: 3 });
  expect(read(sex)).toBe(3);
});
