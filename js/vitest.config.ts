import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
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

const inChromium = {
  extends: true as const,
  test: {
    name: "chromium",
    exclude: ["tests/**/*.node.test.ts", "node_modules/**"],
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
  server: { fs: { allow: [".."] } },
  test: {
    include: ["tests/**/*.test.ts"],
    testTimeout: 60_000, // others work on this machine too
    projects: [
      { extends: true, test: { name: "node", environment: "node", exclude: ["tests/**/*.browser.test.ts"] } },
      ...(existsSync(chromium) ? [inChromium] : []),
    ],
  },
});
