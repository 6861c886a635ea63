/** What the survey promises in words, and how it takes places, codes and questions on several levels. */

import { beforeAll, expect, it } from "vitest";
import { FakeCollector, type Frame, idOf, openPage, type Page, readStudies, type Studies } from "./pages.js";

let plans: Studies["plans"];
const CELL = "47.638 to 47.650 N, 6.860 to 6.875 E";

beforeAll(async () => void ({ plans } = await readStudies()));

interface Opening {
  readonly width?: number;
  readonly language?: string;
  readonly prepare?: (window: Frame) => void;
}

const open = (name: string, { prepare, ...more }: Opening = {}): Promise<Page> => {
  const plan = plans[name] as string;
  return openPage("survey", `#plan=${idOf(plan)}`, new FakeCollector([plan]), {
    ...more,
    prepare: (window) => {
      window.localStorage.setItem("deniable.cap", "1000");
      prepare?.(window);
    },
  });
};

/** Write, and leave the field. */
const write = async (page: Page, id: string, text: string): Promise<void> => void (await page.fill(id, text));
const valueIn = (page: Page, id: string): string =>
  (page.document.getElementById(id) as HTMLInputElement).value;

it("says who reports what, and what is drawn", async () => {
  let page = await open("nested");
  await page.find(".promise", "“Age”");
  expect(page.all(".promise .drawing").map(({ textContent }) => textContent?.trim())).toEqual([
    "Everybody reports “Age” and “Home”, randomized. Your device also draws one of the other 3 questions. Only that answer is sent, randomized. The others are not sent at all.",
  ]);
  await write(page, "#q0", "42");
  await page.click(".typed summary");
  await write(page, "#q1-latitude", "47.64, 6.86");
  for (const group of page.all("fieldset").slice(-3))
    group.querySelector<HTMLInputElement>("[type=radio]")?.click();
  await page.click("button", "Review my answers");
  await page.click("button", "Make my report");
  await page.find(".leaves dd", "not drawn, and not in the report");
  expect(page.all(".leaves dd").filter(({ textContent }) => textContent?.includes("not drawn")).length).toBe(
    2,
  );
  page = await open("mixture");
  await page.find(".promise", "Question 0?");
  expect(page.all(".promise .drawing").map(({ textContent }) => textContent?.trim())).toEqual([
    "Everybody reports “Question 0?”, randomized. Your device also draws one of “Question 1?” and “Question 2?”. Only that answer is in your report, randomized. Random values take the place of the others, and nobody can see which is which. Your device also draws 2 of “Question 3?”, “Question 4?” and “Question 5?”. Only those answers are sent, randomized. The others are not sent at all.",
  ]);
});

it("promises by distance, and takes ages, places and numbers", async () => {
  const page = await open("town", { width: 390 });
  await page.find(
    ".promise",
    "“Age”: Your report hardly distinguishes you from people near you: it is at most 1.11 times likelier from you than from someone off by 1; from someone off by 20, at most 7.39 times. It can distinguish you from people far from you: in the worst case, it is at most ",
  );
  await page.find(
    ".promise",
    /“Home”: .* from someone 500 m away; .* in the worst case, .* from someone elsewhere/,
  );
  await page.click(".promise .more > summary");
  await page.click(".promise summary", "Question by question");
  await page.find(".guesses", "guesses right in which half of the range your number is at most");
  await page.click(".promise summary", "The exact loss");
  for (const line of ["per 1 in “Age”", "per kilometer in “Home”", "in the worst case"])
    await page.find(".promise .figures", `This report, ${line}`);
  await page.click(".typed summary");
  await page.find("p", "A latitude from 47.6 to 47.7 and a longitude from 6.8 to 6.95, in degrees.");
  await page.find("p", "A number from 0 up; numbers above 10,000 count as 10,000.");
  page.all("input[type=radio]")[0]?.click();
  await write(page, "#q1", "42");
  await write(page, "#q2-latitude", "48.64, 6.86");
  await write(page, "#q3", "2500");
  await page.click("button", "Review my answers");
  await page.find(".complaint", "Please enter a latitude from 47.6 to 47.7 and a longitude from 6.8");
  expect(page.document.activeElement?.id).toBe("q2-latitude");
  await write(page, "#q2-latitude", "47.64");
  await page.click("button", "Review my answers");
  await page.click("button", "Make my report");
  await page.find(".leaves");
  for (const answer of ["42 (42 to under 43)", `47.64, 6.86 (the cell ${CELL})`, "2,500"])
    await page.find(".stays", answer);
  const chips = page.all(".leaves .chip").map(({ textContent }) => textContent);
  await page.find(".leaves", `was moved at random to ${chips[1]}`);
  await page.find(".leaves", `was moved at random to the cell ${chips[2]}`);
  await page.find(".leaves", `stands for ${chips[3]}, which is correct only on average over many people`);
  expect(page.document.documentElement.scrollWidth).toBeLessThanOrEqual(390);
});

it("promises of a number the half of its range, and whole answers next to it", async () => {
  const page = await open("numbered");
  await page.find(".headline", "guesses right in which half of the range your number is at most");
  await page.click(".promise .more > summary");
  await page.find(".more > summary + .soft", "“Income”");
  await page.find(
    ".promise",
    /Among whole answers, “Tea” is the easiest to guess: Anyone who sees your report guesses right at most .* 1 in 8/,
  );
  expect(page.all(".distant")).toEqual([]);
});

it("shows the worst of many metric questions at once, and folds the others", async () => {
  const page = await open("ordered");
  await page.find(".distant", "“Scale 5”: ");
  const scales = page.all(".distant").map(({ textContent }) => /Scale \d/.exec(textContent ?? "")?.[0]);
  expect(scales).toEqual(["Scale 5", "Scale 4", "Scale 3"]);
  await page.click(".promise .more > summary");
  await page.find("p", "2 more questions below: the same kind of guarantee, with smaller losses.");
  await page.click(".promise summary", "Question by question");
  const folded = page
    .all(".guesses > li")
    .filter((each) => each.textContent?.includes("In the worst case, it is at"));
  expect(folded.map((each) => each.querySelector("strong")?.textContent)).toEqual(["Scale 1", "Scale 2"]);
});

it("reads a location from one field, as people write or paste it", async () => {
  const page = await open("town");
  await page.click(".typed summary");
  await page.find("p", "You can paste both at once: 47.656, 6.882");
  const [latitude, longitude] = ["q2-latitude", "q2-longitude"] as const;
  const field = await page.find(`#${latitude}`);
  const both = (): string[] => [valueIn(page, latitude), valueIn(page, longitude)];
  (field as HTMLInputElement).value = "47.66, 6.9";
  field.dispatchEvent(new page.window.InputEvent("input", { inputType: "insertText" }));
  expect(both()).toEqual(["47.66, 6.9", ""]); // nothing moves while somebody writes
  field.dispatchEvent(new page.window.InputEvent("input", { inputType: "insertFromPaste" }));
  expect(both()).toEqual(["47.66", "6.9"]); // at once
  for (const [written, ...read] of [
    ["(47.64,6.86)", "47.64", "6.86"],
    ["47,64; 6,86", "47.64", "6.86"],
    ["47,64 6,86", "47.64", "6.86"],
    ["\u221212.5, \u221270", "-12.5", "-70"],
    ["47,64", "47,64", ""], // one number with a comma
    ["47.64,", "47.64,", ""],
  ] as const) {
    await write(page, `#${longitude}`, "");
    await write(page, `#${latitude}`, written);
    expect(both()).toEqual(read);
  }
  await write(page, `#${latitude}`, "47,64");
  await write(page, `#${longitude}`, "6,86");
  await page.find("[role=status]", `In the cell ${CELL}`);
  const none = (await page.find("#q2-none")) as HTMLInputElement;
  none.click();
  await page.lacks("[role=status]", "In the cell");
  expect((field as HTMLInputElement).disabled).toBe(true);
  none.click();
  page.all("input[type=radio]")[0]?.click();
  await write(page, "#q1", "42");
  await write(page, "#q3", "2500");
  await write(page, `#${latitude}`, "6.86, 47.64");
  await page.click("button", "Review my answers");
  await page.find(
    ".complaint",
    "Did you swap latitude and longitude? Please enter a latitude from 47.6 to 47.7",
  );
  await write(page, `#${latitude}`, "50");
  await page.click("button", "Review my answers");
  await page.lacks(".complaint", "Did you swap");
});

it("takes the cell that is clicked on a picture of the area", async () => {
  const page = await open("town");
  const picture = await page.find(".box");
  await page.find("#device"); // nothing moves any more
  for (const [row, column, label] of [
    [0, 0, "47.600"],
    [4, 6, "47.650"],
    [7, 9, "47.688"],
  ] as const) {
    const box = picture.getBoundingClientRect();
    const clientX = box.left + ((column + 0.5) / 10) * box.width;
    const clientY = box.top + ((7.5 - row) / 8) * box.height;
    picture.dispatchEvent(new page.window.MouseEvent("click", { clientX, clientY, bubbles: true }));
    await page.find("[role=status]", `In the cell ${label} to `);
    const marked = (await page.find(".box .chosen")).getBoundingClientRect();
    expect(Math.abs(marked.x + marked.width / 2 - clientX)).toBeLessThan(2);
    expect(Math.abs(marked.y + marked.height / 2 - clientY)).toBeLessThan(2);
    expect(Number(valueIn(page, "q2-latitude"))).toBeCloseTo(47.6 + (row + 0.5) / 80, 3);
    expect(Number(valueIn(page, "q2-longitude"))).toBeCloseTo(6.8 + ((column + 0.5) * 3) / 200, 3);
  }
});

it("takes the location of the device, says what is wrong with it, and sends it to nobody", async () => {
  type Fix = { latitude: number; longitude: number; accuracy: number } | 1 | 2 | 3;
  let fix: Fix = { latitude: 47.641234567, longitude: 6.8612, accuracy: 20 };
  const prepare = ({ navigator }: Window): void => {
    navigator.geolocation.getCurrentPosition = (done, failed) =>
      typeof fix === "number"
        ? failed?.({ code: fix } as GeolocationPositionError)
        : done({ coords: fix } as GeolocationPosition);
  };
  const page = await open("town", { prepare, width: 390 });
  await page.find("p", "Your location stays on this page");
  await page.click("button.here");
  expect(valueIn(page, "q2-latitude")).toBe("47.641235");
  await page.find("[role=status]", `In the cell ${CELL}`);
  expect(page.document.querySelector(".found")?.textContent).toBe("");
  const said: [Fix, string][] = [
    [
      { latitude: 47.65, longitude: 6.85, accuracy: 2500 },
      "accurate only to about 3 km, which is more than a cell.",
    ],
    [{ latitude: 12, longitude: 13, accuracy: 1 }, "Your location is outside the area"],
    [1, "This page may not see your location."],
    [2, "Your device cannot find its location now."],
    [3, "Your device took too long"],
  ];
  for (const [next, words] of said) {
    fix = next;
    await page.click("button.here");
    await page.find(".found", words);
  }
  (await page.find("#q2-none")).click();
  expect(((await page.find("button.here")) as HTMLButtonElement).disabled).toBe(true);
  const without = await open("town", {
    prepare: ({ Navigator }) => delete (Navigator.prototype as { geolocation?: Geolocation }).geolocation,
  });
  await without.find(".typed summary");
  await without.lacks("button.here");
});

it("has a map that is used by keys, and follows the cell", async () => {
  const page = await open("island", { width: 360 });
  const drawing = await page.find(".box");
  await page.find("#device"); // nothing moves any more
  const press = (key: string, times = 1): void => {
    for (let i = 0; i < times; i++) page.press(drawing, key);
  };
  const isDisabled = (sign: string): boolean =>
    page
      .all(".zoom button")
      .some((each) => each.textContent === sign && (each as HTMLButtonElement).disabled);
  const before = drawing.getAttribute("viewBox");
  press("+");
  expect(drawing.getAttribute("viewBox")).not.toBe(before);
  expect(isDisabled("−")).toBe(false);
  press("-");
  expect(drawing.getAttribute("viewBox")).toBe(before);
  expect(isDisabled("−")).toBe(true);
  press("ArrowRight"); // the middle
  const start = Number(valueIn(page, "q0-longitude"));
  press("ArrowRight", 3);
  press("ArrowUp");
  expect(Number(valueIn(page, "q0-longitude")) - start).toBeCloseTo(0.12, 3);
  press("+", 8);
  press("ArrowLeft", 20); // to the edge; the view follows
  const [cell, frame] = [await page.find(".box .chosen"), drawing].map((each) =>
    each.getBoundingClientRect(),
  );
  if (!cell || !frame) throw new Error("nothing is drawn");
  expect(cell.x).toBeGreaterThanOrEqual(frame.x - 2);
  expect(cell.x).toBeLessThanOrEqual(frame.right);
  expect(Math.min(cell.width, cell.height)).toBeGreaterThanOrEqual(24);
  expect(isDisabled("+")).toBe(true);
});

it("has a map that is dragged when it is larger, which chooses nothing", async () => {
  const page = await open("island");
  const drawing = await page.find(".box");
  for (let i = 0; i < 2; i++) await page.click(".zoom button", "+");
  const before = drawing.getAttribute("viewBox");
  const box = drawing.getBoundingClientRect();
  const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, pointerId: 1, bubbles: true };
  drawing.setPointerCapture = () => undefined;
  for (const [kind, moved] of [
    ["pointerdown", 0],
    ["pointermove", 40],
    ["pointermove", 80],
    ["pointerup", 80],
    ["click", 80],
  ] as const)
    drawing.dispatchEvent(new page.window.PointerEvent(kind, { ...at, clientX: at.clientX - moved }));
  expect(drawing.getAttribute("viewBox")).not.toBe(before);
  expect(valueIn(page, "q0-latitude")).toBe("");
});

it("says cells and towns in its language", async () => {
  const page = await open("island", { language: "de-DE" });
  await page.click(".typed summary");
  await write(page, "#q0-latitude", "54,11");
  await write(page, "#q0-longitude", "10,54");
  const cell = "54,100 bis 54,125 N; 10,520 bis 10,560 O";
  await page.find("[role=status]", `Bei Southport, in der Zelle ${cell}`);
  await page.click("main form button.main");
  await page.find(".review dd", `54,11; 10,54 (bei Southport, die Zelle ${cell})`);
});

it("asks a code by its digits, and reports one level of it", async () => {
  const page = await open("devices", { width: 360 });
  await page.find("#hint-0", "A whole number below 2^48, or hexadecimal digits");
  expect(page.all("form .question").length).toBe(1);
  for (const wrong of ["0xZZ", "-1", "1.5", "0x1000000000000"]) {
    await write(page, "#q0", wrong);
    await page.click("form button.main");
    await page.find("#complaint-0", /./);
  }
  await write(page, "#q0", "0x7ce");
  await page.click("form button.main");
  await page.find(".review dd > bdi", "0x7ce");
  await page.click("button.main");
  await page.find(".leaves dd", "bucket");
  expect(page.all(".leaves dt").map(({ textContent }) => textContent)).toEqual(["device"]);
});

it("asks a question on several levels once", async () => {
  const page = await open("income");
  await page.find(
    ".headline",
    /guesses right in which of 4 groups of values your answer is at most \d+ times in 100\. Blind guessing: 1 in 4\./,
  );
  expect(page.all("form .question").length).toBe(1);
  await page.click(".promise .more > summary");
  await page.find(
    ".drawing",
    /in which group of 256 values it is \(guessed right at most \d+ times in 100\)/,
  );
  await page.find(".drawing", "what of “income” is sent");
  await page.find(".drawing", "in which group of 16 values it is");
  await write(page, "#q0", "226");
  await page.click("form button.main");
  await page.click("button.main", "Make");
  await page.find(".leaves dd", /Your device drew what is reported.*points to/s);
  expect(page.all(".leaves dt").map(({ textContent }) => textContent)).toEqual(["income"]);
});

it("reads numbers as people write them, or asks back", async () => {
  const written: [string, string[], [string, string | null][]][] = [
    [
      "en-US",
      ["2,500", "2.5"],
      [
        ["2500,50", "2,500.5"],
        ["2,500.00", "2,500"],
        ["2 500", "2,500"],
        ["2.500", null],
      ],
    ],
    [
      "de-DE",
      ["2.500", "2,5"],
      [
        ["2500,50", "2.500,5"],
        ["2.500", "2.500"],
        ["2,500.00", "2.500"],
        ["2,500", null],
      ],
    ],
  ];
  for (const [language, both, numbers] of written) {
    const page = await open("numbered", { language });
    await page.fill("#q0", "red");
    for (const [text, read] of numbers) {
      await write(page, "#q1", text);
      await page.click("form:not(.cap) button.main");
      if (read === null) {
        await page.find(".complaint button", both[0]);
        expect(page.document.activeElement?.id).toBe("q1");
        const offered = page.all(".complaint button");
        expect(offered.map(({ textContent }) => textContent)).toEqual(both);
        offered[1]?.click();
        await page.click("form:not(.cap) button.main");
      }
      await page.find(".review");
      expect(page.all(".review dd > bdi").at(-1)?.textContent).toBe(read ?? both[1]);
      page.all(".act button").at(-1)?.click();
    }
  }
});
