/** Builds the panels of the dashboard. Each is redrawn only when its content has changed. */

import type { Grid } from "../src/index.js";
import {
  around,
  besides,
  figured,
  inside,
  type Kind,
  MOST_ROWS,
  mean,
  means,
  NOISY,
  percent,
  profile,
  type Step,
  shares,
  signed,
  steps,
  within,
} from "./charts.js";
import { unitName } from "./distances.js";
import { type Child, find, h, quoted } from "./dom.js";
import { map } from "./map.js";
import { allRounds, atMost, count, loss, moment, sentence, several, titleOf } from "./phrases.js";
import type { Counters, Estimates, Mean, Row, View } from "./results.js";

const GROUPED =
  "Estimates of single values scatter widely here, so this page shows groups of neighboring values. The downloads have every value.";
const WIDEST = 0.5; // of the interval of a change, in shares: a wider one is not read
const METHODS: Readonly<Record<string, string>> = {
  "most likely": "most likely shares",
  projected: "nearest possible shares",
  unbiased: "unbiased shares",
};

export type Mode = "charts" | "tables";

/** Fill a section unless it shows the same already; the focus stays where it was, and what was unfolded is. */
export function keep(section: HTMLElement, key: unknown, build: () => Child): void {
  const text = JSON.stringify(key);
  if (section.dataset.key === text) return;
  section.dataset.key = text;
  const focused = section.contains(document.activeElement)
    ? (document.activeElement as HTMLElement).dataset.name
    : undefined;
  const unfolded = [...section.querySelectorAll("details[open]")].map(({ className }) => className);
  section.replaceChildren(...h("div", {}, build()).childNodes);
  for (const one of section.querySelectorAll("details")) one.open ||= unfolded.includes(one.className);
  if (focused) section.querySelector<HTMLElement>(`[data-name="${focused}"]`)?.focus();
}

export function heading({ plan, plans, summary }: View): Child {
  const tab = (one: View["summary"]): HTMLElement =>
    h(
      "a",
      { href: `#plan=${one.id}`, "aria-current": one.id === summary.id ? "page" : null, "data-name": one.id },
      quoted(titleOf(one.title, one.id)),
    );
  return [
    plans.length > 1 && h("nav", { "aria-label": "Studies" }, plans.map(tab)),
    h("h1", {}, quoted(titleOf(plan.title, plan.id))),
    h(
      "p",
      { class: "soft links" },
      h("span", {}, "Plan ", h("code", { title: plan.id }, `${plan.id.slice(0, 12)}…`)),
      h(
        "a",
        { href: `plans/${plan.id}`, target: "_blank", rel: "noopener", "data-name": "plan" },
        "Read the plan",
      ),
      h(
        "a",
        { href: `./#plan=${plan.id}`, target: "_blank", rel: "noopener", "data-name": "survey" },
        "Open the survey",
      ),
    ),
  ];
}

/** A number of reports, where it is known. */
const counted = (reports: number | null): string => (reports === null ? "–" : count(reports));

/** The shares that are drawn: of groups of bins and blocks of cells, where single ones scatter widely. */
const shown = ({ rows, groups }: Estimates): readonly Row[] => {
  const grouped = new Set(groups.map(({ attribute }) => attribute));
  return [...rows.filter(({ attribute }) => !grouped.has(attribute)), ...groups];
};

/** The numbers that matter most. */
export function facts({ plan, reports, round, rounds, estimates }: View): Child {
  const fact = (what: string, number: string, more: string): HTMLElement =>
    h(
      "div",
      { class: "fact" },
      h("dt", {}, what),
      h("dd", {}, h("strong", {}, number), h("span", { class: "soft" }, more)),
    );
  const open = rounds.find(({ number }) => number === round)?.open ?? false;
  const widths = (estimates ? shown(estimates) : []).map(({ low, high }) => 100 * (high - low));
  const typical = widths.reduce((sum, one) => sum + one, 0) / widths.length;
  const { record, repeated } = plan.stated;
  return h(
    "dl",
    { class: "facts" },
    fact("Reports", counted(reports), `of ${count(plan.people)} expected`),
    fact(
      "Round",
      plan.rounds === null ? (open ? "Open" : "Closed") : `${round} of ${plan.rounds}`,
      plan.rounds === null ? "asked once" : open ? "open now" : "closed",
    ),
    fact("Typical interval", widths.length ? typical.toFixed(1) : "–", "points from end to end"),
    fact(
      "Loss of a report",
      loss(record),
      repeated
        ? `${loss(repeated.one_value_forever)} over any number of rounds, if answers do not change`
        : `${atMost(record)} likelier${plan.stated.metric ? ", in the worst case" : ""}`,
    ),
  );
}

/** One attribute: the shares now, with more reports, and from round to round. */
export function attribute(view: View, name: string, mode: Mode, width: number): Child {
  const of = (found: Estimates): readonly Row[] =>
    shown(found)
      .filter((row) => row.attribute === name)
      .map((row) => ({ ...row, value: String(row.value) }));
  const now = view.estimates ? of(view.estimates) : [];
  const domain = view.plan.attributes.find((one) => one.name === name)?.domain;
  const hasGroups = view.estimates?.groups.some((one) => one.attribute === name) ?? false;
  const briefly = (row: Row, code: number): Row =>
    domain?.kind === "grid" && !hasGroups && code < domain.k
      ? { ...row, value: middleOf(domain, code) }
      : row;
  const long = domain?.kind === "range" && now.length > MOST_ROWS;
  const meanOf = (found: Estimates | null): Mean | undefined =>
    found?.means.find((one) => one.attribute === name);
  const center = meanOf(view.estimates);
  const half = view.estimates?.quantiles.find((one) => one.attribute === name && one.share === 0.5);
  const noise = view.estimates?.noise.filter((one) => one.attribute === name) ?? [];
  const wide = width > 760;
  const left = wide ? Math.floor(width * 0.5) : width;
  const right = wide ? left - 40 : width; // half a pixel more would take a column away
  const tables = mode === "tables";
  const reported = (center ?? now[0])?.n;
  const drawing = (): Child => {
    if (domain?.kind === "number") return center && mean(center, domain.low, domain.high, left);
    if (domain?.kind === "grid")
      return map(name, now, domain, left, view.estimates?.level ?? 0, hasGroups, view.plan.maps[name]);
    return (long ? profile : shares)(name, now, left);
  };
  const tabled = (): Child => {
    if (domain?.kind !== "number" || !center) return sharesTable(name, now);
    const figures = [center.mean, center.low, center.high].map((number) => figured(number, center));
    return table(`Estimates of ${name}`, ["What", "Estimate", "From", "To"], [["Mean", ...figures]]);
  };
  const grouped = domain?.kind === "range" && hasGroups;
  const distant = view.plan.stated.metric?.units.some((one) => one.name === name);
  // of numbers, of distances and of many bins the mean is what is followed: it is known far better than
  // single shares
  const followed = center && (domain?.kind === "number" || distant || grouped || long);
  const meansOf = (from: readonly Estimates[], at: (one: Estimates) => number): (Mean & { at: number })[] =>
    from.flatMap((one) => [meanOf(one)].flatMap((found) => (found ? [{ ...found, at: at(one) }] : [])));
  const along = (kind: Kind, room: number): Child => {
    const [what, head] =
      kind === "rounds" ? ["from round to round", "Round"] : ["with more reports", "Reports"];
    const from = kind === "rounds" ? view.series : view.history;
    if (from.length < 2 || !from.every((one) => of(one).length + Number(Boolean(meanOf(one))))) return null;
    const at = (one: Estimates): number => (kind === "rounds" ? (one.round ?? 1) : one.n);
    if (!followed) {
      const found = from.map((one): Step => ({ at: at(one), rows: of(one).map(briefly) }));
      const made = tables ? stepsTable(name, head, found) : steps(`${name}, ${what}`, found, room, kind);
      return [h("h3", {}, sentence(what).slice(0, -1)), made];
    }
    const found = meansOf(from, at);
    const made = tables
      ? meansTable(name, head, found)
      : means(`The mean of ${name} ${what}`, found, room, kind);
    return found.length > 1 && [h("h3", {}, `The mean ${what}`), made];
  };
  // then one of them has a row of its own
  const bothAlong = view.series.length > 1 && view.history.length > 1;
  return [
    h(
      "h2",
      {},
      quoted(name),
      " ",
      reported !== undefined &&
        h(
          "span",
          { class: "reported" },
          [several(reported, "report"), METHODS[now[0]?.method ?? ""]].filter(Boolean).join(", ") +
            whose(now[0] ?? center),
        ),
    ),
    h(
      "div",
      // a table of shares by steps takes all the room
      { class: `sides ${tables && !followed ? "stacked" : wide ? "wide" : ""}` },
      h(
        "div",
        {},
        center &&
          h(
            "p",
            { class: "center" },
            `Mean${whose(center)} `,
            h("strong", {}, around(center)),
            besides(center),
          ),
        half && h("p", { class: "median" }, `Median${whose(half)} `, h("strong", {}, inside(half))),
        tables ? tabled() : drawing(),
        noise.map(({ text }) => h("p", { class: "noise" }, sentence(text))),
        grouped && h("p", { class: "soft" }, GROUPED),
      ),
      h("div", { class: "aside" }, along("rounds", right), !bothAlong && along("reports", right)),
      bothAlong && h("div", { class: "aside whole" }, along("reports", width)),
    ),
    domain?.kind !== "grid" && change(view, name, of, meanOf),
  ];
}

/** Whom a number is about, where that is not everybody. */
function whose(found: { readonly among?: string } | undefined): string {
  return found?.among ? ` of ${found.among}` : "";
}

/** What changed since the round before. Kept answers make rounds depend on each other: both intervals add up. */
function change(
  view: View,
  name: string,
  of: (found: Estimates) => readonly Row[],
  meanOf: (found: Estimates) => Mean | undefined,
): Child {
  const later = view.estimates;
  const number = later?.round ?? 1;
  const earlier = view.series
    .filter(({ round }) => (round ?? 1) < number)
    .sort((one, other) => (other.round ?? 1) - (one.round ?? 1))[0];
  if (!later || !earlier) return null;
  const before = new Map(of(earlier).map((row) => [row.value, row]));
  const points = (share: number): string => signed((100 * share).toFixed(1));
  const lines = of(later).flatMap((row) => {
    const old = before.get(row.value);
    if (!old) return [];
    // of unbiased shares, as `deniable estimate --change-from` has it, cut to what is possible
    const ends = [
      row.unbiased - old.unbiased,
      row.unbiased_low - old.unbiased_high,
      row.unbiased_high - old.unbiased_low,
    ].map((one) => Math.max(-1, Math.min(1, one)));
    const [by = 0, low = 0, high = 0] = ends;
    return [[row.value, high - low > WIDEST ? NOISY : points(by), points(low), points(high)]];
  });
  const [old, now] = [meanOf(earlier), meanOf(later)];
  if (old && now)
    lines.push([
      "Mean",
      ...[
        now.unbiased - old.unbiased,
        now.unbiased_low - old.unbiased_high,
        now.unbiased_high - old.unbiased_low,
      ].map((one) => figured(one, now)),
    ]);
  const since = `Change since round ${earlier.round ?? 1}`;
  return h(
    "details",
    { class: "change" },
    h("summary", { "data-name": `change in ${name}` }, since),
    h(
      "p",
      { class: "soft" },
      "In percentage points, or in the unit of the mean. The intervals hold whoever answered in each round.",
    ),
    table(`${since}: ${name}`, ["Value", "Change", "From", "To"], lines),
  );
}

/** A cell by its middle: short, and with as many digits as distinguish it from its neighbors. */
function middleOf(grid: Grid, code: number): string {
  const size = Math.min((grid.north - grid.south) / grid.rows, grid.wide / grid.columns);
  return grid
    .middle(code)
    .map((degrees) => degrees.toFixed(Math.max(0, 1 - Math.floor(Math.log10(size)))).replace("-", "−"))
    .join(", ");
}

/** Why shares may be impossible, where these are shown. */
export function unbiased(): Child {
  return h(
    "p",
    { class: "soft" },
    "Unbiased shares of every value: with few reports they and their intervals can lie outside 0 to 100 %. Possible shares are the ones to publish.",
  );
}

function sharesTable(name: string, rows: readonly Row[]): HTMLElement {
  const projected = rows.some((row) => row.projected !== undefined);
  const heads = ["Value", "Share", "From", "To", "People", ...(projected ? ["Consistent"] : [])];
  const cells = (row: Row): string[] => [
    row.noisy ? NOISY : percent(row.share, 2),
    percent(row.low, 2),
    percent(row.high, 2),
    signed(count(Math.round(row.count))),
    ...(projected ? [percent(row.projected ?? 0, 2)] : []),
  ];
  return table(
    `Estimates of ${name}`,
    heads,
    rows.map((row) => [row.value, ...cells(row)]),
  );
}

function meansTable(
  name: string,
  what: string,
  along: readonly (Mean & { readonly at: number })[],
): HTMLElement {
  const line = (one: Mean & { readonly at: number }): string[] => [
    count(one.at),
    ...[one.mean, one.low, one.high].map((number) => figured(number, one)),
  ];
  return table(`The mean of ${name} by ${what.toLowerCase()}`, [what, "Mean", "From", "To"], along.map(line));
}

function stepsTable(name: string, what: string, along: readonly Step[]): HTMLElement {
  const names = along.at(-1)?.rows.map((row) => row.value) ?? [];
  const cell = (row: Row | undefined): string => (row ? within(row) : "");
  const line = (name: string): string[] => [
    name,
    ...along.map(({ rows }) => cell(rows.find((row) => row.value === name))),
  ];
  return table(
    `${name} by ${what.toLowerCase()}`,
    [what, ...along.map(({ at }) => count(at))],
    names.map(line),
  );
}

export function table(
  caption: string,
  heads: readonly string[],
  lines: readonly (readonly Child[])[],
): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((head) => h("th", { scope: "col" }, head)),
        ),
      ),
      h(
        "tbody",
        {},
        lines.map(([first, ...rest]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, typeof first === "string" ? quoted(first) : first),
            rest.map((cell) => h("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}

/** Not enough yet. */
export function waiting(view: View): Child {
  const why =
    view.reports === 0 && view.counters ? "No report has arrived in this round yet." : sentence(view.few);
  return h(
    "section",
    { class: "panel few" },
    h("h2", {}, "Nothing to show yet"),
    h("p", {}, why),
    h(
      "p",
      { class: "soft" },
      "Results from few people say little about many people and too much about those few. This page updates by itself.",
    ),
  );
}

/** Ask before a round is closed. */
function closing(number: number, close: () => void): void {
  const leave = (): void => {
    dialog.close();
    dialog.remove();
  };
  const sure = (): void => {
    leave();
    close();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "close-title", "aria-describedby": "close-text", close: () => dialog.remove() },
    h("h2", { id: "close-title" }, `Close round ${number}?`),
    h(
      "p",
      { id: "close-text" },
      "After that, the collector refuses its reports, including those that people have made but not sent yet. You can open it again.",
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "bad", click: sure }, "Close it"),
      h("button", { type: "button", click: leave }, "Leave it open"),
    ),
  );
  find("board").append(dialog);
  dialog.showModal();
}

/** Open and close rounds. */
export function rounds(view: View, set: (number: number, open: boolean) => void): Child {
  const operates = view.access.role === "operator";
  const most = view.plan.rounds ?? 1;
  const known = view.rounds.map(({ number }) => number);
  const next = Math.max(0, ...known) + 1;
  const open = view.rounds.filter((one) => one.open).map(({ number }) => number);
  const change = (number: number, opening: boolean): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        click: () => (opening ? set(number, true) : closing(number, () => set(number, false))),
        "data-name": `round-${number}`,
        "aria-label": `${opening ? "Open" : "Close"} round ${number}`,
      },
      opening ? "Open" : "Close",
    );
  const timed = view.rounds.some(({ opens, closes }) => opens ?? closes);
  const lines = view.rounds.map(({ number, opens, closes, open: now }, i): Child[] => [
    String(number),
    h("span", { class: now ? "state open" : "state" }, now ? "Open" : "Closed"),
    counted(view.counts[i] ?? null),
    ...(operates ? [change(number, !now)] : []),
    ...(timed ? [[opens && `from ${moment(opens)} `, closes && `until ${moment(closes)}`]] : []),
  ]);
  return [
    h("h2", {}, "Rounds"),
    table(
      "Rounds",
      ["Round", "Now", "Reports", ...(operates ? ["Change"] : []), ...(timed ? ["When"] : [])],
      lines,
    ),
    open.length > 1 &&
      h(
        "p",
        { class: "soft" },
        `Rounds ${open.join(" and ")} are open at the same time. The survey offers each device the newest one that it has not answered.`,
      ),
    operates &&
      next <= most &&
      h(
        "p",
        {},
        h(
          "button",
          { type: "button", click: () => set(next, true), "data-name": "next" },
          `Open round ${next}`,
        ),
      ),
  ];
}

/** What operators did, the newest first. */
export function log({ actions, plans }: View): Child {
  const titled = (id: string | null): string =>
    id === null ? "" : titleOf(plans.find((one) => one.id === id)?.title ?? "", id);
  const several = plans.length > 1;
  const lines = actions.map((one): Child[] => [
    moment(one.time),
    one.through === "shell" ? `${one.who} (shell)` : one.who,
    one.what,
    one.detail,
    ...(several ? [titled(one.plan)] : []),
  ]);
  return [
    h("h2", {}, "What operators did"),
    lines.length
      ? table("What operators did", ["When", "Who", "What", "Detail", ...(several ? ["Study"] : [])], lines)
      : h("p", { class: "soft" }, "Nothing yet."),
  ];
}

/** What the plan gives away, as verified in this browser. */
export function losses({ plan }: View): Child {
  const { record, attribute: one, repeated, metric } = plan.verify();
  const line = (what: Child, nano: number | null): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, loss(nano)),
  ];
  return [
    h("h2", {}, "What is given away"),
    h("p", { class: "soft" }, "Recomputed in this browser from the plan’s numbers, in nats, rounded up."),
    h(
      "dl",
      { class: "figures" },
      metric?.units.map(({ name, loss: nano }) =>
        line([`One report, ${unitName(plan, name)} “`, quoted(name), "”"], nano),
      ),
      metric &&
        metric.units.length < plan.attributes.length &&
        line("One report, all other answers together", metric.rest),
      line(metric ? "One report, in the worst case" : "One report", record),
      plan.attributes.length > 1 && line("One report, between people who differ in one attribute", one),
      repeated && [
        line("Any number of rounds, if answers do not change", repeated.one_value_forever),
        line(
          sentence(`${allRounds(plan.rounds)}, even if answers change`).slice(0, -1),
          repeated.changing_values,
        ),
      ],
    ),
    h(
      "ul",
      { class: "soft guesses" },
      plan.attributes.map(({ name }) =>
        h(
          "li",
          {},
          h("strong", {}, quoted(name)),
          " – ",
          plan.bestGuess(name).sentence.replaceAll("your ", "a person’s "),
          ".",
        ),
      ),
    ),
  ];
}

const REASONS: Readonly<Record<string, string>> = {
  malformed: "cannot be read",
  version: "of another version",
  form: "not in canonical form",
  size: "too long or too short",
  round: "no such round",
  parameter: "wrong parameter",
  token: "token missing or not valid",
  role: "token that does not allow it",
  invitation: "invitation missing, unknown or used",
  plan: "of a plan that is not collected here",
  path: "no such address",
  method: "method not allowed at that address",
  slow: "arrived too slowly",
  closed: "round not open",
  few: "results asked for too early",
  large: "too large",
  type: "wrong kind of content",
  rate: "too many requests from one sender",
  busy: "collector busy",
  store: "store not available",
  fault: "an error of the collector",
};

// what was refused so was asked, and no report
const NO_REPORT = ["token", "role", "path", "method", "parameter", "few"];

/** What the collector has counted and refused since it was started. */
export function collector({ counters }: View): Child {
  const title = h("h2", {}, "The collector");
  if (!counters) return [title, h("p", { class: "soft" }, "This page cannot read its counters.")];
  const { before, waiting: queue, refused } = counters;
  const others = refused.filter(([reason]) => NO_REPORT.includes(reason));
  const reports = refused.filter((one) => !others.includes(one));
  const sum = (all: Counters["refused"]): number => all.reduce((total, [, number]) => total + number, 0);
  const line = (what: string, number: number): HTMLElement[] => [
    h("dt", {}, what),
    h("dd", {}, count(number)),
  ];
  const why = (what: string, name: string, all: Counters["refused"]): Child =>
    all.length > 0 &&
    h(
      "details",
      {},
      h("summary", { "data-name": name }, what),
      h(
        "dl",
        { class: "figures" },
        all.map(([reason, number]) => line(REASONS[reason] ?? reason, number)),
      ),
    );
  return [
    title,
    h("p", { class: "soft" }, "Since its start, over all studies."),
    h(
      "dl",
      { class: "figures" },
      line("Reports counted", counters.counted),
      line("Sent again, counted before", before),
      line("Waiting to be stored", queue),
      line("Reports refused", sum(reports)),
    ),
    why("Why reports were refused", "refused", reports),
    why(`Other requests refused: ${count(sum(others))}`, "others", others),
  ];
}
