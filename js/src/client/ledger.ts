/**
 * Stores what a device remembers: its secret, its reports, and what they have given away over all studies.
 *
 * Answers are never in it.
 */

import { AboveCap, DeniableError, InvalidParameter, must } from "../errors.js";
import { fromHexadecimal, hexadecimal } from "../hexadecimal.js";
import { lossOfAll } from "../losses/losses.js";
import type { Plan } from "../plan/plan.js";
import { type Bytes, randomBytes } from "../randomness/words.js";

const VERSION = 1;
/**
 * The most that all studies together may give away on a device whose person has set no cap, in nats: as much as
 * a single study may. A device cannot know whether two plans ask the same, so a collector that splits one study
 * into many plans must not get more.
 */
export const DEFAULT_CAP = 4;
/** Reports that wait in one ledger: beyond that the oldest is dropped. */
export const MOST_WAITING = 32;
/** Days that a report waits before it is dropped. */
export const LONGEST_WAIT = 30;
const DAY = 86_400_000; // milliseconds
const KEY = "deniable";
const CAP = "deniable.cap";
const TICKETS = "deniable.tickets";

/** Where a ledger keeps its text: by name, like localStorage. */
export interface Store {
  get(key: string): string | null;
  set(key: string, text: string): void;
  remove(key: string): void;
  /** Do work while nobody else does, where several pages share the store. */
  alone?<T>(work: () => Promise<T>): Promise<T>;
}

/** A report that was made, and what its plan states. */
export interface Entry {
  /** The plan's id. */
  readonly plan: string;
  readonly title: string;
  readonly round: number;
  /** The report's bytes in hexadecimal. */
  readonly report: string;
  /**
   * The loss of all of the plan's reports, in billionths, as long as the answer does not change; null
   * without a bound.
   */
  readonly unchanged: number | null;
  /** The loss of all of the plan's reports, in billionths, whatever changes; null without a bound. */
  readonly changing: number | null;
  /** The plans that the plan continues, if any, and both losses of all of them with it. */
  readonly continues?: readonly string[];
  readonly chain?: Pick<Entry, "unchanged" | "changing">;
  /** The day, counted from 1970, from which on it waits to be sent; absent where it does not wait. */
  readonly since?: number | undefined;
  /** Why it waits no more though it has not arrived; absent where it was not lost. */
  readonly lost?: Lost | undefined;
  /** The invitation or the ticket that it waits with, or has arrived with, as in a header. */
  readonly token?: string | undefined;
}

/** A report that waits, in hexadecimal, and the invitation or the ticket that is sent with it; empty where there is none. */
export interface Waiting {
  readonly report: string;
  readonly token: string;
}

/** Too old, the oldest of too many, or of a round that the collector has closed. */
export type Lost = "age" | "number" | "closed";

type Spent = Pick<Entry, "unchanged" | "changing" | "continues" | "chain">;

/**
 * What all reports of a device give away together of the person, in billionths, by adding up: nobody can do
 * worse.
 */
export interface Lifetime {
  readonly studies: number;
  readonly reports: number;
  /** If no answer changed between the rounds of a study; null where a plan has no bound. */
  readonly unchanged: number | null;
  /** Whatever changed: what a cap is compared with. */
  readonly changing: number | null;
}

/** Each entry is stored before its report can be sent. */
export class Ledger {
  constructor(private readonly store: Store = memoryStore()) {}

  /** The device's secret: 32 random bytes, made at first use. */
  get secret(): Bytes {
    return fromHexadecimal(this.read().secret);
  }

  /** What was made, in order. */
  get entries(): readonly Entry[] {
    return this.read().entries;
  }

  /** The most that all studies together may give away, in nats: 4 until the person sets another; null for 4 again. */
  get cap(): number {
    const text = this.store.get(CAP);
    return text === null ? DEFAULT_CAP : checkedCap(Number(text));
  }

  set cap(cap: number | null) {
    if (cap === null) this.store.remove(CAP);
    else this.store.set(CAP, String(checkedCap(cap)));
  }

  /** The newest report that was made for this plan and round, if there is one. */
  find(plan: Plan, round: number): Bytes | null {
    const entries = this.of(plan).filter((entry) => entry.round === round);
    return entries.length ? fromHexadecimal(entries.at(-1)?.report as string) : null;
  }

  /** @internal Whether this report was made. */
  has(plan: Plan, report: Uint8Array): boolean {
    return this.of(plan).some((entry) => entry.report === hexadecimal(report));
  }

  /** @internal What the plan's reports give away with one more, which are of one person: in billionths. */
  changedLoss(plan: Plan): number {
    return (1 + this.of(plan).length) * plan.linkedLoss;
  }

  private of(plan: Plan): readonly Entry[] {
    return this.entries.filter((entry) => entry.plan === plan.id);
  }

  /**
   * Write down a report before it is sent: from then on its loss is spent, whether it is sent or not. Refused
   * where it is above a cap, though another page may have spent what was left a moment ago.
   */
  add(plan: Plan, round: number, report: Uint8Array, cap: number = this.cap): void {
    const { secret, entries } = this.read();
    const isChanged = this.find(plan, round) !== null;
    const loss = isChanged && this.changedLoss(plan);
    refuseAboveCap(this, [plan], cap, loss === false ? undefined : loss);
    const entry = {
      plan: plan.id,
      title: plan.title,
      round,
      report: hexadecimal(report),
      ...entryLosses(plan),
      ...(loss === false ? {} : { unchanged: loss, changing: loss }),
    };
    this.write(secret, [...entries, entry]);
  }

  /** A sentence for each report that waited here and was dropped. */
  get lost(): string[] {
    const why: Record<Lost, string> = {
      age: `its report waited for more than ${LONGEST_WAIT} days`,
      number: `more than ${MOST_WAITING} reports waited, and its report was the oldest`,
      closed: "the collector takes no more reports of it",
    };
    return this.entries.flatMap(({ round, title, lost }) =>
      lost ? [`Round ${round}${title && ` of '${title}'`} is lost: ${why[lost]}.`] : [],
    );
  }

  /** @internal Let a report of this ledger wait to be sent, with what lets it in and no other report. */
  postpone(plan: Plan, bytes: Uint8Array, token: string): void {
    const report = hexadecimal(bytes);
    if (!this.has(plan, bytes))
      throw new InvalidParameter("only a report that was made with this ledger can wait in it");
    if (token && this.entries.some((entry) => entry.token === token && entry.report !== report))
      throw new InvalidParameter("another report has this ticket or invitation, which lets in one");
    this.change((entry) =>
      entry.report === report
        ? { ...entry, since: today(), lost: undefined, token: token || undefined }
        : entry,
    );
    this.listWaiting(plan);
  }

  /** @internal Let reports wait no more, by their hexadecimal: each has arrived, or it is lost for a reason. */
  settle(outcomes: Readonly<Record<string, Lost | "">>): void {
    this.change((entry) => {
      const lost = outcomes[entry.report];
      if (entry.since === undefined || lost === undefined) return entry;
      return lost ? { ...entry, since: undefined, lost, token: undefined } : { ...entry, since: undefined };
    });
  }

  /** @internal The reports of a plan that wait; what is too old or too many, of any plan, is dropped first. */
  listWaiting(plan: Plan): Waiting[] {
    const age = ({ since }: Entry): number => today() - (since as number);
    const waiting = this.entries.filter(({ since }) => since !== undefined);
    const old = waiting.filter((entry) => age(entry) > LONGEST_WAIT);
    const rest = waiting.filter((entry) => !old.includes(entry)).sort((a, b) => age(b) - age(a));
    const many = rest.slice(0, Math.max(0, rest.length - MOST_WAITING));
    this.settle({
      ...Object.fromEntries(old.map(({ report }) => [report, "age" as const])),
      ...Object.fromEntries(many.map(({ report }) => [report, "number" as const])),
    });
    return this.of(plan)
      .filter(({ since }) => since !== undefined)
      .map(({ report, token = "" }) => ({ report, token }));
  }

  private change(changed: (entry: Entry) => Entry): void {
    const { secret, entries } = this.read();
    const after = entries.map(changed);
    if (after.some((entry, i) => entry !== entries[i])) this.write(secret, after);
  }

  /**
   * The losses of all studies, added up; a plan with rounds counts once, for all of them. With plans: if these
   * are answered as well, or if they give away this much.
   */
  lifetime(also: readonly Plan[] = [], loss?: number): Lifetime {
    const { entries } = this.read();
    const plans = new Map<string, Spent>(entries.map((entry) => [entry.plan, entry]));
    for (const plan of also) {
      if (loss !== undefined) plans.set(plan.id, { ...entryLosses(plan), unchanged: loss, changing: loss });
      else if (!plans.has(plan.id)) plans.set(plan.id, entryLosses(plan));
    }
    const total = (side: "unchanged" | "changing"): number | null => {
      const continued = new Set([...plans.values()].flatMap(({ continues }) => continues ?? []));
      const last = [...plans].filter(([id]) => !continued.has(id)).map(([, losses]) => losses);
      const figures = last.map(
        ({ continues, chain, ...own }) =>
          (chain && continues?.some((id) => plans.has(id)) ? chain : own)[side],
      );
      return figures.every(Number.isInteger)
        ? (figures as number[]).reduce((sum, loss) => sum + loss, 0)
        : null;
    };
    return {
      studies: plans.size,
      reports: entries.length,
      unchanged: total("unchanged"),
      changing: total("changing"),
    };
  }

  /**
   * Delete everything, the secret too. After this, answers are drawn again, which gives away more.
   */
  forget(): Promise<void> {
    return this.alone(async () => {
      this.store.remove(KEY);
      this.store.remove(CAP);
      this.store.remove(TICKETS);
    });
  }

  /** @internal What is kept of tickets that were not sent yet, as text; null for none. */
  get tickets(): string | null {
    return this.store.get(TICKETS);
  }

  set tickets(text: string) {
    this.store.set(TICKETS, text);
    if (this.store.get(TICKETS) !== text) throw new DeniableError("this device keeps nothing");
  }

  /** @internal Do work while no other page does. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.store.alone?.(work) ?? work();
  }

  private read(): { secret: string; entries: readonly Entry[] } {
    const text = this.store.get(KEY);
    if (text !== null) return understood(text);
    const secret = hexadecimal(randomBytes(32));
    this.write(secret, []);
    return { secret, entries: [] };
  }

  private write(secret: string, entries: readonly Entry[]): void {
    const text = JSON.stringify({ version: VERSION, secret, entries });
    this.store.set(KEY, text);
    if (this.store.get(KEY) !== text) {
      throw new DeniableError("this device keeps nothing; is its storage full?");
    }
  }
}

/** The day, counted from 1970. */
const today = (): number => Math.floor(Date.now() / DAY);

/** What is written down of a plan that is answered. */
const entryLosses = ({ stated, before }: Plan): Spent => {
  const { counted, unchanged } = lossOfAll(stated);
  const { chain } = stated;
  if (!chain) return { unchanged, changing: counted };
  const continues = before.map(({ id }) => id);
  return {
    unchanged,
    changing: counted,
    continues,
    chain: { unchanged: chain.same_value, changing: chain.changing_values },
  };
};

/** Refuse a plan that shares kept words with another that was answered, where neither continues the other. */
const refuseBranch = ({ entries }: Ledger, { id, before }: Plan): void => {
  const mine = new Set(before.map((plan) => plan.id));
  const isApart = ({ plan, continues = [] }: Entry): boolean =>
    plan !== id &&
    !mine.has(plan) &&
    !continues.includes(id) &&
    [plan, ...continues].some((other) => mine.has(other));
  must(
    !entries.some(isApart),
    "continues",
    () => "this device answered another plan that continues the same",
  );
};

/**
 * Refuse plans, which are asked together, that lift the loss of all studies of the device above its cap. With
 * `changed`, this is what the reports of one plan give away, in billionths.
 */
export const refuseAboveCap = (
  ledger: Ledger,
  plans: readonly Plan[],
  cap: number = ledger.cap,
  changed?: number,
): void => {
  const isAnswered = (plan: Plan): boolean => ledger.entries.some((entry) => entry.plan === plan.id);
  // what was answered is lost already
  if (changed === undefined && plans.every(isAnswered)) return;
  for (const plan of plans) refuseBranch(ledger, plan);
  const total = ledger.lifetime(plans, changed).changing;
  if ((total ?? Infinity) > cap * 1e9) {
    const all = total === null ? "without a bound" : `up to ${(total / 1e9).toPrecision(6)}`;
    throw new AboveCap(
      `with this study the device gives away ${all} over all studies, and its cap is ${cap}`,
    );
  }
};

export const checkedCap = (cap: number): number => {
  if (cap > 0) return cap;
  throw new InvalidParameter(`a cap is a positive number, or Infinity for plans without a bound, got ${cap}`);
};

/** A store that lasts as long as the page. */
export function memoryStore(): Store {
  const texts = new Map<string, string>();
  return {
    get: (key) => texts.get(key) ?? null,
    set: (key, text) => void texts.set(key, text),
    remove: (key) => void texts.delete(key),
  };
}

/** The browser's own store for this site; its pages take turns. */
export function browserStore(): Store {
  const storage = localStorage;
  const store: Store = {
    get: (key) => storage.getItem(key),
    set: (key, text) => storage.setItem(key, text),
    remove: (key) => storage.removeItem(key),
  };
  const locks = navigator.locks as LockManager | undefined;
  return locks ? { ...store, alone: (work) => locks.request(KEY, work) as ReturnType<typeof work> } : store;
}

const understood = (text: string): { secret: string; entries: readonly Entry[] } => {
  try {
    const { version, secret, entries } = JSON.parse(text);
    const isWhole = ({ plan, round, report, unchanged, changing }: Entry): unknown =>
      plan &&
      round &&
      fromHexadecimal(report).length &&
      [unchanged, changing].every((loss) => loss === null || loss >= 0);
    if (version === VERSION && fromHexadecimal(secret).length > 15 && entries.every(isWhole))
      return { secret, entries };
  } catch {}
  throw new DeniableError("what this device remembers is damaged, or of another version");
};
