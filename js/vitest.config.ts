import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const quiet = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

if (process.env.CI === "true" && !existsSync(chromium)) {
  throw new Error("the tests run in a real browser too: install chromium, or say where it is in CHROMIUM");
}

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const PYTHON = process.env.PYTHON ?? here("../.venv/bin/python");
const ofPages = "tests/*_{page,words}.browser.test.ts"; // they need what Python prints
const isAlone = !existsSync(PYTHON) && process.env.CI !== "true";
const KINDS = { html: "text/html", js: "text/javascript", css: "text/css", json: "application/json" };
let studies = "";

/**
 * The pages below /page/, as a collector serves them: the element of the frame prepares its
 * window before the script runs. And what tests/pages.py prints, once for all tests.
 */
const pages: Plugin = {
  name: "pages",
  configureServer: ({ middlewares }) => {
    middlewares.use("/page/", ({ url = "" }, response) => {
      const [name = ""] = url.replace(/^\/(assets\/)?/, "").split("?");
      response.setHeader("content-type", KINDS[name.split(".").at(-1) as keyof typeof KINDS] ?? "text/plain");
      if (name === "studies.json") return void response.end((studies ||= makeStudies()));
      const file = here(`../src/deniable/collect/pages/${name}`);
      const text = /^[\w.]+$/.test(name) && existsSync(file) ? readFileSync(file, "utf8") : "nothing is here";
      response.end(text.replace("<head>", "<head><script>frameElement.prepare(window)</script>"));
    });
  },
};

const makeStudies = (): string => {
  const python = existsSync(PYTHON) ? PYTHON : "python3";
  return execFileSync(python, [here("tests/pages.py")], { encoding: "utf8", maxBuffer: 1 << 28 });
};

const inChromium = {
  extends: true as const,
  test: {
    name: "chromium",
    exclude: ["tests/**/*.node.test.ts", "node_modules/**", ...(isAlone ? [ofPages] : [])],
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({
        launchOptions: { executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", ...quiet] },
      }),
      instances: [{ browser: "chromium" as const }],
    },
  },
};

export default defineConfig({
  plugins: [pages],
  server: { fs: { allow: [".."] } },
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 60_000, // others work on this machine too
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      { extends: true, test: { name: "node", environment: "node", exclude: ["tests/**/*.browser.test.ts"] } },
      ...(existsSync(chromium) ? [inChromium] : []),
    ],
  },
});
