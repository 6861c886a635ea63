/** Fetches what the dashboard shows when something has arrived, and otherwise remembers it. */

import { Plan } from "../../src/index.js";
import type {
  Access,
  Action,
  Actions,
  Changed,
  Days,
  Estimates,
  History,
  Outdated,
  Participation,
  Participations,
  Plans,
  ReportHealth,
  Round,
  Rounds,
  Row,
  Summary,
} from "../kit/api.js";
import { lastOf } from "../kit/chains.js";
import { ask, askJson, Refused } from "../kit/collector.js";

const PATIENCE = 500; // milliseconds in which what may take long is waited for; then it is shown later
const LONG = 120_000; // milliseconds until a history is given up: another one would take as long
const LATE = "How results narrow with more reports is still being computed.";
const LOST = "How results narrow with more reports could not be loaded. This page tries again.";

/** Estimates in unbiased numbers, of every value: they may be impossible, and are not judged. */
export function unbiasedOf(estimates: Estimates): Estimates {
  const ends = { noisy: false, method: "unbiased", moved_from: null };
  const raw = (row: Row): Row => ({
    ...row,
    ...ends,
    share: row.unbiased,
    low: row.unbiased_low,
    high: row.unbiased_high,
    count: row.count === null ? null : row.unbiased * row.n,
  });
  return {
    ...estimates,
    rows: estimates.rows.map(raw),
    // of how many people these are parts is a share itself
    among: estimates.among.map((row) => ({ ...raw(row), count: row.count })),
    means: estimates.means.map((mean) => ({
      ...mean,
      ...ends,
      mean: mean.unbiased,
      low: mean.unbiased_low,
      high: mean.unbiased_high,
    })),
    groups: [],
    quantiles: estimates.quantiles.map((quantile) => ({ ...quantile, noisy: false })),
    noise: [],
  };
}

export type People = Changed["people"];

/** What the operator has chosen to see. */
export interface Choice {
  readonly plan: string | null;
  readonly round: number | null;
  readonly level: string;
  /** Whose change is meant; empty for that of those who answered both, or else of the population. */
  readonly people: People | "";
  /** Whether shares of ranges and grids are to be smoothed. */
  readonly smooth: boolean;
  /** The sizes of known groups in the population, as JSON; empty where results are of those who reported. */
  readonly weights: string;
  /** Whether a round is to be joined with those of the plans before that were open at the same time. */
  readonly joined: boolean;
}

/** What of the choice is asked of the collector, which smooths neighboring values, and no weighted ones. */
export function queryOf({ level, smooth, weights }: Choice, plan: Plan): string {
  const ordered = plan.attributes.some(({ domain: { kind } }) => kind === "range" || kind === "grid");
  if (weights) return `level=${level}&weights=${encodeURIComponent(weights)}`;
  return `level=${level}${smooth && ordered ? "&smooth=true" : ""}`;
}

/** What asks for a round; nothing asks for the last day. */
export const inRound = (round: number): string => (round ? `round=${round}&` : "");

/** Whether shares are to be joined with those of plans before; a population is weighted in one plan. */
const wantsJoined = ({ joined, weights }: Choice, { continues }: Summary): boolean =>
  joined && !weights && continues.length > 0;

/** The collector's counters. */
export interface Counters {
  readonly counted: number;
  readonly before: number;
  readonly waiting: number;
  readonly refused: readonly (readonly [reason: string, count: number])[];
  /** Reports by "plan round". */
  readonly reports: ReadonlyMap<string, number>;
  /** Invitations that are still to be used, by plan. */
  readonly unused: ReadonlyMap<string, number>;
}

/** How the estimates of a round narrow. */
export interface Past {
  readonly history: readonly Estimates[];
  /** Why there is no history; empty where there is. */
  readonly late: string;
}

export interface View extends Past {
  readonly access: Access;
  /** The newest first; empty for a reader. */
  readonly actions: readonly Action[];
  readonly plans: readonly Summary[];
  /** Null where they cannot be read, as by a reader. */
  readonly counters: Counters | null;
  readonly summary: Summary;
  readonly plan: Plan;
  readonly rounds: readonly Round[];
  /** The round that is shown; 0 of the last day in tables of reports. */
  readonly round: number;
  /** Reports of it; null where that is not known. */
  readonly reports: number | null;
  /** The number of reports of each round; null where that is not known. */
  readonly counts: readonly (number | null)[];
  readonly estimates: Estimates | null;
  /** Why there are no estimates. */
  readonly few: string;
  /** Whether they are of a round that is joined with those of plans before. */
  readonly isJoined: boolean;
  /** Why they are not joined with those of the plans before; empty where they are, or need not be. */
  readonly unjoined: string;
  /** The rounds that have enough reports, in order. */
  readonly series: readonly Estimates[];
  /** Who answered each round and the one before it, where reports are linked. */
  readonly participation: readonly Participation[];
  /** The change since the round before that has enough reports, or why there is none. */
  readonly changed: Changed | string | null;
  /** Null where there are too few reports, or before the first look. */
  readonly health: ReportHealth | null;
  /** Numbers over days; null of a collector, and where no day has enough reports. */
  readonly days: Days | null;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated: Outdated | null;
  /** Whether results are those of the last day in tables of reports, for which there is no survey. */
  readonly byDay: boolean;
}

function later<T>(value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), PATIENCE));
}

/** Answers that do not change before the number of reports does. */
export class Results {
  private readonly plans = new Map<string, Promise<Plan>>();
  private kept = new Map<string, unknown>();
  private readonly looks = new Map<string, ReportHealth>();
  private looking: Promise<void> | null = null;
  /** With how many reports there were; null where it is to be asked for again. */
  private readonly pasts = new Map<string, Past & { readonly reports: number | null }>();
  private readonly coming = new Map<string, Promise<Past>>();
  private who: Access | null = null;

  constructor(
    private readonly token: string,
    /** Hears of a history that came after its view. */
    private readonly hear: (view: View, past: Past) => void,
  ) {}

  async view(choice: Choice): Promise<View | null> {
    this.who ??= await askJson<Access>("access", { token: this.token });
    const access = this.who;
    const operates = access.role === "operator";
    const [{ plans, by_day: byDay }, counters, { actions }] = await Promise.all([
      askJson<Plans>("plans"),
      operates ? this.counters() : null,
      operates ? askJson<Actions>("actions", { token: this.token }) : { actions: [] },
    ]);
    const summary = plans.find(({ id }) => id === choice.plan) ?? lastOf(plans)[0];
    if (!summary) return null;
    const { id } = summary;
    const [plan, { rounds }] = await Promise.all([this.plan(id), askJson<Rounds>(`plans/${id}/rounds`)]);
    const reported = (number: number): number | null =>
      counters && (counters.reports.get(`${id} ${number}`) ?? 0);
    const newest = summary.round ?? rounds.findLast(({ number }) => reported(number) !== 0)?.number ?? 1;
    const round = byDay ? 0 : (choice.round ?? newest);
    const before = this.kept;
    this.kept = new Map();
    try {
      const query = queryOf(choice, plan);
      const estimates = await this.once<Estimates>(
        before,
        `plans/${id}/estimates?${inRound(round)}${query}`,
        reported(round),
      );
      const joined =
        wantsJoined(choice, summary) && (await this.join(before, summary, round, query, counters));
      const isAlone = !joined || joined instanceof Refused;
      const enough = !(estimates instanceof Refused);
      const path = `plans/${id}/history?round=${round}&${query}`;
      const coming: Promise<Past> =
        enough && isAlone && !byDay
          ? this.past(path, reported(round))
          : Promise.resolve({ history: [], late: "" });
      const [past, health] = await Promise.all([
        Promise.race([coming, later(this.pasts.get(path) ?? { history: [], late: LATE })]),
        enough && !byDay ? this.health(`plans/${id}/health?round=${round}`) : null,
      ]);
      const days = byDay ? await this.once<Days>(before, `plans/${id}/days`, null) : null;
      const others = await Promise.all(
        rounds
          .filter(({ number }) => rounds.length > 1 && reported(number) !== 0)
          .map(({ number, open }) =>
            this.once<Estimates>(
              before,
              `plans/${id}/estimates?round=${number}&${query}`,
              reported(number) ?? (open ? null : -1),
            ),
          ),
      );
      const series = others.filter((answer): answer is Estimates => !(answer instanceof Refused));
      const since = series.findLast((other) => (other.round ?? 1) < round)?.round ?? null;
      const compared =
        since && enough && isAlone && (await this.change(before, id, [since, round], choice, reported));
      const count = (number: number): number | null =>
        reported(number) ??
        (number === round && enough
          ? estimates.n
          : (series.find((other) => (other.round ?? 1) === number)?.n ?? null));
      const view: View = {
        access,
        actions,
        plans,
        counters,
        summary,
        plan,
        rounds,
        round,
        reports: count(round),
        counts: rounds.map(({ number }) => count(number)),
        participation: plan.linked && !byDay ? await this.participation(before, id, rounds, reported) : [],
        estimates: isAlone ? (enough ? estimates : null) : joined,
        few: enough ? "" : estimates.message,
        isJoined: !isAlone,
        unjoined: joined instanceof Refused ? joined.message : "",
        history: past.history,
        late: past.late,
        series: isAlone ? series : [],
        changed: compared instanceof Refused ? compared.message : compared || null,
        health,
        days: days instanceof Refused ? null : days,
        outdated: (enough && estimates.outdated) || (!(days instanceof Refused) && days?.outdated) || null,
        byDay: byDay ?? false,
      };
      // by a timer, so that the view is shown before
      void coming.then((later) => later !== past && setTimeout(() => this.hear(view, later)));
      return view;
    } catch (problem) {
      this.kept = before;
      throw problem;
    }
  }

  /**
   * Ask unless it was asked when there were as many reports, if that is known; a refusal for too few is an
   * answer.
   */
  private async once<T>(
    before: ReadonlyMap<string, unknown>,
    path: string,
    reports: number | null,
  ): Promise<T | Refused> {
    const key = `${path} ${reports}`;
    let answer = reports === null ? undefined : (before.get(key) as T | Refused | undefined);
    if (answer === undefined) {
      try {
        answer = await askJson<T>(path, { token: this.token });
      } catch (problem) {
        if (!(problem instanceof Refused) || problem.reason !== "few") throw problem;
        answer = problem;
      }
    }
    this.kept.set(key, answer);
    return answer;
  }

  /** The joined estimates of a round and those of plans before, or why there are none. */
  private join(
    before: ReadonlyMap<string, unknown>,
    { id, continues }: Summary,
    round: number,
    query: string,
    counters: Counters | null,
  ): Promise<Estimates | Refused> {
    const plans = [id, ...continues];
    const counts = Array.from(counters?.reports ?? [], ([key, n]) =>
      plans.includes(key.split(" ")[0] ?? "") ? n : 0,
    );
    const reports = counters && counts.reduce((sum, n) => sum + n, 0);
    const path = `plans/${id}/estimates?round=${round}&${query}&joined=true`;
    return this.once<Estimates>(before, path, reports).catch((problem) => {
      if (problem instanceof Refused && problem.reason === "parameter") return problem; // nothing to join
      throw problem;
    });
  }

  /** Who answered again, unless all rounds have as many reports as when it was asked for. */
  private async participation(
    before: ReadonlyMap<string, unknown>,
    id: string,
    rounds: readonly Round[],
    reported: (number: number) => number | null,
  ): Promise<readonly Participation[]> {
    const counts = rounds.map(({ number }) => reported(number));
    const reports = counts.reduce((sum, n) => (sum === null || n === null ? null : sum + n), 0);
    const answer = await this.once<Participations>(before, `plans/${id}/participation`, reports);
    return answer instanceof Refused ? [] : answer.rounds;
  }

  /** The change from one round to another, unless both have as many reports as when it was asked for. */
  private change(
    before: ReadonlyMap<string, unknown>,
    id: string,
    [since, round]: readonly [number, number],
    { level, people, weights }: Choice,
    reported: (number: number) => number | null,
  ): Promise<Changed | Refused> {
    const [earlier, later] = [reported(since), reported(round)];
    const reports = earlier === null || later === null ? null : earlier + later;
    const rounds = { round: `${round}`, since: `${since}` };
    const query = new URLSearchParams({ ...rounds, people, level, weights });
    return this.once<Changed>(before, `plans/${id}/change?${query}`, reports).catch((problem) => {
      if (problem instanceof Refused && problem.reason === "parameter") return problem; // not of these people
      throw problem;
    });
  }

  /** The history, asked for unless there were as many reports. It may take long, and never fails. */
  private past(path: string, reports: number | null): Promise<Past> {
    const kept = this.pasts.get(path);
    if (kept && kept.reports !== null && kept.reports === reports) return Promise.resolve(kept);
    const before = this.coming.get(path);
    if (before) return before;
    const made = askJson<History>(path, { token: this.token, patience: LONG })
      .then(
        ({ snapshots }) => ({ history: snapshots, late: "", reports }),
        () => ({ history: kept?.history ?? [], late: LOST, reports: null }),
      )
      .then((past) => {
        this.coming.delete(path);
        this.pasts.set(path, past);
        return past;
      });
    this.coming.set(path, made);
    return made;
  }

  /** What the last look at the reports found. The first one may take long, and nothing waits for it. */
  private async health(path: string): Promise<ReportHealth | null> {
    this.looking ??= askJson<ReportHealth>(path, { token: this.token })
      .then((look) => void this.looks.set(path, look))
      .catch(() => undefined) // the last look is shown
      .finally(() => {
        this.looking = null;
      });
    await Promise.race([this.looking, later(undefined)]);
    return this.looks.get(path) ?? null;
  }

  private plan(id: string): Promise<Plan> {
    let plan = this.plans.get(id);
    if (!plan) {
      plan = ask(`plans/${id}`).then(async (answer) => Plan.fromJson(await answer.text()));
      plan.catch(() => this.plans.delete(id));
      this.plans.set(id, plan);
    }
    return plan;
  }

  /** The collector's counters, unless something before it keeps them to itself. */
  private async counters(): Promise<Counters | null> {
    try {
      const text = await (await ask("metrics", { token: this.token })).text();
      return text.includes("deniable_reports_total") ? read(text) : null;
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.reason === "token") throw problem;
      return null;
    }
  }
}

/** Counters in the text format of Prometheus. */
function read(text: string): Counters {
  const reports = new Map<string, number>();
  const unused = new Map<string, number>();
  const refused: [string, number][] = [];
  const outcomes = new Map<string, number>();
  let waiting = 0;
  for (const [, name, labels = "", number] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const label = Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key, value]) => [key, value]),
    );
    if (name === "deniable_reports") reports.set(`${label.plan} ${label.round}`, Number(number));
    if (name === "deniable_invitations_unused") unused.set(label.plan ?? "", Number(number));
    if (name === "deniable_refused_total" && Number(number) > 0)
      refused.push([label.reason ?? "", Number(number)]);
    if (name === "deniable_reports_total") outcomes.set(label.outcome ?? "", Number(number));
    if (name === "deniable_queue_length") waiting = Number(number);
  }
  return {
    counted: outcomes.get("counted") ?? 0,
    before: outcomes.get("counted before") ?? 0,
    waiting,
    refused,
    reports,
    unused,
  };
}
