/** A page in a frame of its own, as a collector serves it, and a collector that the test plays. */

import { expect } from "vitest";
import type { Round } from "../pages/kit/api.js";

/** Plans by name, and what a collector answers about some of them: what tests/pages.py printed. */
export interface Studies {
  readonly plans: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests change what a collector answers
  readonly estimates: Readonly<Record<string, any>>;
  /** What the design page is told of a study of two questions. */
  readonly forecast: unknown;
}

const PATIENCE = 10_000; // milliseconds: a busy machine is slow, and nothing waits that long where it works

export const readStudies = async (): Promise<Studies> => (await fetch("/page/studies.json")).json();
export const idOf = (plan: string): string => JSON.parse(plan).id;

/** What a plan asks, by which one is known inside another, which continues it. */
const asked = (plan: { readonly attributes: unknown }): string => JSON.stringify(plan.attributes);

type Answer = (path: string, init: RequestInit) => unknown;

/** Answers what the pages ask: by the first route that matches, else as a collector with these plans. */
export class FakeCollector {
  readonly asked: { readonly path: string; readonly init: RequestInit }[] = [];
  readonly routes: [RegExp, Answer][] = [];
  rounds: Round[] = [openRound(1)];
  url = "";
  invited = false;

  constructor(readonly plans: readonly string[]) {}

  /** Answer so from now on: with JSON, a response or an error that is thrown; as usual, where it gives nothing. */
  route(path: RegExp, answer: Answer): void {
    this.routes.unshift([path, answer]);
  }

  posted(path = "reports"): RequestInit[] {
    return this.asked
      .filter((each) => each.path === path && each.init.method === "POST")
      .map(({ init }) => init);
  }

  async answer(path: string, init: RequestInit): Promise<Response> {
    this.asked.push({ path, init });
    const [, route] = this.routes.find(([pattern]) => pattern.test(path)) ?? [];
    const answer = (await route?.(path, init)) ?? this.usual(path);
    return answer instanceof Response ? answer : Response.json(answer);
  }

  private usual(path: string): unknown {
    const [, id, more] = /^plans\/(\w+)(\/rounds)?$/.exec(path) ?? [];
    if (path === "plans") return { plans: this.plans.map((plan) => this.summary(plan)), url: this.url };
    if (path === "reports") return { outcome: "counted" };
    if (more) return { plan: id, rounds: this.rounds };
    const plan = this.plans.find((each) => idOf(each) === id);
    return plan ? new Response(plan) : refusal(404, "path", "There is nothing here.");
  }

  private summary(plan: string): unknown {
    const { id, title, texts, rounds = null, continues = [] } = JSON.parse(plan);
    const open = this.rounds.filter((round) => round.open).map(({ number }) => number);
    const round = open.at(-1) ?? null;
    return {
      id,
      title,
      titles: texts?.title ?? {},
      invited: this.invited,
      round,
      open,
      rounds,
      continues: this.plans
        .filter((other) => continues.map(asked).includes(asked(JSON.parse(other))))
        .map(idOf),
    };
  }
}

export const openRound = (number: number): Round => ({ number, opens: null, closes: null, open: true });
export const closedRound = (number: number): Round => ({
  ...openRound(number),
  closes: "2026-01-01T00:00:00Z",
  open: false,
});
export const refusal = (status: number, reason: string, detail = ""): Response =>
  Response.json({ reason, detail }, { status });

interface Opening {
  readonly width?: number;
  readonly language?: string;
  /** Whether what an earlier page stored is there. */
  readonly again?: boolean;
  /** Changes the window before its script runs. */
  readonly prepare?: (window: Frame) => void;
}

export type Frame = Window & typeof globalThis;

/** What a test sees and does on a page. */
export class Page {
  constructor(
    readonly window: Frame,
    /** What was written to the console as an error, and errors that nobody caught. */
    readonly problems: readonly string[],
  ) {}

  get document(): Document {
    return this.window.document;
  }

  all(selector: string): HTMLElement[] {
    return [...this.document.querySelectorAll<HTMLElement>(selector)];
  }

  /** The first element that is seen and has these words, once there is one. */
  async find(selector: string, words: string | RegExp = ""): Promise<HTMLElement> {
    const matches = (): HTMLElement[] =>
      this.all(selector).filter((node) => isSeen(node) && hasWords(node, words));
    const deadline = Date.now() + PATIENCE;
    while (!matches().length && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const [match] = matches();
    if (match) return match;
    const rest = this.document.querySelector("main")?.textContent;
    throw new Error(`there is no ${selector} ${words} on the page, but ${rest?.slice(0, 3000)}`);
  }

  async click(selector: string, words: string | RegExp = ""): Promise<void> {
    (await this.find(selector, words)).click();
  }

  /** Write into a field, or choose, as people do: the page hears of it. */
  async fill(selector: string, value: string): Promise<HTMLInputElement> {
    const field = (await this.find(selector)) as HTMLInputElement;
    field.focus();
    field.value = value;
    for (const kind of ["input", "change"])
      field.dispatchEvent(new this.window.Event(kind, { bubbles: true }));
    return field;
  }

  press(node: HTMLElement, key: string): void {
    node.dispatchEvent(new this.window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }

  async lacks(selector: string, words: string | RegExp = ""): Promise<void> {
    const matches = (): number =>
      this.all(selector).filter((node) => isSeen(node) && hasWords(node, words)).length;
    await expect.poll(matches, { timeout: PATIENCE, interval: 20 }).toBe(0);
  }
}

const isSeen = (node: HTMLElement): boolean => node.checkVisibility() || node.tagName === "OPTION";
const hasWords = (node: HTMLElement, words: string | RegExp): boolean =>
  typeof words === "string" ? (node.textContent ?? "").includes(words) : words.test(node.textContent ?? "");

let frames: HTMLIFrameElement[] = [];

/** Open a page at what follows # in its address. All earlier pages go, unless it comes again. */
export async function openPage(
  name: "survey" | "dashboard" | "design",
  hash: string,
  collector: FakeCollector,
  { width = 1200, language = "en-US", again = false, prepare = () => undefined }: Opening = {},
): Promise<Page> {
  if (!again) {
    for (const frame of frames) frame.remove();
    frames = [];
    localStorage.clear();
    sessionStorage.clear();
  }
  const frame = document.createElement("iframe");
  frames.push(frame);
  frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
  const problems: string[] = [];
  const prepared = (window: Frame): void => {
    const { fetch } = window;
    window.console.error = (...words) => void problems.push(words.join(" "));
    window.addEventListener("error", ({ message }) => void problems.push(message));
    window.fetch = async (input, init = {}) => {
      const { pathname, search } = new URL(String(input), window.location.href);
      const path = `${pathname.replace(/^\/page\//, "")}${search}`;
      return path.startsWith("assets/") ? fetch(input, init) : collector.answer(path, init);
    };
    Object.defineProperty(window.navigator, "languages", { value: [language] });
    prepare(window);
  };
  Object.assign(frame, { prepare: prepared, src: `/page/${name}.html${hash}` });
  document.body.append(frame);
  await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  return new Page(frame.contentWindow as Frame, problems);
}
