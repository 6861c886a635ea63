/** What the design page writes for what is done on it; what it is told is decided by its server. */

import { beforeAll, expect, it } from "vitest";
import type { Keys } from "../pages/design/draft.js";
import { FakeCollector, openPage, type Page, readStudies, type Studies } from "./pages.js";

let studies: Studies;

beforeAll(async () => void (studies = await readStudies()));

type Questions = Readonly<Record<string, Keys>>;

/** A server of `deniable design` with a file, and what was saved last. */
class Designer extends FakeCollector {
  saved: { study: Keys; questions: Questions } | null = null;
  problems: { text: string; question: number | null; field: string; unfinished: boolean }[] = [];

  constructor(study: Keys, questions: Questions) {
    super([]);
    const listed = Object.entries(questions).map(([name, keys]) => ({ name, keys, was: name }));
    const read = { file: "study.toml", is_new: false, version: "1", people: 1000, study, questions: listed };
    this.route(/^study$/, (_, { method, body }) => {
      if (method !== "PUT") return read;
      const { study, questions } = JSON.parse(String(body)) as {
        study: Keys;
        questions: { name: string; keys: Keys }[];
      };
      this.saved = { study, questions: Object.fromEntries(questions.map(({ name, keys }) => [name, keys])) };
      return { version: "2" };
    });
    this.route(/^forecast$/, () => ({ problems: this.problems, forecast: studies.forecast }));
    this.route(/^preview$/, () => Response.json({ reason: "stale" }, { status: 409 }));
  }
}

const open = (designer: Designer, width = 1280): Promise<Page> => openPage("design", "", designer, { width });

/** The elements of the question with this short name. */
const within = (page: Page, name: string, selector: string): HTMLElement[] => {
  const id = page
    .all("summary strong")
    .find(({ textContent }) => textContent === name)
    ?.id.replace(/-short$/, "");
  return page
    .all(selector)
    .filter((node) => node.id.startsWith(`${id}-`) || node.closest(".asked")?.querySelector(`#${id}-short`));
};
const fill = (page: Page, node: HTMLElement | undefined, value: string): void => {
  (node as HTMLInputElement).value = value;
  for (const kind of ["input", "change"]) node?.dispatchEvent(new page.window.Event(kind, { bubbles: true }));
};
const labelled = (page: Page, name: string, label: string): HTMLElement | undefined => {
  const caption = within(page, name, "label").find(
    ({ textContent }) => textContent?.trim() === label,
  ) as HTMLLabelElement;
  return caption?.control ?? undefined;
};

async function save(page: Page, designer: Designer): Promise<NonNullable<Designer["saved"]>> {
  await page.click("button", "Save");
  await page.find("#session", "Saved in study.toml");
  if (!designer.saved) throw new Error("nothing was saved");
  return designer.saved;
}

it("shows a map as the file has it, and keeps what it does not know", async () => {
  const place = {
    south: 54,
    west: 10,
    north: 54.4,
    east: 10.8,
    rows: 16,
    columns: 20,
    level: 2,
    radius: 4000,
  };
  const beach = { ...place, map: "island.geojson", towns: { Southport: [54.12, 10.55] } };
  const designer = new Designer({}, { beach });
  const page = await open(designer, 390);
  await page.find("p", "This page keeps that, and does not change it");
  expect((labelled(page, "beach", "File of the map") as HTMLInputElement).value).toBe("island.geojson");
  await page.find(
    "[aria-label='Kept as it is in the file'], pre, code",
    "towns = { Southport = [54.12, 10.55] }",
  );
  await page.fill("#title", "Beaches");
  expect(await save(page, designer)).toEqual({ study: { title: "Beaches" }, questions: { beach } });
});

it("reads texts back in each language", async () => {
  const color = { values: ["red", "blue"], labels: { de: ["rot", "blau"] } };
  const page = await open(new Designer({ title: { en: "Town", de: "Stadt" } }, { color }));
  await page.click("summary", "What the survey says");
  await page.fill("#writing", "de");
  expect((labelled(page, "color", "“blue” in German") as HTMLInputElement).value).toBe("blau");
  expect((page.document.getElementById("title") as HTMLInputElement).value).toBe("Stadt");
  await page.find("p", "In English: Town");
});

it("lets pages and conditions follow the names of questions, and adds and removes some", async () => {
  const survey = {
    pages: [
      ["works", "hours"],
      ["media", "mood"],
    ],
  };
  const hours = { low: 0, high: 60, step: 20, only_if: { works: "yes" } };
  const mood = { scale: [1, 7], ends: { en: ["not at all", "very much"], de: ["gar nicht", "sehr"] } };
  const designer = new Designer(
    { epsilon: 4, survey },
    { works: { yes_no: true }, hours, media: { several: ["tv", "web"] }, mood },
  );
  const page = await open(designer, 390);
  await page.find("summary strong", "works");
  fill(page, labelled(page, "works", "Short name"), "job");
  fill(page, labelled(page, "mood", "The lowest is called"), "never");
  await page.click("#add-scale");
  const added = page.all("summary strong").at(-1)?.textContent ?? "";
  for (const [label, text] of [
    ["The lowest is called", "slow"],
    ["The highest is called", "fast"],
    ["Short name", "pace"],
  ] as const)
    fill(page, labelled(page, added, label), text);
  page
    .all("button")
    .find((node) => node.getAttribute("aria-label") === "Remove: media")
    ?.click();
  expect(await save(page, designer)).toEqual({
    study: {
      epsilon: 4,
      survey: {
        pages: [
          ["job", "hours"],
          ["mood", "pace"],
        ],
      },
    },
    questions: {
      job: { yes_no: true },
      hours: { ...hours, only_if: { job: "yes" } },
      mood: { ...mood, ends: { ...mood.ends, en: ["never", "very much"] } },
      pace: { scale: [1, 7], ends: ["slow", "fast"] },
    },
  });
});

it("names every condition that is open, and writes the answers that are ticked", async () => {
  const asked = { values: ["a", "b"], only_if: { works: [] } };
  const designer = new Designer(
    { epsilon: 2 },
    { works: { values: ["full", "part", "no"] }, job: asked, boss: { ...asked } },
  );
  designer.problems = [1, 2].map((question) => ({
    text: "tick one",
    question,
    field: "only_if",
    unfinished: true,
  }));
  const page = await open(designer, 390);
  await page.find(".warnings", "All figures take it that everybody is asked “job”, “boss”.");
  for (const name of ["job", "boss"])
    expect(within(page, name, ".verdict")[0]?.textContent).toBe("to be completed");
  designer.problems = [];
  labelled(page, "job", "full")?.click();
  labelled(page, "job", "part")?.click();
  labelled(page, "boss", "part")?.click();
  fill(page, labelled(page, "job", "Share of people who will answer"), "40 %");
  const { questions } = await save(page, designer);
  expect(questions.job).toEqual({ values: ["a", "b"], only_if: { works: ["full", "part"] }, answered: 0.4 });
  expect(questions.boss).toEqual({ values: ["a", "b"], only_if: { works: "part" } });
});

it("lets a target take the place of tables", async () => {
  const questions = { age: { low: 18, high: 78, step: 12 }, smoker: { values: ["yes", "no"] } };
  const designer = new Designer({ epsilon: 2 }, questions);
  const page = await open(designer);
  await page.click("summary", "Simulated people");
  await page.fill("#target", "smoker");
  await page.find(".joined", "The tables of smoker with each other question");
  await page.lacks("#together");
  expect((await save(page, designer)).study).toEqual({ epsilon: 2, target: "smoker" });
  const both = new Designer({ epsilon: 2, target: "smoker", together: [["age", "smoker"]] }, questions);
  both.problems = [
    {
      text: "a study has tables or a target, not both",
      question: null,
      field: "together",
      unfinished: false,
    },
  ];
  const wrong = await open(both);
  await wrong.find("#together-complaint", "not both");
  await wrong.find(".warnings", "All figures are without tables");
});

it("asks for text and ranges", async () => {
  const designer = new Designer({ epsilon: 4 }, { income: { low: 0, high: 1024, step: 1 } });
  const page = await open(designer);
  await page.find("summary strong", "income");
  within(page, "income", "input[id$=-queries]")[0]?.click();
  await page.click("#add-text");
  const added = page.all("summary strong").at(-1)?.textContent ?? "";
  fill(page, labelled(page, added, "Letters"), "");
  designer.problems = [
    { text: "write the letters that a text may have", question: 1, field: "alphabet", unfinished: true },
  ];
  fill(page, labelled(page, added, "Letters that are kept"), "3");
  await page.find("#session", "write the letters that a text may have");
  designer.problems = [];
  fill(page, labelled(page, added, "Letters"), "a-z");
  const { questions } = await save(page, designer);
  expect(Object.values(questions)).toEqual([
    { low: 0, high: 1024, step: 1, queries: "ranges" },
    { alphabet: "a-z", longest: 3 },
  ]);
});

it("shows importance that stands in a table of all, and forgets that of a question that is known", async () => {
  const [sex, drugs] = [{ values: ["f", "m"] }, { yes_no: true }];
  const designer = new Designer({ epsilon: 1, importance: { sex: 1.75, drugs: 2 } }, { sex, drugs });
  const page = await open(designer);
  await page.find("summary strong", "sex");
  expect((labelled(page, "sex", "Importance") as HTMLInputElement).value).toBe("1.75");
  fill(page, labelled(page, "drugs", "Importance"), "3");
  labelled(page, "sex", "You know it of each person anyway: it is sent as it is, and not hidden")?.click();
  expect((labelled(page, "sex", "Importance") as HTMLInputElement).value).toBe("");
  expect(await save(page, designer)).toEqual({
    study: { epsilon: 1, importance: { drugs: 3 } },
    questions: { sex: { ...sex, known: true }, drugs },
  });
});

it("folds questions to what they are, and opens one at a time", async () => {
  const works = { yes_no: true, question: "Do you work?" };
  const page = await open(new Designer({ epsilon: 4 }, { works, mood: { scale: [1, 7] } }), 390);
  const isOpen = (): boolean[] => page.all("details.asked").map((node) => (node as HTMLDetailsElement).open);
  await page.find("summary", "works");
  expect(isOpen()).toEqual([true, false]);
  expect(page.all(".asked > summary")[0]?.textContent).toContain("Yes or no · Do you work?");
  await page.click(".asked > summary", "mood");
  expect(isOpen()).toEqual([false, true]);
  await page.click("#add-choice");
  expect(isOpen()).toEqual([false, false, true]);
  const [, , added] = page.all(".asked > summary");
  expect(page.document.activeElement?.id).toBe(added?.id.replace("-summary", "-name"));
  await page.click("button", "Remove");
  expect(page.document.activeElement).toBe(page.all(".asked > summary")[1]);
});

it("marks what it shows as old from a change until that is computed", async () => {
  const designer = new Designer(
    { epsilon: 4 },
    { works: { yes_no: true }, age: { low: 0, high: 9, step: 1 } },
  );
  const previews: ((answer: unknown) => void)[] = [];
  designer.route(/^preview$/, () => new Promise((resolve) => previews.push(resolve)));
  const page = await open(designer);
  const state = (selector: string): string => {
    const part = page.all(selector)[0];
    const says = part?.querySelector(":scope > .age")?.textContent;
    return `${part?.getAttribute("aria-busy")} ${says}`;
  };
  const old = "true Before your last change. Computing…";
  await expect.poll(() => state(".figures-of")).toBe("false ");
  await expect.poll(() => previews.length).toBe(1);
  expect(state(".simulated")).toBe("true Computing…");
  const shown = (studies.forecast as { plan: string }).plan;
  previews[0]?.({ plan: shown, people: 1, questions: [], tables: [] });
  for (const part of [".simulated", ".shown"]) await expect.poll(() => state(part)).toBe("false ");
  const waiting: ((answer: unknown) => void)[] = [];
  designer.route(/^forecast$/, () => new Promise((resolve) => waiting.push(resolve)));
  await page.fill("#title", "Another");
  for (const part of [".figures-of", ".simulated", ".shown"]) expect(state(part)).toBe(old);
  expect(page.all(".list.old").length).toBe(1);
  await expect.poll(() => waiting.length).toBe(1);
  waiting[0]?.({ problems: [], forecast: { ...(studies.forecast as object), plan: "another" } });
  await expect.poll(() => state(".figures-of")).toBe("false ");
  expect(state(".simulated")).toBe(old);
  await expect.poll(() => previews.length).toBe(2);
  previews[1]?.({ plan: "another", people: 1, questions: [], tables: [] });
  await expect.poll(() => state(".simulated")).toBe("false ");
  designer.route(/^forecast$/, () => {
    throw new TypeError("no connection");
  });
  await page.fill("#title", "A third");
  await expect
    .poll(() => state(".figures-of"))
    .toBe("false Before your last change. It could not be computed again.");
  expect(page.all(".figures-of.old").length).toBe(1);
});

it("downloads what was saved, with letters for an address", async () => {
  const designer = new Designer(
    { epsilon: 4 },
    { works: { yes_no: true }, age: { low: 0, high: 9, step: 1 } },
  );
  designer.route(/^download$/, () => new Response("zip"));
  const page = await open(designer);
  await page.fill("#title", "Town");
  await page.fill("#people", "20000");
  await page.fill("#url", "https://survey.example");
  expect((page.document.getElementById("letters") as HTMLInputElement).value).toBe("10000");
  await page.fill("#letters", "12");
  await page.click("button", "Download");
  await expect
    .poll(() => page.document.getElementById("status")?.textContent)
    .toBe("study.zip was downloaded.");
  expect(designer.saved?.study).toEqual({ epsilon: 4, title: "Town" });
  const [sent] = designer.posted("download");
  expect(JSON.parse(String(sent?.body))).toMatchObject({
    study: { title: "Town" },
    people: 20000,
    url: "https://survey.example",
    letters: 12,
  });
});

it("does not apply advice to a study that has changed since", async () => {
  const designer = new Designer({ epsilon: 4 }, { works: { yes_no: true } });
  const forecast = structuredClone(studies.forecast) as { precisions: { use: string }[] };
  for (const precision of forecast.precisions) precision.use = "noise";
  designer.route(/^forecast$/, () => ({ problems: [], forecast }));
  const proposal = { change: "ask more", given_up: "time", sentence: "", people_apart: 0, margins: {} };
  designer.route(/^advice$/, () => ({ is_enough: false, summary: "Too few.", proposals: [proposal] }));
  designer.route(/^advice\/apply$/, () => ({ study: {}, questions: [], people: 9, proposal }));
  const page = await open(designer);
  await page.find(".advice li button", "Apply");
  await page.fill("#title", "Just written");
  page.all(".advice li button")[0]?.click();
  await expect.poll(() => page.all(".figures-of")[0]?.getAttribute("aria-busy")).toBe("false");
  expect(designer.posted("advice/apply")).toEqual([]);
  expect((page.document.getElementById("title") as HTMLInputElement).value).toBe("Just written");
});
