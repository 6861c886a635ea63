/**
 * Does all that a device needs: verifies the plan, turns answers into one report, and sends it until it
 * arrives.
 *
 * A report comes from the device's secret, so the same answers give the same bytes for ever. A secret that is
 * not given is the operating system's; there is no way to pass other randomness in.
 */

import type { Answers } from "../domains/attribute.js";
import { InvalidParameter, NotSent, shown } from "../errors.js";
import { isWhole } from "../exact.js";
import { fromHexadecimal, hexadecimal } from "../hexadecimal.js";
import { Plan } from "../plan/plan.js";
import {
  type Bytes,
  below,
  type Code,
  type Halves,
  type Memory,
  Row,
  remembered,
  type Strand,
  sampled,
  system,
} from "../randomness/words.js";
import { type Fields, parseJson } from "../strict.js";
import { drop, find, WAIT } from "./kept_tickets.js";
import { checkedCap, Ledger, refuseAboveCap, type Waiting } from "./ledger.js";
import { fromBytes, Report } from "./report.js";

const RETRIED = [408, 425, 429, 500, 502, 503, 504];
const PATIENCE = 60_000; // milliseconds: no pause between two attempts is longer
const LONGEST_TIMER = 2 ** 31 - 1; // milliseconds: a longer timer ends at once

export interface ClientOptions {
  /**
   * What reports come from: at least 16 bytes, or their hexadecimal digits. The ledger's own unless given.
   */
  readonly secret?: Uint8Array | string;
  /** The most that all studies of the ledger together may give away, in nats: the ledger's own unless given. */
  readonly cap?: number;
  /**
   * The most that this plan may give away, in nats, on a device without a ledger, which knows no other study: 4
   * unless given. Nobody adds up several plans then.
   */
  readonly planCap?: number;
  /** What the device remembers; without one, the client remembers as long as it lives. */
  readonly ledger?: Ledger;
  /**
   * For a person who answers once in a lifetime, on a device that keeps nothing: another client draws anew,
   * and both reports together give away more.
   */
  readonly fresh?: boolean;
}

export interface ReportOptions {
  readonly round?: number;
  /** Whether an answer is changed on purpose: a second report, whose loss the ledger adds. */
  readonly change?: boolean;
}

export interface SendOptions {
  /** A single-use invitation, where the collector asks for one. */
  readonly invitation?: string;
  /** The ticket that an invitation was exchanged for, where the plan has a ticket key. */
  readonly ticket?: string;
  readonly attempts?: number;
  /** Milliseconds for one attempt. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface WaitingOptions extends Pick<SendOptions, "attempts" | "timeout" | "signal"> {
  /** How many of the reports are sent; all unless given. */
  readonly most?: number;
  /** Whether each report leaves by itself, so that nothing links them. */
  readonly apart?: boolean;
  /** Milliseconds before each request; from 1 to 10 minutes at random unless given. */
  readonly wait?: number;
}

export type PostponeOptions = Pick<SendOptions, "invitation" | "ticket">;

/** What became of the reports of a plan that waited on a device. */
export interface Delivery {
  readonly arrived: number;
  readonly waiting: number;
  /** A sentence for each round that was lost. */
  readonly lost: readonly string[];
}

const RECEIPTS = ["counted", "counted before"] as const;
export type Receipt = (typeof RECEIPTS)[number];
/** What a collector says of a report that waits no more, and why it is lost, where it is. */
const SETTLED = { counted: "", "counted before": "", closed: "closed" } as const;

/** One person's device and one plan. */
export class Client {
  readonly ledger: Ledger;
  private readonly hasLedger: boolean;
  private readonly givenCap: number | undefined;
  private readonly secret: Uint8Array | undefined;
  private last: Promise<unknown> = Promise.resolve();

  /** Refuses a plan that gives away more than the person has allowed. */
  constructor(
    readonly plan: Plan,
    options: ClientOptions = {},
  ) {
    if (!(plan instanceof Plan)) throw new InvalidParameter("a client needs a Plan; see Client.open");
    plan.verify();
    const { ledger, secret, fresh, cap, planCap } = options;
    if (cap !== undefined && !ledger)
      throw new InvalidParameter(
        `a cap holds for all studies together, and only a ledger adds them up: give a ledger, or limit this plan alone by planCap: ${cap}`,
      );
    if (planCap !== undefined && ledger)
      throw new InvalidParameter(
        `planCap limits the plan of a client without a ledger; a ledger limits all of its studies together: ledger.cap = ${planCap}`,
      );
    this.ledger = ledger ?? new Ledger();
    this.hasLedger = Boolean(ledger);
    const limit = cap ?? planCap;
    this.givenCap = limit === undefined ? undefined : checkedCap(limit);
    refuseAboveCap(this.ledger, [plan], this.cap);
    if ((plan.rounds || !fresh) && secret === undefined && !ledger) {
      throw new InvalidParameter(
        `${plan.rounds ? "this plan asks again and again: " : ""}a device must keep a secret (32 random bytes), or a ledger${plan.rounds ? "" : ", or say fresh"}`,
      );
    }
    this.secret = typeof secret === "string" ? fromHexadecimal(secret) : secret;
  }

  /** What holds now: a person may set another limit while the client lives. */
  private get cap(): number {
    return this.givenCap ?? this.ledger.cap;
  }

  /** Read and verify a plan, and be its client. */
  static async open(text: string, options: ClientOptions = {}): Promise<Client> {
    return new Client(await Plan.fromJson(text), options);
  }

  /**
   * The names of the questions to ask: all, or those that the device has drawn where the plan says so. The
   * draw depends on the plan and the device's secret alone, so that it is the same in every round.
   */
  async questions(): Promise<string[]> {
    const drawn = await this.drawn();
    const attributes = this.plan.attributes.filter(({ name }) => drawn.includes(name));
    return [...new Set([...(this.plan.known?.names ?? []), ...attributes.flatMap(({ columns }) => columns)])];
  }

  /** The rounds in which this device answers, in order: all, or those that it has drawn where the plan says so. */
  turns(): Promise<number[]> {
    return drawTurns(this.plan, this.secret ?? this.ledger.secret);
  }

  private async drawn(): Promise<string[]> {
    const memory = await remembered(this.secret ?? this.ledger.secret, this.plan.id);
    const strands = await this.strands(this.secret ?? this.ledger.secret);
    return drawAttributes(this.plan, new Row(new Uint32Array(), memory, 0, 0, 0, strands));
  }

  /** Where kept words come from: this plan, or those that it continues. */
  private async strands(secret: Uint8Array): Promise<Strand[]> {
    const { before, origins, id } = this.plan;
    if (!before.length) return [];
    const ids = [...before.map((plan) => plan.id), id];
    const memories = await Promise.all(ids.map((each) => remembered(secret, each)));
    return origins.map(({ plans, firsts }) => ({
      memories: plans.map((each) => memories[ids.indexOf(each)] as Memory),
      firsts,
    }));
  }

  /**
   * One report of one person's answers. A round that was answered gives the same report again, whatever is
   * answered, unless `change` is said. A plan with several rounds needs to be told the `round`.
   */
  report(answers: Answers, { round, change = false }: ReportOptions = {}): Promise<Report> {
    const turn = this.last.then(() =>
      this.ledger.alone(() => this.drawOnce(answers, this.checkedRound(round), change)),
    );
    this.last = turn.catch(() => undefined); // one after the other, so that none is drawn twice
    return turn;
  }

  private checkedRound(round: number | undefined): number {
    const rounds = this.plan.rounds ?? 1;
    if (round === undefined && rounds === 1) return 1;
    if (round === undefined)
      throw new InvalidParameter(`this plan has rounds 1 to ${rounds}: say which, { round: 1 }`);
    if (!isWhole(round, 1, rounds))
      throw new InvalidParameter(`round must be from 1 to ${rounds}, got ${round}`);
    return round;
  }

  private async drawOnce(answers: Answers, round: number, change: boolean): Promise<Report> {
    const { plan, ledger, secret } = this;
    if (change && plan.rounds)
      throw new InvalidParameter(
        "a plan with rounds takes one report a round; change the answer in the next",
      );
    const turns = await this.turns();
    if (!turns.includes(round))
      throw new InvalidParameter(
        `round must be a turn of this device, one of client.turns(), got ${round}; do not ask now`,
      );
    // what cannot be reported is refused, whether or not there is a report
    plan.encode(answers, await this.drawn());
    plan.known?.code(answers);
    const before = ledger.find(plan, round);
    if (before && !change) return fromBytes(plan, before);
    refuseAboveCap(ledger, [plan], this.cap);
    const secretBefore = ledger.secret;
    const used = secret === undefined ? secretBefore : secret;
    const [memory, strands] = await Promise.all([remembered(used, plan.id), this.strands(used)]);
    const report = await makeReport(
      plan,
      answers,
      round,
      new Row(new Uint32Array(), memory, 0, round, 0, strands),
      (body) => memory(plan.linked ? ["linked"] : ["id", round, body], 0, 2),
    );
    // forgotten meanwhile, by a page without locks
    if (`${secretBefore}` !== `${ledger.secret}`) return this.drawOnce(answers, round, change);
    if (!ledger.has(plan, report.bytes)) ledger.add(plan, round, report.bytes, this.cap);
    return report;
  }

  /** Send a report until it has arrived; however often that is, it is counted once. */
  async send(url: string, report: Report, options: SendOptions = {}): Promise<Receipt> {
    checkReport(report);
    checkDelivery(url, options);
    return this.post(url, report.bytes, this.token(options), options);
  }

  /** What lets a report in, as a header says it; empty where there is nothing. */
  private token({ invitation, ticket }: PostponeOptions): string {
    if (invitation !== undefined && this.plan.ticketKey)
      throw new InvalidParameter("this plan takes tickets: exchange the invitation for one");
    if (ticket !== undefined && !this.plan.ticketKey)
      throw new InvalidParameter("a ticket is for plans with tickets, and this one has none");
    if (ticket !== undefined) return `Ticket ${ticket}`;
    return invitation === undefined ? "" : `Invitation ${invitation}`;
  }

  /** Post a report, which waits no more once it has arrived. */
  private async post(url: string, report: Bytes, token: string, options: SendOptions): Promise<Receipt> {
    const address = `${trimmed(url)}/reports`;
    const receipt = await deliver(address, "report", report, token, options, (_, { outcome }) =>
      RECEIPTS.includes(outcome as Receipt) ? (outcome as Receipt) : null,
    );
    await this.ledger.alone(async () => this.ledger.settle({ [hexadecimal(report)]: "" }));
    return receipt;
  }

  /**
   * Post reports in one request, and count those that have arrived.
   *
   * They are in the order of their bytes, so that it tells no more than they do. Where the collector takes no
   * batches, or not so long ones, all wait on.
   */
  private async postTogether(url: string, reports: readonly string[], options: SendOptions): Promise<number> {
    const batch = reports.toSorted();
    const body = joined(batch.map(fromHexadecimal));
    const answer = deliver(`${trimmed(url)}/reports/batch`, "reports", body, "", options, (_, said) => {
      const outcomes = said.outcomes as readonly string[] | undefined;
      return Array.isArray(outcomes) && outcomes.length === batch.length ? (outcomes as string[]) : null;
    });
    const outcomes = await answer.catch((problem) => {
      if (isRefusal(problem)) return [];
      throw problem;
    });
    const settled = Object.fromEntries(
      batch.flatMap((report, i) => {
        const lost = SETTLED[outcomes[i] as keyof typeof SETTLED];
        return lost === undefined ? [] : [[report, lost]];
      }),
    );
    await this.ledger.alone(async () => this.ledger.settle(settled));
    return Object.values(settled).filter((lost) => !lost).length;
  }

  /**
   * Let a report wait in the ledger until `sendWaiting` sends it, on a device that may be offline. At most 32 reports
   * wait, for at most 30 days. What is dropped is lost: `ledger.lost` says so. A report waits with its invitation, or
   * with a ticket that was exchanged for it while there was a network, and that is kept for no other report.
   */
  async postpone(report: Report, options: PostponeOptions = {}): Promise<void> {
    this.requireLedger();
    checkReport(report);
    if (this.plan.ticketKey && options.ticket === undefined)
      throw new InvalidParameter(
        "this plan takes tickets, so that a report waits with one: exchange its invitation while there is a network, and give { ticket }",
      );
    const { ledger, plan } = this;
    const token = this.token(options);
    await ledger.alone(async () => {
      ledger.postpone(plan, report.bytes, token);
      if (options.ticket !== undefined && find(ledger, plan)?.ticket === options.ticket) drop(ledger, plan);
    });
  }

  /** Refuse to let reports wait where they would be lost when the program ends, and nobody told. */
  private requireLedger(): void {
    if (!this.hasLedger)
      throw new InvalidParameter(
        "reports wait in a ledger, and this client has none, so that they would be lost when the program ends; make it with one, new Client(plan, { ledger: new Ledger(browserStore()) })",
      );
  }

  /**
   * Send the plan's reports that wait, or at most some of them, until the collector cannot be reached.
   *
   * They leave together, in one request, after a random pause of 1 to 10 minutes, or after `wait` milliseconds. Its
   * size tells how many there are, and nothing else. With `apart`, each leaves by itself, in a random order and after a
   * pause of its own, so that nothing links them; so does each that has an invitation or a ticket, and all of them
   * where the collector takes no batches. A report of a round that the collector has closed is lost. One that it
   * refuses otherwise waits on, and the refusal is thrown once all others were sent.
   */
  async sendWaiting(url: string, options: WaitingOptions = {}): Promise<Delivery> {
    const { ledger, plan } = this;
    const { most, apart, wait, ...sending } = { attempts: 2, ...options };
    this.requireLedger();
    checkDelivery(url, sending);
    if (wait !== undefined) checkTime("wait", wait, 0);
    if (most !== undefined) checkCount("most", most);
    const before = ledger.lost;
    const list = (): Promise<Waiting[]> => ledger.alone(async () => ledger.listWaiting(plan));
    const chosen = shuffled(await list()).slice(0, most);
    const pause = async (): Promise<void> => {
      const time = wait ?? WAIT[0] + below(system(1), 0, WAIT[1] - WAIT[0] + 1);
      await new Promise((resolve) => setTimeout(resolve, time));
      options.signal?.throwIfAborted();
    };
    const together = apart ? [] : chosen.filter(({ token }) => !token).map(({ report }) => report);
    let [arrived, refusal] = [0, null as NotSent | null];
    try {
      if (together.length > 1) {
        await pause();
        arrived = await this.postTogether(url, together, sending);
      }
      const still = (await list()).map(({ report }) => report);
      for (const { report, token } of chosen.filter(({ report }) => still.includes(report))) {
        await pause();
        try {
          await this.post(url, fromHexadecimal(report), token, sending);
          arrived++;
        } catch (problem) {
          if (!isRefusal(problem)) throw problem;
          if (problem.reason === "closed")
            await ledger.alone(async () => ledger.settle({ [report]: "closed" }));
          else refusal = problem;
        }
      }
    } catch (problem) {
      if (!(problem instanceof NotSent)) throw problem; // else nobody answers, so that everything else waits on
    }
    if (refusal) throw refusal;
    const waiting = (await list()).length;
    return { arrived, waiting, lost: ledger.lost.filter((sentence) => !before.includes(sentence)) };
  }

  /** @internal Ask for the blind signature of a message, until there is an answer as long as the message. */
  async sign(url: string, blinded: Bytes, invitation: string, options: SendOptions = {}): Promise<Bytes> {
    checkDelivery(url, options);
    const address = `${trimmed(url)}/plans/${this.plan.id}/signatures`;
    return deliver(address, "invitation", blinded, `Invitation ${invitation}`, options, (answer) =>
      answer.length === blinded.length ? answer : null,
    );
  }
}

/** Whether the collector refused a message, so that sending it again does not help. */
const isRefusal = (problem: unknown): problem is NotSent =>
  problem instanceof NotSent && problem.status > 0 && !RETRIED.includes(problem.status);

/** Reports in one message, each after its length in 4 bytes. */
const joined = (reports: readonly Bytes[]): Bytes =>
  new Uint8Array(reports.flatMap((each) => [...new Uint8Array(Uint32Array.of(each.length).buffer), ...each]));

/** In a random order. */
function shuffled<T>(items: readonly T[]): T[] {
  const order: T[] = [];
  for (const item of items) {
    const place = below(system(1), 0, order.length + 1);
    order.splice(place, 0, item);
  }
  return order;
}

/** Check to which collector a message goes, how often it is tried, and for how many milliseconds each time. */
const checkDelivery = (url: unknown, { attempts, timeout }: SendOptions): void => {
  if (!isAddress(url))
    refuse("a collector's address is like http://localhost:8000 or https://example.org", url);
  if (attempts !== undefined) checkCount("attempts", attempts);
  if (timeout !== undefined) checkTime("timeout", timeout, 1);
};

/** Check a report; what was given in its place is not shown, since it may be answers. */
const checkReport = (report: unknown): void => {
  if (!(report instanceof Report)) {
    const kind = report === null ? "null" : typeof report;
    throw new InvalidParameter(`what is sent is a report, await client.report(answers), got ${kind}`);
  }
};

const checkCount = (name: string, count: unknown): void => {
  if (!isWhole(count, 1, Infinity)) refuse(`${name} must be an integer of at least 1`, count);
};

const checkTime = (name: string, time: unknown, least: number): void => {
  if (typeof time !== "number" || !(time >= least && time <= LONGEST_TIMER))
    refuse(`${name} is a number of milliseconds from ${least} to ${LONGEST_TIMER}`, time);
};

const refuse = (allowed: string, given: unknown): never => {
  throw new InvalidParameter(`${allowed}, got ${typeof given === "number" ? given : shown(given)}`);
};

/** Whether this is an address that can be asked: of a host, without a name, a query or a place in the page. */
const isAddress = (url: unknown): boolean => {
  if (typeof url !== "string" || !/^https?:\/\/[^/\s?#@][^\s?#@]*$/i.test(url)) return false;
  try {
    return new URL(url).port !== "0";
  } catch {
    return false;
  }
};

const trimmed = (url: string): string => url.replace(/\/+$/, "");

/** Post a message until there is an answer that `read` takes. */
async function deliver<T>(
  address: string,
  what: string,
  body: Bytes,
  token: string,
  { attempts = 8, timeout = 10_000, signal }: SendOptions,
  read: (answer: Bytes, said: Fields) => T | null,
): Promise<T> {
  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (token) headers.authorization = token;
  let [problem, status, said] = ["it was not tried", 0, {} as Fields];
  for (let attempt = 0; attempt < attempts; attempt++) {
    let pause = 100 * 2 ** attempt;
    [status, said] = [0, {}];
    try {
      const limit = AbortSignal.any([AbortSignal.timeout(timeout), ...(signal ? [signal] : [])]);
      const answer = await fetch(address, { method: "POST", headers, body, signal: limit, ...DISCREET });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const text = new TextDecoder().decode(bytes);
      said = Object(parseJson(text)) as Fields;
      const result = [200, 201].includes(answer.status) ? read(bytes, said) : null;
      if (result !== null) return result;
      problem = `${said.detail ?? ""}`.replace(/\.$/, "") || `${answer.status} ${text.slice(0, 1000)}`;
      // else not the collector's: so answers a network that wants a password
      if (!answer.ok) status = answer.status;
      // NaN for a date: not waited for
      pause = Math.max(pause, 1000 * Number(answer.headers.get("retry-after")) || 0);
    } catch (failure) {
      signal?.throwIfAborted();
      problem = (failure as Error).message;
    }
    if (status && !RETRIED.includes(status))
      throw new NotSent(`the collector refused the ${what}: ${problem}`, status, said);
    // with chance, so that devices do not come back all at once
    const wait = Math.min(PATIENCE, pause) * (1 + below(system(1), 0, 1000) / 1000);
    if (attempt + 1 < attempts) await new Promise((resolve) => setTimeout(resolve, wait));
    signal?.throwIfAborted();
  }
  throw new NotSent(`the ${what} did not arrive (${problem}); send it again later`, status, said);
}

const DISCREET = {
  credentials: "omit",
  cache: "no-store",
  redirect: "error",
  referrerPolicy: "no-referrer",
} as const;

/** The names of the attributes that a device with these words asks about. */
const drawAttributes = async ({ ask, attributes, mechanism }: Plan, row: Row): Promise<string[]> => {
  const isDrawn = ask === "all" ? undefined : await mechanism.drawn?.(row);
  return attributes.filter((_, j) => isDrawn?.[j] ?? true).map(({ name }) => name);
};

/** The rounds of a plan in which a device with this secret answers, in order. */
export const drawTurns = async (
  { id, rounds, turns }: Pick<Plan, "id" | "rounds" | "turns">,
  secret: Uint8Array,
): Promise<number[]> => {
  const all = rounds ?? 1;
  if (turns === null) return Array.from({ length: all }, (_, i) => i + 1);
  const words = await (await remembered(secret, id))(["turns"], 0, turns);
  return sampled(words, turns, all)
    .map((round) => round + 1)
    .sort((a, b) => a - b);
};

/** @internal Makes a report from these words; its id comes from its body, or is its person's pseudonym. */
export async function makeReport(
  plan: Plan,
  answers: Answers,
  round: number,
  row: Row,
  id: (body: Bytes) => Promise<Halves>,
): Promise<Report> {
  const codes = plan.encode(answers, await drawAttributes(plan, row));
  for (const [j, { domain }] of plan.attributes.entries()) {
    if ((codes[j] as Code) >= 0) continue;
    const words = await row.from(plan.mechanism.words + j).recall(1);
    codes[j] = domain.draw?.(words) ?? below(words, 0, Math.min(domain.k, 2 ** 32));
  }
  const parts = await plan.mechanism.encode(codes, row);
  const group = plan.known?.code(answers) ?? 0;
  const { body } = new Report(plan, round, new Uint8Array(16), parts, group);
  return new Report(plan, round, new Uint8Array((await id(body)).buffer, 0, 16), parts, group);
}
