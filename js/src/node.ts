#!/usr/bin/env node
/**
 * Reports from the shell: a plan's file, answers as lines of JSON on standard input, reports as lines of
 * hexadecimal.
 */

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { hexadecimal } from "./hexadecimal.js";
import {
  type Answers,
  Client,
  type ClientOptions,
  DeniableError,
  InvalidParameter,
  NotSent,
  Plan,
} from "./index.js";
import { isObject } from "./strict.js";

const USAGE = `usage: node node.js PLAN.json [--send URL] [--round N] [--concurrency N] [--plan-cap N] [--fresh] < answers.jsonl

Each line is another person: {"answers": {...}, "secret": "..."}, with the person's own secret (hexadecimal, at least 16
bytes), and "round" and "invitation" where they are needed; --round says the round of all lines. The same secret and
answers give the same report again. With --fresh a line needs no secret, or is an object of answers: then every run draws
anew, and the reports of several runs give away more. --plan-cap is the most that the plan may give away (4 unless given).
Writes the bytes of each report in hexadecimal, a line each, in order; an empty line in a round that is not the person's turn.`;

interface Person {
  readonly answers: Answers;
  readonly secret?: string;
  readonly round?: number;
  readonly invitation?: string;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      send: { type: "string" },
      round: { type: "string" },
      concurrency: { type: "string", default: "8" },
      "plan-cap": { type: "string" },
      fresh: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  const [path, ...more] = positionals;
  if (values.help || path === undefined || more.length) {
    (values.help ? process.stdout : process.stderr).write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const plan = await Plan.fromJson(await readFile(path, "utf8"));
  const atOnce = Math.max(1, Math.min(256, Number(values.concurrency) || 8));
  const options: ClientOptions = {
    fresh: values.fresh,
    ...(values["plan-cap"] === undefined ? {} : { planCap: Number(values["plan-cap"]) }),
  };
  const said = values.round === undefined ? undefined : Number(values.round);
  const waiting: Promise<string | null>[] = [];
  let [number, failed] = [0, 0];
  const settle = async (most: number): Promise<void> => {
    while (waiting.length > most) {
      const report = await waiting.shift();
      if (report === null) failed += 1;
      else process.stdout.write(`${report}\n`);
    }
  };
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (!line.trim()) continue;
    waiting.push(answered(plan, options, line, number, said, values.send));
    await settle(atOnce - 1);
  }
  await settle(0);
  return failed ? 1 : 0;
}

/**
 * One person's report and, where that is asked, sent; empty where it is not the person's turn; null, and the
 * reason for people, where that cannot be.
 */
async function answered(
  plan: Plan,
  options: ClientOptions,
  line: string,
  number: number,
  round: number | undefined,
  url?: string,
): Promise<string | null> {
  try {
    const person = read(line, round);
    const { secret } = person;
    const client = new Client(plan, secret === undefined ? options : { ...options, secret });
    const turns = await client.turns();
    if (plan.turns !== null && !turns.includes(person.round ?? 1)) return "";
    const questions = await client.questions();
    const known = plan.attributes.flatMap(({ columns }) => columns);
    const record = Object.entries(person.answers); // a whole record, of which a device may ask only some
    const answers = Object.fromEntries(
      record.filter(([name]) => questions.includes(name) || !known.includes(name)),
    );
    const report = await client.report(answers, person.round === undefined ? {} : { round: person.round });
    if (url !== undefined) {
      await client.send(
        url,
        report,
        person.invitation === undefined ? {} : { invitation: person.invitation },
      );
    }
    return hexadecimal(report.bytes);
  } catch (problem) {
    if (!(problem instanceof DeniableError)) throw problem;
    process.stderr.write(`line ${number}: ${problem.message}\n`);
    return null;
  }
}

function read(line: string, said: number | undefined): Person {
  const round = said === undefined ? {} : { round: said };
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    data = undefined;
  }
  if (!isObject(data)) throw new InvalidParameter("a line is a JSON object");
  if (!isObject(data.answers)) return { answers: data, ...round };
  return { ...round, ...data, answers: data.answers };
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (problem: unknown) => {
    if (!(problem instanceof Error)) throw problem;
    process.stderr.write(`${problem.message}\n`);
    process.exitCode = problem instanceof NotSent ? 1 : 2;
  },
);
