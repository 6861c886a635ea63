/** Builds the panel of one attribute, with its drawings. */

import type { Attribute, Grid } from "../../src/index.js";
import type { Estimates, Mean, Row } from "../kit/api.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, NOISY, sentence, several } from "../kit/phrases.js";
import { change } from "./change_panel.js";
import { type Kind, legend, MOST_ROWS, mean, means, profile, type Step, shares, steps } from "./charts.js";
import { overDays } from "./days_panel.js";
import { map } from "./map.js";
import { type Mode, optionsOf, shown } from "./panels.js";
import { around, besides, figured, inside, moved, percent, signed, within } from "./readings.js";
import type { View } from "./results.js";
import { table } from "./tables.js";

const GROUPED =
  "Estimates of single values scatter widely here, so this page shows groups of neighboring values.";
const EVERY = "The downloads have every value.";
const LEVELS = "The downloads have these groups, since reports are about levels.";
const SMOOTHED = "Neighboring values were made alike. The intervals are those of the unbiased shares.";
const METHODS: Readonly<Record<string, string>> = {
  smoothed: "smoothed shares",
  unbiased: "unbiased shares",
};

/** One attribute, or one question to which all that apply are chosen: now, with more reports, and by round. */
export function attribute(view: View, name: string, mode: Mode, width: number): Child {
  const options = optionsOf(view.plan, name);
  const of = (estimates: Estimates): readonly Row[] =>
    options.length ? chosen(estimates, options) : rowsOf(estimates, name);
  const now = view.estimates ? of(view.estimates) : [];
  const answers = view.estimates ? answersOf(view.estimates, name, options) : [];
  const domain = view.plan.attributes.find((attribute) => attribute.name === name)?.domain;
  const hasGroups = view.estimates?.groups.some((row) => row.attribute === name) ?? false;
  const briefly = (row: Row, code: number): Row =>
    domain?.kind === "grid" && !hasGroups && code < domain.k
      ? { ...row, value: middleOf(domain, code) }
      : row;
  const long = domain?.kind === "range" && now.length > MOST_ROWS;
  const meanOf = (estimates: Estimates | null): Mean | undefined =>
    estimates?.means.find((row) => row.attribute === name);
  const center = meanOf(view.estimates);
  const half = view.estimates?.quantiles.find(
    (quantile) => quantile.attribute === name && quantile.share === 0.5,
  );
  const refused = now[0]?.method !== "unbiased" && view.estimates?.refused[name];
  const noise = noiseOf(view, name, options);
  const questionText = view.estimates?.questions?.[name];
  const wide = width > 760;
  const left = wide ? Math.floor(width * 0.5) : width;
  const right = wide ? left - 40 : width; // half a pixel more would take a column away
  const tables = mode === "tables";
  const reported = center ? [center.n] : now.map(({ n }) => n);
  const counted = view.estimates?.respondents.find((row) => row.attribute === name)?.text;
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
  const single = view.estimates?.rows.some((row) => row.attribute === name);
  const distant = view.plan.stated.metric?.units.some((unit) => unit.name === name);
  // of numbers, of distances and of many bins the mean is what is followed: it is known far better than
  // single shares
  const followed = center && (domain?.kind === "number" || distant || grouped || long);
  const meansOf = (
    from: readonly Estimates[],
    at: (estimates: Estimates) => number,
  ): (Mean & { at: number })[] =>
    from.flatMap((estimates) =>
      [meanOf(estimates)].flatMap((center) => (center ? [{ ...center, at: at(estimates) }] : [])),
    );
  const along = (kind: Kind, room: number): Child => {
    const [what, head] =
      kind === "rounds" ? ["from round to round", "Round"] : ["with more reports", "Reports"];
    const from = kind === "rounds" ? view.series : view.history;
    if (kind === "reports" && !from.length && view.late && domain?.kind !== "grid")
      return [h("h3", {}, sentence(what).slice(0, -1)), h("p", { class: "soft late" }, view.late)];
    if (
      from.length < 2 ||
      !from.every((estimates) => of(estimates).length + Number(Boolean(meanOf(estimates))))
    )
      return null;
    const at = (estimates: Estimates): number => (kind === "rounds" ? (estimates.round ?? 1) : estimates.n);
    const key = !tables && legend(from.map(at), kind, view.estimates?.level ?? 0);
    if (!followed) {
      const along = from.map((estimates): Step => ({ at: at(estimates), rows: of(estimates).map(briefly) }));
      const made = tables ? stepsTable(name, head, along) : steps(`${name}, ${what}`, along, room, kind);
      return [h("h3", {}, sentence(what).slice(0, -1)), key, made];
    }
    const along = meansOf(from, at);
    const made = tables
      ? meansTable(name, head, along)
      : means(`The mean of ${name} ${what}`, along, room, kind);
    return along.length > 1 && [h("h3", {}, `The mean ${what}`), key, made];
  };
  // then one of them has a row of its own
  const bothAlong = view.series.length > 1 && view.history.length > 1;
  return [
    h(
      "h2",
      {},
      quoted(questionText ?? name),
      " ",
      reported.length > 0 &&
        h(
          "span",
          { class: "reported" },
          questionText && [quoted(name), ", "],
          [
            counted ?? spanOf(reported),
            METHODS[now[0]?.method ?? ""],
            options.length > 0 && "all that apply: who chose each",
          ]
            .filter(Boolean)
            .join(", ") + (counted ? `${now.length ? "" : ", mean"} of these` : whose(now[0] ?? center)),
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
        noise.map((text) => h("p", { class: "noise" }, sentence(text))),
        weighedOf(view, name, options).map((text) => h("p", { class: "soft weighed" }, sentence(text))),
        fitsOf(view, name, options).map((text) => h("p", { class: "noise fit" }, sentence(text))),
        answers.length > 0 && [
          h("h3", {}, whose(answers[0]).trim().replace("of", "Of")),
          tables ? answersTable(name, answers) : shares(`${name}${whose(answers[0])}`, answers, left),
        ],
        now[0]?.method === "smoothed" && h("p", { class: "soft" }, SMOOTHED),
        refused && h("p", { class: "soft" }, refused),
        grouped && h("p", { class: "soft" }, `${GROUPED} ${single ? EVERY : LEVELS}`),
      ),
      h("div", { class: "aside" }, along("rounds", right), !bothAlong && along("reports", right)),
      view.days &&
        h(
          "div",
          { class: "aside" },
          overDays(view, options.length ? options.map((option) => option.name) : [name], mode, right),
        ),
      bothAlong && h("div", { class: "aside whole" }, along("reports", width)),
    ),
    domain?.kind !== "grid" && change(view.changed, name, now, options.length > 0),
  ];
}

/** The rows of one attribute that are shown. */
function rowsOf(estimates: Estimates, name: string): readonly Row[] {
  return shown(estimates)
    .filter((row) => row.attribute === name)
    .map((row) => ({ ...row, value: String(row.value) }));
}

/** The shares of people who chose each option, by the name of the option; then of people who were not asked. */
function chosen(estimates: Estimates, options: readonly Attribute[]): readonly Row[] {
  const yes = options.flatMap(({ name, option }) =>
    rowsOf(estimates, name)
      .filter(({ value }) => value === "yes")
      .map((row) => ({ ...row, value: option })),
  );
  const others = rowsOf(estimates, options.at(-1)?.name ?? "").filter(
    ({ value }) => !/^(yes|no)$/.test(String(value)),
  );
  return [...yes, ...others];
}

/** The rows of those who answered, beside those of everybody; of options, who chose each. */
function answersOf({ among }: Estimates, name: string, options: readonly Attribute[]): readonly Row[] {
  const amongRows = (name: string): readonly Row[] =>
    among.filter(({ attribute }) => attribute === name).map((row) => ({ ...row, value: String(row.value) }));
  if (!options.length) return amongRows(name);
  return options.flatMap((option) =>
    amongRows(option.name)
      .filter(({ value }) => value === "yes")
      .map((row) => ({ ...row, value: option.option })),
  );
}

/** What is too noisy to read, in sentences: of options, how many these are, and what the worst takes. */
function noiseOf({ estimates }: View, name: string, options: readonly Attribute[]): readonly string[] {
  const names = options.length ? options.map((option) => option.name) : [name];
  const noisy = estimates?.noise.filter((noise) => names.includes(noise.attribute)) ?? [];
  const [first, ...others] = noisy;
  if (!options.length || !first) return noisy.map(({ text }) => text);
  const worst = others.reduce((a, b) => (b.people > a.people ? b : a), first);
  const are = noisy.length === 1 ? "is" : "are";
  const takes = worst.text.slice(worst.text.indexOf("to be readable"));
  return [`${noisy.length} of ${several(options.length, "option")} ${are} ${NOISY}: ${takes}`];
}

/** How good weighted reports are, and what to beware of: of options, those that are the least good. */
function weighedOf({ estimates }: View, name: string, options: readonly Attribute[]): readonly string[] {
  const names = options.length ? options.map((option) => option.name) : [name];
  const weighed = estimates?.weights?.attributes.filter(({ attribute }) => names.includes(attribute)) ?? [];
  const [first, ...others] = weighed;
  if (!first) return [];
  const { text, warnings } = others.reduce((a, b) => (b.effective < a.effective ? b : a), first);
  return [text, ...warnings];
}

/** Where reports fit honest people badly, a sentence that says so: of options, one for each. */
function fitsOf({ estimates }: View, name: string, options: readonly Attribute[]): readonly string[] {
  const bad = estimates?.fit.filter(({ badly }) => badly) ?? [];
  if (!options.length) return bad.filter((fit) => fit.attribute === name).map(({ text }) => text);
  return options.flatMap((option) =>
    bad.filter((fit) => fit.attribute === option.name).map(({ text }) => `${option.option}: ${text}`),
  );
}

/** "40 reports", or "38 to 45 reports" where options have different numbers of them. */
function spanOf(reports: readonly number[]): string {
  const [least, most] = [Math.min(...reports), Math.max(...reports)];
  return least === most ? several(most, "report") : `${count(least)} to ${several(most, "report")}`;
}

/** Whom a number is about, where that is not everybody. */
function whose(estimate: { readonly among?: string | null } | undefined): string {
  return estimate?.among ? ` of ${estimate.among}` : "";
}

/** A cell by its middle: short, and with as many digits as distinguish it from its neighbors. */
function middleOf(grid: Grid, code: number): string {
  const size = Math.min((grid.north - grid.south) / grid.rows, grid.wide / grid.columns);
  return grid
    .middle(code)
    .map((degrees) => degrees.toFixed(Math.max(0, 1 - Math.floor(Math.log10(size)))).replace("-", "−"))
    .join(", ");
}

function answersTable(name: string, rows: readonly Row[]): HTMLElement {
  return sharesTable(`${name}${whose(rows[0])}`, rows);
}

function sharesTable(name: string, rows: readonly Row[]): HTMLElement {
  const isCounted = rows.every((row) => row.count !== null);
  const heads = ["Value", "Share", "From", "To", ...(isCounted ? ["People"] : [])];
  const cells = (row: Row): string[] => [
    row.noisy ? NOISY : [percent(row.share, 2), moved(row)].filter(Boolean).join(", "),
    percent(row.low, 2),
    percent(row.high, 2),
    ...(isCounted ? [row.noisy ? "–" : signed(count(Math.round(row.count ?? 0)))] : []),
  ];
  return table(
    `Estimates of ${name}`,
    heads,
    rows.map((row) => [String(row.value), ...cells(row)]),
  );
}

function meansTable(
  name: string,
  what: string,
  along: readonly (Mean & { readonly at: number })[],
): HTMLElement {
  const line = (step: Mean & { readonly at: number }): string[] => [
    count(step.at),
    ...[step.mean, step.low, step.high].map((number) => figured(number, step)),
  ];
  return table(`The mean of ${name} by ${what.toLowerCase()}`, [what, "Mean", "From", "To"], along.map(line));
}

function stepsTable(name: string, what: string, along: readonly Step[]): HTMLElement {
  const values = along.at(-1)?.rows.map((row) => row.value) ?? [];
  const cell = (row: Row | undefined): string => (row ? within(row) : "");
  const line = (value: Row["value"]): string[] => [
    String(value),
    ...along.map(({ rows }) => cell(rows.find((row) => row.value === value))),
  ];
  return table(
    `${name} by ${what.toLowerCase()}`,
    [what, ...along.map(({ at }) => count(at))],
    values.map(line),
  );
}
