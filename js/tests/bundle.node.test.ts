/** What is built does what the sources do. Run `npm run build` first. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decode } from "../src/client/report.js";
import { fromHexadecimal, hexadecimal } from "../src/hexadecimal.js";
import { Plan } from "../src/plan/plan.js";
import { type Case, type Document, small } from "./helpers.js";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
const PAGE = ["client.js"];
const built = existsSync(here("../dist/client.js"));
const vectors = ["single", "split", "sample", "faked", "nested", "repeated", "metric/reports"]
  .flatMap((name): Case[] => JSON.parse(readFileSync(here(`../../spec/vectors/${name}.json`), "utf8")))
  .filter((one) => "words" in one);

if (!built && process.env.CI === "true") throw new Error("run npm run build before the tests");

describe.skipIf(!built)("the bundle for pages", () => {
  it("reads every plan of the vectors and answers it", async () => {
    const page: Document = await import(/* @vite-ignore */ here("../dist/client.js"));
    for (const one of vectors) {
      const client = await page.Client.open(one.plan, { secret: one.secret, planCap: Infinity });
      const report = await client.report(one.answers, { round: one.round });
      expect(decode(await Plan.fromJson(one.plan), report.bytes).json).toBe(report.json);
      expect(report.readable.length).toBeGreaterThan(0);
    }
    await expect(page.Client.open("{}")).rejects.toThrow(page.InvalidPlan);
  }, 60_000);

  it("holds no source of words but the operating system's", () => {
    for (const files of [PAGE, ["index.js"], ["node.js"]]) {
      const text = files.map((file) => readFileSync(here(`../dist/${file}`), "utf8")).join("\n");
      expect(text).toContain("getRandomValues");
      expect(text).not.toMatch(/Math\.random|fixedRow|words_testing/);
    }
  });

  it("stays small", () => {
    const sizes = PAGE.map((file) => readFileSync(here(`../dist/${file}`)).length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(120_000);
  });

  it("loads nothing else", () => {
    const text = readFileSync(here("../dist/client.js"), "utf8");
    expect(text).not.toMatch(/import\(|from"/);
  });
});

describe.skipIf(!built)("the bundle for tickets", () => {
  it("comes with the licenses of what is in it", async () => {
    const { exchange, drop }: Document = await import(/* @vite-ignore */ here("../dist/tickets.js"));
    expect([exchange, drop].map((one) => typeof one)).toEqual(["function", "function"]);
    const text = readFileSync(here("../dist/notices.txt"), "utf8");
    for (const name of ["@cloudflare/blindrsa-ts", "sjcl", "Cloudflare", "Emily Stark"])
      expect(text).toContain(name);
  });
});

describe.skipIf(!built)("the program for the shell", () => {
  const folder = mkdtempSync(join(tmpdir(), "deniable-"));
  const run = async (
    input: string,
    ...args: string[]
  ): Promise<{ status: number | null; out: string; err: string }> => {
    writeFileSync(join(folder, "plan.json"), `${await small()}\n`);
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, [here("../dist/node.js"), join(folder, "plan.json"), ...args]);
    let [out, err] = ["", ""];
    child.stdout.on("data", (text) => (out += text));
    child.stderr.on("data", (text) => (err += text));
    child.stdin.end(input);
    const status = await new Promise<number | null>((done) => child.on("close", done));
    return { status, out, err };
  };

  it("writes a report for each line", async () => {
    const plan = await Plan.fromJson(await small());
    const lines = Array.from({ length: 300 }, () => '{"color":"red"}').join("\n");
    const { status, out } = await run(
      `${lines}\n\n{"answers":{"color":"blue"},"secret":"${"ab".repeat(32)}"}\n`,
      "--fresh",
    );
    expect(status).toBe(0);
    const reports = out
      .trim()
      .split("\n")
      .map((line) => decode(plan, fromHexadecimal(line)));
    expect(reports.length).toBe(301);
    expect(new Set(reports.map((report) => report.id)).size).toBe(301);
  });

  it("gives the same report again for a secret, and wants one or to be told", async () => {
    const line = `{"answers":{"color":"blue"},"secret":"${"ab".repeat(32)}"}\n`;
    const [one, two] = [await run(line), await run(line)];
    expect(one.out).toBe(two.out);
    const none = await run('{"color":"red"}\n');
    expect(none.status).toBe(1);
    expect(none.err).toContain("line 1: a device must keep a secret");
    const capped = await run(line, "--plan-cap", "1");
    expect(capped.err).toContain("its cap is 1");
  });

  it("says which line it cannot answer, and answers the others", async () => {
    const { status, out, err } = await run(
      '{"color":"red"}\n{"color":"pink"}\nnonsense\n{"color":"red"}\n',
      "--fresh",
    );
    expect(status).toBe(1);
    expect(out.trim().split("\n").length).toBe(2);
    expect(err).toContain('line 2: "pink" is not a value of "color"');
    expect(err).toContain("line 3: a line is a JSON object");
  });

  it("wants each person's own secret for a plan with rounds", async () => {
    const { plan, answers, secret, round } = vectors.find((one) => JSON.parse(one.plan).rounds > 1) as Case;
    const path = join(folder, "rounds.json");
    writeFileSync(path, plan);
    const lines = [answers, { answers, round }, { answers, secret: null, round }, { answers, secret, round }];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [here("../dist/node.js"), path, "--plan-cap", "100"],
      { encoding: "utf8", input: lines.map((line) => JSON.stringify(line)).join("\n") },
    );
    expect(status).toBe(1);
    expect(stdout.trim().split("\n").length).toBe(1);
    for (const number of [1, 2]) expect(stderr).toContain(`line ${number}: this plan asks again and again`);
    expect(stderr).toContain("line 3: secret must be at least 16 bytes");
  });

  it("sends each report, a few at a time", async () => {
    const bodies: string[] = [];
    const tokens: (string | undefined)[] = [];
    let [busy, most] = [0, 0];
    const server = createServer((request, response) => {
      most = Math.max(most, ++busy);
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        setTimeout(() => {
          busy--;
          bodies.push(hexadecimal(Buffer.concat(chunks)));
          tokens.push(request.headers.authorization);
          response.statusCode = bodies.length === 5 ? 503 : 201;
          response.end('{"outcome":"counted"}');
        }, 5);
      });
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const { port } = server.address() as AddressInfo;
    const lines = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({ answers: { color: "red" }, invitation: `t${i}` }),
    );
    const { status, out } = await run(
      lines.join("\n"),
      "--fresh",
      "--send",
      `http://127.0.0.1:${port}`,
      "--concurrency",
      "4",
    );
    server.close();
    expect(status).toBe(0);
    expect(bodies.length).toBe(41);
    expect(new Set(bodies)).toEqual(new Set(out.trim().split("\n")));
    expect(new Set(tokens).size).toBe(40);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });

  it("explains itself, and refuses a plan that is none", async () => {
    expect(
      spawnSync(process.execPath, [here("../dist/node.js"), "--help"], { encoding: "utf8" }).stdout,
    ).toContain("usage");
    expect(spawnSync(process.execPath, [here("../dist/node.js")]).status).toBe(2);
    const wrong = spawnSync(process.execPath, [here("../dist/node.js"), here("../package.json")], {
      encoding: "utf8",
      input: "",
    });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain("this program reads version 2: make it again with `deniable plan`");
    rmSync(folder, { recursive: true });
  });
});
