/** What the survey says and does in states that need no real collector: addresses, rounds, storage, several plans. */

import { beforeAll, expect, it } from "vitest";
import { Plan } from "../src/index.js";
import {
  closedRound,
  FakeCollector,
  idOf,
  openPage,
  openRound,
  type Page,
  readStudies,
  refusal,
  type Studies,
} from "./pages.js";

let plans: Studies["plans"];
const CODE = "an_invitation_of_-32-_characters";
const REVIEW = "Review my answers";

beforeAll(async () => void ({ plans } = await readStudies()));

const collecting = (...names: string[]): FakeCollector =>
  new FakeCollector(names.map((name) => plans[name] as string));
const link = (...names: string[]): string =>
  `#${names.map((name) => `plan=${idOf(plans[name] as string)}`).join("&")}`;

/** Choose the first answer of every question that is seen. */
async function choose(page: Page, at = 0): Promise<void> {
  await page.find("form:not(.cap) input[type=radio]");
  for (const group of page.all("form fieldset").filter((node) => node.checkVisibility()))
    group.querySelectorAll<HTMLInputElement>("input[type=radio]")[at]?.click();
}

async function make(page: Page): Promise<void> {
  await page.click("form:not(.cap) button.main");
  await page.find("h2", "Your answers");
  await agree(page);
  await page.find("h2", "Look before you send");
}

/** Agree, where that is asked for, and make the reports. */
async function agree(page: Page): Promise<void> {
  await page.find(".review");
  page.document.querySelector<HTMLInputElement>("#consent")?.click();
  await page.click("button.main");
  await page.find(".cards");
}

async function send(page: Page): Promise<void> {
  await page.click(".act button.main");
  await page.find("#receipt");
}

it("shows all of the head on the first page only, one scale as a table, and sends no note", async () => {
  const collector = collecting("feelings");
  const page = await openPage("survey", link("feelings"), collector, { width: 390 });
  await page.find(".head p", "Two minutes.");
  await page.click(".choice", "other");
  await page.fill("#note-0", "by kayak");
  await page.click("form:not(.cap) button.main");
  // two lines in place of the head and the box, which opens
  await page.find("h2", "Page 2 of 3");
  await page.find(".head.short h1", "Feelings");
  await page.lacks(".head p", "Two minutes.");
  await page.lacks(".promise .headline");
  await page.lacks("#cap");
  await page.click(".promise.folded > summary", "This survey protects your answers");
  await page.find(".promise .headline", "guesses right");
  // neighbors with one scale are rows of a table; one with other ends stands for itself
  expect(page.all(".matrix").map((table) => table.querySelectorAll("fieldset").length)).toEqual([3]);
  expect(page.all(".matrix fieldset legend").map(({ textContent }) => textContent)).toEqual([
    "tired",
    "sad",
    "calm",
  ]);
  const cells = page.all(".matrix fieldset .step");
  expect(
    Math.min(...cells.flatMap(({ offsetWidth, offsetHeight }) => [offsetWidth, offsetHeight])),
  ).toBeGreaterThan(43);
  await choose(page);
  await page.find(".promise .headline"); // what was opened stays open
  await page.click("form:not(.cap) button.main");
  await page.find("h2", "Page 3 of 3");
  await page.click(".choice", "else");
  await page.fill("#note-5", "a blog");
  await page.click(".choice", "radio");
  await page.click("form:not(.cap) button.main");
  await page.find(".review dd", "other (your note, never sent: “by kayak”)");
  await page.find(".review dd", "radio, else (your note, never sent: “a blog”)");
  await agree(page);
  await page.find(".stays dd", "by kayak");
  await send(page);
  const requests = JSON.stringify(
    collector.asked.map(({ path, init }) => [path, String(init.body), init.headers]),
  );
  const stored = JSON.stringify({ ...page.window.localStorage, ...page.window.sessionStorage });
  expect(`${requests} ${stored}`).not.toMatch(/kayak|blog/);
  const [sent] = collector.posted();
  expect(new TextDecoder().decode(sent?.body as Uint8Array)).not.toMatch(/kayak|blog/);
  expect(page.problems).toEqual([]);
});

it("shows a table with its heads once on a wide page, and a note only beside what it is of", async () => {
  const page = await openPage("survey", link("feelings"), collecting("feelings"));
  await page.lacks("#note-0");
  await page.click(".choice", "other");
  await page.fill("#note-0", "by kayak");
  await page.click(".choice", "on foot");
  await page.lacks("#note-0");
  await page.click("form:not(.cap) button.main");
  await page.find(".matrix .heads", /never.*often.*12345/);
  const tops = page.all(".matrix > fieldset").map((row) => {
    const [legend, step] = [row.querySelector("legend"), row.querySelector(".step")];
    return Math.abs(
      (legend as Element).getBoundingClientRect().top - (step as Element).getBoundingClientRect().top,
    );
  });
  expect(Math.max(...tops)).toBeLessThan(30); // a row is a line
  const named = page
    .all(".matrix input[name=q1]")
    .map((field) => field.ariaLabel ?? field.parentElement?.textContent);
  expect(named).toEqual(["1: never", "2", "3", "4", "5: often"]);
  await choose(page);
  await page.click("form:not(.cap) button.main");
  await page.click(".choice", "tv");
  await page.click("form:not(.cap) button.main");
  await page.find(".review dd", /^on foot$/);
});

it("is answered at one address, to which its link and invitation lead", async () => {
  const collector = collecting("habits");
  collector.url = "https://survey.example";
  const page = await openPage("survey", `${link("habits")}&invitation=${CODE}`, collector);
  await page.find("h1", "This survey has another address");
  const to = (await page.find("main a", "https://survey.example/")) as HTMLAnchorElement;
  expect(to.href).toBe(`https://survey.example/${link("habits")}&invitation=${CODE}`);
  await page.lacks("button", REVIEW);
  expect(collector.asked.map(({ path }) => path)).toEqual(["plans"]);
});

it("says so where an address is not secure", async () => {
  const prepare = (window: Window): void =>
    void Object.defineProperty(window, "isSecureContext", { value: false });
  const page = await openPage("survey", link("habits"), collecting("habits"), { prepare });
  await page.find("main", "This address does not begin with https");
  await page.lacks("button", REVIEW);
});

it("lists the studies in its language, and leads to one and back", async () => {
  const collector = collecting("mood", "tea");
  const page = await openPage("survey", "", collector, { language: "de-DE" });
  await page.find(".choices a", "Mood");
  await page.click(".choices a", "Tee");
  await page.find("h1", "Tee");
  await page.click("main a", "Alle Umfragen");
  await page.find(".choices a", "Tee");
});

it("asks for the newest of plans that continue each other, and for an older one by its link", async () => {
  const collector = collecting("mood", "mood changed");
  const page = await openPage("survey", "", collector);
  await choose(page);
  expect(page.all("form fieldset input[type=radio]").length).toBe(4);
  const changed = await Plan.fromJson(plans["mood changed"] as string);
  const percent = Math.ceil(100 * changed.bestGuess("mood").allRounds);
  const rounds = "all 6 rounds of this survey and of those that it continues";
  await page.find(".promise .headline", `reports of ${rounds} guesses right at most ${percent} times in 100`);
  const older = await openPage("survey", link("mood"), collector);
  await choose(older);
  expect(older.all("form fieldset input[type=radio]").length).toBe(3);
  await older.find(".promise .headline", "Anyone who sees your reports of all 3 rounds guesses right");
  const several = await openPage("survey", "", collecting("mood", "tea", "mood changed"));
  await several.find(".choices a", "Mood");
  expect(several.all(".choices a").length).toBe(2);
  const both = await openPage("survey", link("mood", "mood changed"), collector);
  await both.fill("#cap", "10");
  await both.click(".cap button");
  const times = Math.ceil(Math.exp((changed.stated.chain?.changing_values ?? 0) / 1e9)); // the first counts once
  await both.find(".promise", `Together, all your reports are at most ${times} times likelier`);
});

it("lists what is asked once and what is asked again as one study, which its link opens", async () => {
  const page = await openPage("survey", "", collecting("tea", "mood again", "smokes once"));
  await page.find(".choices a", "Both");
  expect(page.all(".choices a").length).toBe(2);
  await page.click(".choices a", "Both");
  await page.find(".part h2", "Questions asked 3 times");
  expect(page.window.location.hash).toBe(link("mood again", "smokes once"));
});

it("says in plain words that a collector is away or does not end its answer, and tries again", async () => {
  const late = (): Response =>
    new Response(
      new ReadableStream({ start: (body) => body.error(new DOMException("late", "TimeoutError")) }),
    );
  const away = (): never => {
    throw new TypeError("Failed to fetch");
  };
  for (const fails of [late, away]) {
    const collector = collecting("habits");
    collector.route(/^plans$/, fails);
    const page = await openPage("survey", link("habits"), collector);
    await page.find("main", "The collector cannot be reached.");
    collector.routes.length = 0;
    await page.click("button", "Try again");
    await page.find("legend", "Do you smoke?");
    expect(page.problems).toEqual([]);
  }
});

it("asks the browser once to keep what it stores, and says so where that is refused", async () => {
  for (const agrees of [true, false]) {
    let requests = 0;
    const prepare = ({ navigator }: Window): void => {
      navigator.storage.persisted = async () => requests > 0 && agrees;
      navigator.storage.persist = async () => {
        requests++;
        return agrees;
      };
    };
    const page = await openPage("survey", link("habits"), collecting("habits"), { prepare });
    await choose(page);
    expect(requests).toBe(0);
    await make(page);
    await expect.poll(() => requests).toBe(1);
    await page.click(".ledger summary");
    const note = "This browser may delete what is stored here";
    await (agrees ? page.lacks("#device p", note) : page.find("#device p", note));
    await send(page);
    expect(requests).toBe(1);
  }
});

it("is forgotten in all tabs when it is forgotten in one", async () => {
  const collector = collecting("mood");
  const page = await openPage("survey", `${link("mood")}&invitation=${CODE}`, collector);
  await choose(page);
  await page.find("#device");
  expect(sessionStorage.getItem("deniable.invitation")).toBe(CODE);
  const before = page.document.querySelector("form");
  const other = await openPage("survey", link("mood"), collector, { again: true });
  await other.find("#device");
  let wasInert = false;
  collector.route(/^plans$/, () => {
    wasInert ||= page.document.getElementById("study")?.inert ?? false;
  });
  await other.click(".forget > button");
  await other.click("dialog button", "Forget everything");
  await expect.poll(() => page.document.contains(before)).toBe(false);
  expect(wasInert).toBe(true); // nobody answers the form that is about to go
  await choose(page);
  expect(sessionStorage.getItem("deniable.invitation")).toBe(null);
});

it("asks nobody to come back after the last round", async () => {
  const collector = collecting("twice");
  let page = await openPage("survey", link("twice"), collector);
  await page.find(".promise", "Anyone who sees your reports of both rounds guesses right");
  await page.fill("#q0", "24");
  await page.click("button", REVIEW);
  await page.find(".complaint", /^Please enter a number from 0 to under 24\.$/); // and no advice for operators
  await page.fill("#q0", "8");
  await make(page);
  await send(page);
  collector.rounds = [closedRound(1)];
  page = await openPage("survey", link("twice"), collector, { again: true });
  await page.find("p", "Come back when the next round opens.");
  await page.find("p", "You have answered 1 round;");
  collector.rounds = [closedRound(1), closedRound(2)];
  page = await openPage("survey", link("twice"), collector);
  await page.find("h2", "This study has ended");
  await page.find("p", "It takes no more reports.");
  await page.lacks("#study", "Come back");
});

it("asks only in the rounds that the device has drawn, and says which these are", async () => {
  const collector = collecting("crashes");
  collector.rounds = [openRound(1), openRound(2), openRound(3)];
  let page = await openPage("survey", link("crashes"), collector);
  const asked = await page.find("p", /round \d of 3/);
  const turn = Number(/round (\d) of 3/.exec(asked.textContent)?.[1]);
  collector.rounds = [1, 2, 3].map((round) => (round === turn ? closedRound : openRound)(round));
  page = await openPage("survey", link("crashes"), collector, { again: true });
  await page.find("h2", "This round is not one of yours");
  await page.find("p", `Your device has drawn in which rounds it answers: ${turn} of 3.`);
  await page.lacks("form fieldset");
});

it("offers the newest open round that was not answered, and a report that waits before that", async () => {
  const collector = collecting("mood");
  collector.rounds = [openRound(1), openRound(2)];
  const open = (): Promise<Page> => openPage("survey", link("mood"), collector, { again: true });
  localStorage.clear();
  let page = await open();
  await page.find("p", "round 2 of 3");
  await choose(page);
  await make(page);
  page = await open();
  await page.find("h2", "Your report has not been sent yet");
  await send(page);
  page = await open();
  await page.find("p", "round 1 of 3");
  await choose(page);
  await make(page);
  await send(page);
  page = await open();
  await page.find("p", "round 2 of 3");
  await page.find("h2", "You have answered this round");
  expect(collector.posted().length).toBe(2);
});

it("opens the plan of an invitation with it, and no other", async () => {
  const collector = collecting("tea", "habits");
  collector.invited = true;
  const page = await openPage("survey", `${link("tea")}&invitation=${CODE}`, collector);
  await page.find("button", REVIEW);
  expect(page.window.location.hash).toBe(link("tea"));
  page.window.location.hash = link("habits");
  await page.find("#invitation");
  page.window.location.hash = link("tea");
  await choose(page);
  await make(page);
  await send(page);
  const [{ headers } = {}] = collector.posted();
  expect(new Headers(headers).get("authorization")).toBe(`Invitation ${CODE}`);
  expect(JSON.stringify({ ...sessionStorage })).not.toContain(CODE); // it is used
});

it("takes a typed invitation, a link with one, and says what is wrong with others", async () => {
  const collector = collecting("tea");
  collector.invited = true;
  collector.route(/^reports$/, () => refusal(403, "invitation"));
  const page = await openPage("survey", link("tea"), collector);
  await page.click("button", "Continue");
  await page.find(".complaint", "Without an invitation the report would be refused.");
  expect(page.document.activeElement?.id).toBe("invitation");
  await page.fill("#invitation", CODE);
  await page.click("button", "Continue");
  await choose(page);
  await make(page);
  await page.click(".act button.main");
  await page.find(".notice", "the invitation is unknown or was used already");
  collector.routes.length = 0;
  await page.fill("#invitation", `  https://survey.example/#invitation=${CODE.replace("an", "AN")} `);
  await page.click("button", "Continue");
  await page.find("h2", "Your report has not been sent yet");
  await send(page);
  const sent = collector.posted().map(({ headers }) => new Headers(headers).get("authorization"));
  expect(sent).toEqual([`Invitation ${CODE}`, `Invitation ${CODE.replace("an", "AN")}`]);
  expect(collector.asked.filter(({ path }) => path.includes("tickets"))).toEqual([]);
});

it("sets a limit without losing answers, also to a study that it refuses for a while", async () => {
  const page = await openPage("survey", link("habits"), collecting("habits"));
  await choose(page, 1);
  const allow = async (nats: string): Promise<void> => {
    await page.find("#cap");
    const before = page.document.getElementById("cap");
    await page.fill("#cap", nats);
    await page.click(".cap button");
    await expect.poll(() => page.document.getElementById("cap") !== before).toBe(true);
  };
  const isKept = (): boolean => page.all("form fieldset input[type=radio]:checked").length === 2;
  await allow("50");
  expect(page.document.getElementById("status")?.textContent).toContain("The limit is 50 now.");
  await expect.poll(isKept).toBe(true);
  await allow("0.01");
  await page.find("h2", "Your limit refuses this study");
  await allow("60");
  await expect.poll(isKept).toBe(true);
});

it("is not red any more when an answer was corrected", async () => {
  const page = await openPage("survey", link("twice"), collecting("twice"));
  const field = await page.fill("#q0", "420");
  await page.click("button", REVIEW);
  await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
  await page.fill("#q0", "4");
  expect(field.getAttribute("aria-invalid")).toBe("false");
  expect(page.document.getElementById("complaint-0")?.textContent).toBe("");
});

it("answers yes and no in its language, and says which languages the questions are not in", async () => {
  let page = await openPage("survey", link("media"), collecting("media"), { language: "de-DE" });
  await page.find("label", /^Ja$/);
  await choose(page, 1);
  expect(page.all("#language option").map(({ textContent }) => textContent)).toEqual([
    "English",
    "Deutsch (Fragen auf Englisch)",
    "Français",
    "Español (preguntas en inglés)",
    "Português (perguntas em inglês)",
  ]);
  await page.fill("#language select", "en");
  await page.find("label", /^no$/);
  await expect.poll(() => page.all("input[value]:checked, input[type=radio]:checked").length).toBe(1);
  const options = { language: "pt-BR", width: 360 };
  page = await openPage("survey", link("media"), collecting("media"), options);
  const menu = (await page.find("#language select")) as HTMLSelectElement;
  await page.find("#language option:checked", "perguntas em");
  const shown = menu.offsetWidth; // it was cut off after "Português (perg"
  menu.style.maxWidth = "none";
  expect(menu.offsetWidth).toBe(shown);
  expect(page.document.documentElement.scrollWidth).toBe(360);
});

it("is used by touch on a phone: nothing is small or beside the window", async () => {
  const page = await openPage("survey", link("town"), collecting("town"), {
    width: 390,
    prepare: ({ localStorage }) => localStorage.setItem("deniable.cap", "1000"),
  });
  await page.find("button", REVIEW);
  const small = page
    .all("button, select, .choice, input[type=text]")
    .filter((node) => node.offsetParent && node.getBoundingClientRect().height < 44);
  expect(small.map(({ outerHTML }) => outerHTML)).toEqual([]);
  expect(page.document.documentElement.scrollWidth).toBeLessThanOrEqual(390);
});

// Several plans behind one link.

/** Both parts, up to the review. */
async function answerBoth(page: Page): Promise<void> {
  await choose(page);
  await page.click("form:not(.cap) button.main");
  await expect.poll(() => page.document.activeElement?.matches(".part h2")).toBe(true);
  await choose(page);
  await page.click("form:not(.cap) button.main");
}

it("tries again by itself to send what did not arrive", async () => {
  const collector = collecting("mood", "habits");
  collector.route(/^reports$/, () => refusal(422, "form"));
  const waits: (() => void)[] = [];
  const prepare = (window: Window): void => {
    const { setTimeout } = window;
    const later = (act: () => void, wait = 0): number =>
      wait >= 10_000 ? waits.push(act) : setTimeout.call(window, act, wait);
    Object.assign(window, { setTimeout: later });
  };
  const page = await openPage("survey", link("mood", "habits"), collector, { prepare });
  await answerBoth(page);
  await agree(page);
  await page.click(".act button.main");
  await page.find("main", /has not arrived.*has not arrived/s);
  collector.routes.length = 0;
  for (const act of waits) act();
  await page.find("#receipt");
});

it("leaves out plans that are closed, unknown, named before or above the limit", async () => {
  const collector = collecting("mood", "habits");
  const closed = idOf(plans.habits as string);
  collector.route(new RegExp(`${closed}/rounds`), () => ({ plan: closed, rounds: [closedRound(1)] }));
  let page = await openPage("survey", `${link("mood", "habits")}&plan=${"0".repeat(64)}`, collector);
  await page.find(".notice", "“Habits” is not open now");
  await page.find(".notice", "does not have one of the studies");
  await page.find("h1", /^Mood$/);
  collector.routes.length = 0;
  const short = idOf(plans.habits as string).slice(0, 12);
  page = await openPage("survey", `${link("habits")}&plan=${short}`, collector);
  await choose(page);
  expect(page.all("form fieldset").length).toBe(2);
  await page.lacks("p", "Part 1 of");
  await page.lacks("#together"); // there is no sum of losses
  page = await openPage("survey", link("mood", "habits"), collector);
  await page.fill("#cap", "2");
  await page.click(".cap button");
  await page.find(
    ".notice",
    "With “Habits”, your lifetime loss would be above your limit of 2. It is left out",
  );
  await page.find("h1", /^Mood$/);
});

it("asks one consent to all parts, also to those without a text of their own", async () => {
  const page = await openPage("survey", link("mood", "tea"), collecting("mood", "tea"));
  await answerBoth(page);
  await page.find(".consent", "Asked weekly.");
  await page.find(".consent label", "Mood and Tea");
});

it("keeps the answers of all parts in another language", async () => {
  const page = await openPage("survey", link("mood", "habits"), collecting("mood", "habits"));
  await choose(page, 1);
  await page.click("form:not(.cap) button.main");
  await expect.poll(() => page.document.activeElement?.textContent).toBe("Habits");
  page.all("form fieldset input[type=radio]")[1]?.click();
  await page.fill("#language select", "de");
  await page.find("p", "Teil 2 von 2");
  await expect.poll(() => page.all("form input[type=radio]:checked").length).toBe(1);
  page.all("form fieldset input[type=radio]")[2]?.click();
  await page.click("form:not(.cap) button.main");
  await page.find(".review");
  expect(page.all(".review dd > bdi").map(({ textContent }) => textContent)).toEqual([
    "so-so",
    "Nein",
    "never",
  ]);
});

it("carries the invitations of all plans of a link, or asks for all of them", async () => {
  const collector = collecting("mood", "tea");
  collector.invited = true;
  const codes = [CODE, CODE.toUpperCase()] as const;
  const both = `${link("mood")}&invitation=${codes[0]}&${link("tea").slice(1)}&invitation=${codes[1]}`;
  let page = await openPage("survey", both, collector);
  await choose(page);
  expect(page.window.location.hash).toBe(link("mood", "tea")); // the invitations are out of sight
  page = await openPage("survey", link("mood", "tea"), collector);
  await page.fill("#invitation", codes[0]);
  await page.click("button", "Continue");
  await page.find(".complaint", "This has 1 of 2 invitations.");
  await page.fill("#invitation", codes.join(" "));
  await page.click("button", "Continue");
  await answerBoth(page);
  await agree(page);
  await page.click(".act button.main");
  await page.find("#receipt");
  const sent = collector.posted().map(({ headers }) => new Headers(headers).get("authorization"));
  expect(sent).toEqual(codes.map((code) => `Invitation ${code}`));
  page = await openPage("survey", link("tea"), collector); // a link of another plan is pasted
  await page.fill("#invitation", `https://survey.example/${link("mood")}&invitation=${codes[0]}`);
  await page.click("button", "Continue");
  await page.find("h1", "Mood");
  await choose(page);
});

it("leads back by one button from a part with pages", async () => {
  const page = await openPage("survey", link("twice", "long"), collecting("twice", "long"), {
    prepare: ({ localStorage }) => localStorage.setItem("deniable.cap", "10"),
  });
  await page.fill("#q0", "4");
  await page.click("form:not(.cap) button", "Next");
  await page.find("h2, h3", "Page 1 of 2");
  const backs = (): number =>
    page.all("button").filter((node) => node.checkVisibility() && node.textContent === "Back").length;
  expect(backs()).toBe(1);
  await page.click("button", /^Back$/);
  await page.find("h2", "Sleep");
  await page.click("form:not(.cap) button", "Next");
  await choose(page);
  await page.click("form:not(.cap) button", "Next");
  await page.find("h2, h3", "Page 2 of 2");
  expect(backs()).toBe(1);
  await page.click("button", /^Back$/);
  await page.find("h2, h3", "Page 1 of 2");
});

it("lets nobody choose more options than may be, or fewer", async () => {
  const page = await openPage("survey", link("lunch"), collecting("lunch"));
  await page.find("fieldset .hint", "Choose at most 3 answers");
  await page.find("fieldset .hint", "Choose exactly 2 answers");
  const [dishes, drinks] = page
    .all("form fieldset")
    .map((group) => [...group.querySelectorAll<HTMLInputElement>("input[type=checkbox]")]);
  const states = (): string => (dishes ?? []).map(({ disabled }) => Number(disabled)).join("");
  for (const box of dishes?.slice(0, 3) ?? []) box.click();
  expect(states()).toBe("000111110"); // none of these can be chosen still
  await page.find(".tally", "3 of 3 chosen");
  dishes?.[1]?.click();
  expect(states()).toBe("000000000");
  drinks?.[0]?.click();
  expect(drinks?.length).toBe(4); // exactly two are not none
  await page.click("button", REVIEW);
  await page.find(".complaint", "Choose exactly 2 answers");
  drinks?.[3]?.click();
  await make(page);
  await send(page);
});
