/** What the dashboard draws and says of answers that a collector could give. */

import { beforeAll, expect, it } from "vitest";
import type { Estimates, Row } from "../pages/kit/api.js";
import {
  FakeCollector,
  idOf,
  openPage,
  openRound,
  type Page,
  readStudies,
  refusal,
  type Studies,
} from "./pages.js";

let studies: Studies;

beforeAll(async () => void (studies = await readStudies()));

type Write<T> = { -readonly [K in keyof T]: T[K] };

/** A collector with a study, whose estimates are changed before they are answered. */
function collecting(
  name: string,
  change: (row: Write<Row>, i: number) => void = () => undefined,
): FakeCollector {
  const plan = studies.plans[name] as string;
  const collector = new FakeCollector([plan]);
  const estimates = (path: string): Estimates => {
    const query = new URLSearchParams(path.split("?")[1]);
    const given = studies.estimates[name];
    const copy = structuredClone(query.get("smooth") ? given.smooth : given[query.get("level") ?? ""]);
    copy.rows.forEach(change);
    return copy;
  };
  collector.route(/^access$/, () => ({ name: "main", role: "operator" }));
  collector.route(/^actions$/, () => ({ actions: [] }));
  collector.route(/^metrics$/, () => new Response(metrics(idOf(plan))));
  collector.route(/\/health\?/, () => refusal(404, "path"));
  collector.route(/\/estimates\?/, estimates);
  collector.route(/\/history\?/, (path) => {
    const now = estimates(path);
    return { snapshots: [{ ...now, n: 100 }, now] };
  });
  return collector;
}

const metrics = (id: string, more = ""): string =>
  `deniable_reports_total{outcome="counted"} 300\ndeniable_reports{plan="${id}",round="1"} 300\n${more}`;

const open = (collector: FakeCollector, width = 1200): Promise<Page> =>
  openPage("dashboard", `#plan=${idOf(collector.plans[0] as string)}&token=a-token`, collector, { width });
const check = async (page: Page, value: string): Promise<void> => {
  if (!/^(charts|tables)$/.test(value) && !page.all(".choices[open]").length)
    await page.click(".choices > summary");
  await page.click(`.switch input[value=${value}]`);
};
const look = (page: Page): void =>
  void page.document.dispatchEvent(new page.window.Event("visibilitychange"));
const wordsOf = (nodes: Iterable<Element>): (string | undefined)[] =>
  Array.from(nodes, ({ textContent }) => textContent?.trim());

it("is for whoever has a token, which stays out of sight", async () => {
  const collector = collecting("drinks");
  collector.route(/^access$/, (_, { headers }) =>
    new Headers(headers).get("authorization") === "Bearer right"
      ? { name: "main", role: "operator" }
      : refusal(401, "token"),
  );
  const page = await openPage("dashboard", "", collector);
  await page.fill("#token", "wrong");
  await page.click("button", "Show results");
  await page.find(
    "[role=alert]",
    "This token is not valid, or not any more. If it is yours alone, ask an operator for",
  );
  await page.fill("#token", "right");
  await page.click("button", "Show results");
  await page.find("h1", "Drinks");
  await page.click("button", "Sign out");
  await page.find("#token");
  expect(JSON.stringify({ ...localStorage, ...sessionStorage })).not.toContain("right");
  const other = await openPage("dashboard", "#token=right", collector);
  await other.find("h1", "Drinks");
  expect(other.window.location.href).not.toContain("right");
});

it("says in plain words that an answer does not end in time", async () => {
  const collector = collecting("drinks");
  collector.route(/^plans$/, () => {
    const late = new DOMException("late", "TimeoutError");
    return new Response(new ReadableStream({ start: (body) => body.error(late) }));
  });
  const page = await open(collector);
  await page.find("#trouble", "The collector cannot be reached");
  expect(page.problems).toEqual([]);
});

it("distinguishes refused reports from other refusals", async () => {
  const collector = collecting("drinks");
  const id = idOf(collector.plans[0] as string);
  const refused = { path: 1, few: 1, malformed: 2, rate: 3 };
  const lines = Object.entries(refused).map(([why, n]) => `deniable_refused_total{reason="${why}"} ${n}`);
  lines.push(`deniable_invitations_unused{plan="${id}"} 412`);
  collector.route(/^metrics$/, () => new Response(metrics(id, `${lines.join("\n")}\n`)));
  const page = await open(collector);
  await page.click("summary", /^Invitations not used yet: 412$/);
  await page.find("code", "deniable tokens plan.json --reminders invitations.csv --letters reminders.html");
  await page.find("summary", /^Other requests refused: 2$/);
  await page.find("summary", /^Asked to come again later: 3$/);
  const figures = wordsOf((await page.find(".panel", "The collector")).querySelectorAll("dt, dd"));
  expect(figures[figures.indexOf("Reports refused") + 1]).toBe("2");
  expect(figures[figures.indexOf("cannot be read") + 1]).toBe("2");
});

it("does without counters that it may not read", async () => {
  for (const status of [403, 200]) {
    const collector = collecting("drinks");
    collector.route(/^metrics$/, () => new Response("<html>not for you</html>", { status }));
    const page = await open(collector);
    await page.find("svg[aria-label='Estimates of Coffee'], [role=img]");
    await page.find(".fact", /Reports.*300|300.*Reports/s);
    await page.find(".rounds", "300");
    await page.find("p", "This page cannot read its counters.");
    expect(page.document.getElementById("trouble")?.textContent).toBe("");
  }
});

it("shows what is chosen: tables or charts, and the confidence", async () => {
  const page = await open(collecting("drinks"));
  await check(page, "tables");
  const rows = (): (string | undefined)[] =>
    wordsOf(page.all(".attribute table")[0]?.querySelectorAll("tr") ?? []);
  const share = (level: string, end: "share" | "high"): string =>
    `${(100 * studies.estimates.drinks[level].rows[0][end]).toFixed(2)} %`;
  await page.find(".attribute th", "<b>many");
  expect(rows()[1]).toContain(share("0.95", "share"));
  await page.fill("#level", "0.99");
  await expect.poll(() => rows()[1]).toContain(share("0.99", "high"));
  await check(page, "charts");
  await page.find(".attribute [role=img]");
  const plan = (await page.find("a", "Read the plan")) as HTMLAnchorElement;
  expect(plan.getAttribute("href")).toBe(`plans/${idOf(studies.plans.drinks as string)}`);
  await page.find("h2", "What is given away");
});

it("says how far a mean of bins may be off", async () => {
  const collector = collecting("bins");
  const page = await open(collector);
  const region = (name: string): string => `section[aria-label=${name}]`;
  for (const [name, within] of [
    ["Age", "2.5"],
    ["Hours", "2"],
  ] as const)
    await page.find(
      `${region(name)} .center`,
      new RegExp(
        `^Mean .* to .*\\), and up to ${within} more either way, since answers are counted in bins$`,
      ),
    );
  const income = await page.find(`${region("Income")} .center`, /^Mean .* to [\d,]+\)$/);
  await page.find(`${region("Income")} .reported`, /^300 reports$/);
  await page.fill("#level", "0.99");
  await expect
    .poll(() => page.all(`${region("Income")} .center`)[0]?.textContent)
    .not.toBe(income.textContent);
  await page.find(`${region("Age")} h3`, "The mean with more reports");
  await page.find(`${region("Hours")} h3`, /^With more reports$/);
  expect(page.all(`${region("Hours")} .steps .small`).length).toBe(6); // few bins: shares are followed
  await check(page, "tables");
  await page.find(`${region("Age")} .center`, "up to 2.5 more either way");
});

it("has no minus before what is rounded to zero", async () => {
  const page = await open(
    collecting("drinks", (row, i) => {
      if (i === 0) Object.assign(row, { unbiased: -1e-6, unbiased_low: -1e-6, unbiased_high: 0.01, n: 200 });
      if (i === 1) Object.assign(row, { unbiased: -0.012, unbiased_low: -0.1, unbiased_high: 0.01, n: 200 });
    }),
  );
  await check(page, "tables");
  await check(page, "unbiased");
  await page.find("td", "\u22121.20 %");
  const [, first, second] = page.all(".attribute table")[0]?.querySelectorAll("tr") ?? [];
  expect(wordsOf(first?.querySelectorAll("td") ?? [])).toEqual(["0.00 %", "0.00 %", "1.00 %", "0"]);
  expect(wordsOf(second?.querySelectorAll("td") ?? [])).toEqual([
    "\u22121.20 %",
    "\u221210.00 %",
    "1.00 %",
    "\u22122",
  ]);
});

it("gives a border to cells whose intervals are above 0 all at once, and clips what is too wide", async () => {
  const lows: Record<number, [number, number]> = { 10: [0.01, -0.01], 20: [0.02, 0.01], 30: [-0.01, -0.02] };
  const collector = collecting("town", (row) => {
    if (row.attribute !== "Home") return;
    const cells = studies.estimates.town["0.95"].rows.filter((each: Row) => each.attribute === "Home");
    const code = cells.findIndex((each: Row) => each.value === row.value);
    [row.unbiased_low, row.low_together] = lows[code] ?? [-0.1, -0.1];
    row.unbiased = 1 / 80;
  });
  const page = await open(collector);
  await page.find("section[aria-label=Age] .steps path");
  const bands = page.all("section[aria-label=Age] .steps path");
  expect(bands.length).toBeGreaterThanOrEqual(2); // with few reports an interval is wider than any scale
  expect(bands.every((path) => path.closest("[clip-path]"))).toBe(true);
  await check(page, "unbiased");
  await page.find("figcaption", "With 95 % confidence, the cell with a border is above 0:");
  expect(page.all(".map .cell.sure").length).toBe(1);
  expect(page.all(".map .cell")[0]?.getAttribute("fill-opacity")).toBe("0.500"); // even shares are not the darkest
  for (const code of [10, 20, 30]) delete lows[code];
  await page.fill("#level", "0.99");
  await page.find(
    "figcaption",
    "With 99 % confidence for all 80 cells at once, no cell is certainly above 0 yet.",
  );
  expect(page.all(".map .cell.sure").length).toBe(0);
});

it("shows intervals by their ends, and no line crosses its words", async () => {
  const page = await open(collecting("drinks"));
  const [row] = studies.estimates.drinks["0.95"].rows;
  const [share, low, high] = [row.share, row.low, row.high].map((each) => (100 * each).toFixed(1));
  await page.find("[role=img]", `${share} % (${low} to ${high})`);
  expect(page.document.querySelector("main")?.textContent).not.toContain("±");
  await page.find(".attribute .legend", "95 % interval");
  await page.lacks(".choices > summary", "unbiased");
  await check(page, "unbiased");
  await page.find(".note", "can lie outside 0 to 100 %");
  await page.find(".choices > summary", "More: unbiased shares");
  const cells = page
    .all(".rounds th, .rounds td")
    .map((each) => page.window.getComputedStyle(each).textAlign);
  expect(new Set(cells)).toEqual(new Set(["left"]));
  for (const width of [1280, 390]) {
    const drawn = await open(collecting("drinks"), width);
    const chart = (await drawn.find("[role=img]", "none")) as Element;
    const boxes = (selector: string): DOMRect[] =>
      Array.from(chart.querySelectorAll(selector), (each) => each.getBoundingClientRect());
    const [words, lines] = [boxes("text"), boxes("line, circle, rect:not(clipPath rect)")];
    expect(words.length).toBeGreaterThan(8);
    expect(lines.length).toBeGreaterThan(16);
    const meet = (a: DOMRect, b: DOMRect): boolean =>
      Math.min(a.right, b.right) >= Math.max(a.left, b.left) &&
      Math.min(a.bottom, b.bottom) >= Math.max(a.top, b.top);
    expect(words.filter((word) => lines.some((line) => meet(word, line)))).toEqual([]);
    expect(drawn.document.documentElement.scrollWidth).toBeLessThanOrEqual(width);
    await drawn.click(".downloads summary");
    const menu = (await drawn.find(".downloads > div")).getBoundingClientRect();
    expect(menu.left).toBeGreaterThanOrEqual(0);
    expect(menu.right).toBeLessThanOrEqual(width);
  }
});

it("shows a question on several levels in one panel, and the share of any range", async () => {
  const collector = collecting("income");
  collector.route(/\/range\?/, (path) => {
    const query = new URLSearchParams(path.split("?")[1]);
    const range = `${query.get("low")} to under ${query.get("high")}`;
    if (query.get("high") === "9.5") return refusal(400, "parameter", "9.5 is not an edge of the bins.");
    return {
      range,
      share: 0.5,
      low: 0.4,
      high: 0.6,
      unbiased: 0.5,
      stderr: 0.05,
      noisy: false,
      moved_from: null,
    };
  });
  const page = await open(collector);
  await page.find("section[aria-label=income]", "Median");
  expect(page.all(".panel.attribute").length).toBe(1);
  await page.fill("#range-low", "90");
  await page.fill("#range-high", "200");
  await page.click("button", "Show its share");
  await page.find(".ranges th", /^90 to under 200$/);
  await page.fill("#range-high", "9.5");
  await page.click("button", "Show its share");
  await page.find(".ranges [role=alert]", "is not an edge of the bins");
  expect((page.document.getElementById("range-high") as HTMLInputElement).value).toBe("9.5");
});

it("does not wait for the history, and says where it is", async () => {
  const collector = collecting("income");
  let answer: (response: unknown) => void = () => undefined;
  collector.route(/\/history\?/, () => new Promise((resolve) => (answer = resolve)));
  const page = await open(collector);
  const panel = "section[aria-label=income]";
  await page.find(panel, "Median");
  await page.find(`${panel} .late`, "is still being computed");
  answer(refusal(429, "busy", "Too many."));
  await page.find(`${panel} .late`, "could not be loaded");
  await page.find(panel, "Median");
  collector.routes.shift();
  look(page);
  await page.find(panel, "The mean with more reports");
  await page.lacks(`${panel} .late`);
});

it("smooths shares where that is possible, by a switch", async () => {
  for (const name of ["island", "hours"]) {
    const collector = collecting(name);
    const page = await open(collector);
    await page.find(".attribute h2");
    await page.lacks(".attribute h2", "smoothed shares");
    await check(page, "smoothed");
    await page.find(".attribute h2", "smoothed shares");
    expect(collector.asked.some(({ path }) => path.includes("smooth=true"))).toBe(true);
    await check(page, "possible");
    await page.lacks(".attribute h2", "smoothed shares");
  }
  const page = await open(collecting("drinks"));
  await page.click(".choices > summary");
  await page.find(".switch label", "Unbiased");
  await page.lacks(".switch label", "Smoothed");
});

it("flags a change that is too noisy, with ends that are possible", async () => {
  const plan = studies.plans.ages as string;
  const collector = new FakeCollector([plan]);
  collector.rounds = [openRound(1), openRound(2)];
  collector.route(/^access$/, () => ({ name: "anna", role: "reader" }));
  collector.route(
    /\/estimates\?/,
    (path) => studies.estimates.ages.rounds[Number(/round=(\d)/.exec(path)?.[1]) - 1],
  );
  collector.route(
    /\/change\?round=2&since=1&people=&level=0.95&weights=$/,
    () => studies.estimates.ages.change,
  );
  collector.route(/\/history\?|\/health\?/, () => refusal(404, "path"));
  const page = await open(collector);
  const row = await page.find(".change tr", "Mean");
  const [change, low, high] = wordsOf(row.querySelectorAll("td")).map((text) => text?.replace("\u2212", "-"));
  expect(change).toBe("too noisy to read");
  expect(Number(low)).toBeGreaterThanOrEqual(-90); // from the middle of the first bin to that of the last
  expect(Number(low)).toBeLessThan(Number(high));
  expect(Number(high)).toBeLessThanOrEqual(90);
});

it("draws the outline and the towns of a map beside its numbers", async () => {
  const page = await open(collecting("island"));
  const [outline, drawing] = [await page.find("svg.map .outline"), await page.find("svg.map")];
  const part = outline.getBoundingClientRect().width / drawing.getBoundingClientRect().width;
  expect(part).toBeGreaterThan(0.5);
  expect(part).toBeLessThan(1);
  await page.find("svg.map .towns text", "Southport");
  const boxes = (selector: string): DOMRect[] =>
    page.all(selector).map((each) => each.getBoundingClientRect());
  const apart = (a: DOMRect, b: DOMRect): boolean =>
    a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const [towns, numbers] = [boxes("svg.map .towns text"), boxes("svg.map .block")];
  expect(numbers.length).toBeGreaterThan(0);
  expect(towns.every((town) => numbers.every((number) => apart(town, number)))).toBe(true);
  await check(page, "unbiased");
  await page.find("figcaption", /cells at once, no cell is certainly above 0 yet|with a border/);
  expect(page.document.querySelector("figcaption")?.textContent).not.toContain("from \u2212");
});

it("tells cells that are too noisy from empty ones", async () => {
  const page = await open(collecting("coast", (row, i) => void (row.noisy = i % 3 === 0)));
  await page.find(".legend", "too noisy to read");
  const fills = page.all("svg.map .cell").map((cell) => {
    const { fill, fillOpacity } = page.window.getComputedStyle(cell);
    return `${fill} ${fillOpacity}`;
  });
  const gray = new Set(fills.filter((_, i) => i % 3 === 0));
  expect(gray.size).toBe(1);
  expect(fills.filter((fill, i) => i % 3 !== 0 && gray.has(fill))).toEqual([]);
  await page.find("figcaption", "Gray is too noisy to read.");
});

it("counts the plans that a plan continues in what its reports give away", async () => {
  const collector = collecting("mood changed");
  collector.route(/\/estimates\?/, () => refusal(409, "few"));
  const page = await open(collector);
  const { losses } = JSON.parse(studies.plans["mood changed"] as string);
  const stated = Math.ceil(losses.chain.changing_values / 1e6) / 1e3;
  const rounds = "all 6 rounds of this survey and of those that it continues";
  await page.find(".facts", `epsilon; ${stated} over ${rounds}, even if answers change`);
});
