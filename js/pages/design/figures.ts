/** Shows what a study will tell and give away, and results of simulated people. */

import { type Child, h, quoted, svg } from "../kit/dom.js";
import { count, NOISY, sentence, several } from "../kit/phrases.js";

/** How well one thing will be known, as `deniable people` says it. */
export interface Precision {
  readonly attribute: string;
  /** The question of which this is read; null for whether a question is answered. */
  readonly question: string | null;
  readonly use: "clear" | "useful" | "rough" | "noise";
  readonly sentence: string;
  readonly what: string;
  readonly what_is_read: string;
  /** Whether the margin is below all that is possible. */
  readonly known: boolean;
  readonly known_to_within: string;
  /** The margin beside an average share; null where nothing is known. */
  readonly ratio: number | null;
  readonly word: string;
  readonly people_enough: number;
}

/** How often an attacker is right about an answer, as `deniable plan` says it. */
export interface Guess {
  readonly attribute: string;
  /** What is guessed, where it is not the value. */
  readonly what: string;
  readonly blind: number;
  readonly report: number;
  readonly reported: number;
  /** With all questions that depend on each other, where there are such. */
  readonly together?: number;
  readonly together_blind?: number;
  /** The guess of one answer of a table, by an attacker who knows the other answers, at most. */
  readonly most?: number;
}

/** What a table will tell, as the server says it. */
interface Table {
  readonly of: string;
  readonly by: string;
  /** Whether the margin is below all that is possible. */
  readonly known: boolean;
  readonly known_to_within: string;
  /** The margin beside an average share; null where nothing is known. */
  readonly ratio: number | null;
  readonly use: "clear" | "useful" | "rough" | "noise";
  readonly word: string;
  readonly sentence: string;
}

export interface Forecast {
  readonly plan: string;
  /** The plan of what is asked once and that of what is asked again, or the one of all questions. */
  readonly plans: readonly string[];
  readonly people: number;
  readonly choice: string;
  readonly choice_words: string;
  /** What the short names of choices mean. */
  readonly kinds: readonly string[];
  readonly why: string;
  readonly describe: string;
  readonly report_bytes: number;
  /** The loss of all reports of a person together, whatever changes; null without a bound. */
  readonly loss: number | null;
  readonly reports: number | null;
  /** How well answers are protected, in a sentence, and the level alone. */
  readonly protection: string;
  readonly level: "well" | "a little" | "hardly";
  readonly precisions: readonly Precision[];
  readonly tables: readonly Table[];
  /** That margins take it that everybody answers, where some may not. */
  readonly turnout: string | null;
  readonly guesses: readonly Guess[];
  readonly warnings: readonly string[];
  readonly text: string;
}

interface Share {
  readonly value: string;
  readonly share: number;
  readonly low: number;
  readonly high: number;
  /** Whether it is too noisy to read. */
  readonly noisy: boolean;
  readonly truth: number;
}

interface Result {
  readonly attribute: string;
  readonly rows: readonly Share[];
  readonly left_out?: number;
  /** The mean or the median, whichever the margins are about; an open end has no number. */
  readonly middle: {
    readonly what: "mean" | "median";
    readonly noisy: boolean;
    readonly value: number | null;
    readonly low: number | null;
    readonly high: number | null;
    readonly truth: number | null;
  } | null;
  readonly why: string | null;
}

export interface Preview {
  readonly plan: string;
  readonly people: number;
  readonly questions: readonly Result[];
  /** The share of one answer among the people of each row, for each table. */
  readonly tables: readonly {
    readonly of: string;
    readonly by: string;
    readonly column: string;
    readonly rows: readonly Share[];
  }[];
}

const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`;
const part = (share: number): string => `${(100 * Math.max(0, Math.min(1, share))).toFixed(2)}%`;

/** A number in three digits, or in powers of ten, rounded up: it is promised. */
export function atMost(times: number): string {
  const digits = Math.floor(Math.log10(times)) - 2;
  if (digits > 3) return `10^${Math.ceil(Math.log10(times))}`;
  return count(Number((Math.ceil(times / 10 ** digits) * 10 ** digits).toPrecision(12)));
}

/** What a question is judged by: what is read first of it, or the option that is known worst. */
export function judged(precisions: readonly Precision[], name: string): Precision | undefined {
  const ofQuestion = precisions.filter(({ question }) => question === name);
  const worst = (a: Precision, b: Precision): Precision =>
    (b.ratio ?? Number.POSITIVE_INFINITY) > (a.ratio ?? Number.POSITIVE_INFINITY) ? b : a;
  return (
    ofQuestion.find(({ attribute }) => attribute === name) ??
    (ofQuestion.length ? ofQuestion.reduce(worst) : undefined)
  );
}

/** A margin as the server says it, where anything will be known. */
const formatMargin = ({ known, known_to_within }: Pick<Table, "known" | "known_to_within">): string =>
  known ? `± ${known_to_within}` : "nothing is known";

/** A question's result in a few words: "± 3.1 points: useful"; of text, from which share on it is found. */
export function verdict(precision: Precision): string {
  if (precision.what !== "found") return `${formatMargin(precision)}: ${precision.word}`;
  return precision.known
    ? `found ${precision.known_to_within}` // "from 0.8 %"
    : "found at most half of the time";
}

/** What is told in a line, and more when it is unfolded; the key names it among others. */
function fold(key: string, line: Child, more: Child, isOpen = false): HTMLElement {
  return h(
    "details",
    { class: "fold", "data-key": key, open: isOpen },
    h("summary", {}, line),
    h("div", {}, more),
  );
}

/** Show figures in the place of earlier ones: what was unfolded stays so, and the focus stays. */
export function replaceFigures(place: HTMLElement, ...figures: readonly Child[]): void {
  const folds = (): HTMLDetailsElement[] => [...place.querySelectorAll("details")];
  const before = new Map(folds().map(({ dataset, open }) => [dataset.key, open]));
  const focus = folds().find(({ firstChild }) => firstChild === document.activeElement)?.dataset.key;
  place.replaceChildren(...h("div", {}, figures).childNodes);
  for (const details of folds()) {
    details.open = before.get(details.dataset.key) ?? details.open;
    if (focus === details.dataset.key) (details.firstChild as HTMLElement).focus();
  }
}

/** Figures by the question that they are of. */
function byQuestion<Figure extends { readonly attribute: string }>(
  figures: readonly Figure[],
  precisions: readonly Precision[],
): (readonly [string, readonly Figure[]])[] {
  const questions = new Map(precisions.map(({ attribute, question }) => [attribute, question]));
  const groups = new Map<string, Figure[]>();
  for (const figure of figures) {
    const question = questions.get(figure.attribute) ?? figure.attribute;
    groups.set(question, [...(groups.get(question) ?? []), figure]);
  }
  return [...groups];
}

const andMore = (others: number): string => (others ? `, and ${others} more` : "");

/** How well each question will be known: a line each, with all that is read of it when it is unfolded. */
export function errors({ precisions, people, tables, turnout }: Forecast): Child {
  const single = precisions.filter(({ what }) => what !== "cell" && what !== "row share");
  const row = (precision: Precision, others: readonly Precision[] = []): HTMLElement =>
    h(
      "li",
      { class: `known ${precision.use}` },
      fold(
        `${precision.attribute} ${precision.what}`,
        [
          h(
            "span",
            { class: "line" },
            h(
              "span",
              {},
              h("span", { class: "of" }, quoted(precision.attribute)),
              h("span", { class: "soft" }, `, ${precision.what_is_read}${andMore(others.length)}`),
            ),
            h("span", { class: "margin" }, verdict(precision)),
          ),
          bar(precision.ratio ?? 1, "value"),
        ],
        [
          h("p", { class: "soft" }, precision.sentence),
          others.length > 0 &&
            h(
              "ul",
              { class: "plain" },
              others.map((other) => row(other)),
            ),
        ],
      ),
    );
  const rows = byQuestion(single, precisions).map(([name, group]) => {
    const first = judged(group, name) ?? (group[0] as Precision);
    return row(
      first,
      group.filter((precision) => precision !== first),
    );
  });
  return [
    h("h2", {}, "How well answers will be known"),
    h(
      "p",
      { class: "soft" },
      `By ${count(people)} people, 95 % either way. A full bar is as much as an average share, or a quarter of the range: noise.`,
    ),
    rows.length > 0 && h("ul", { class: "plain" }, rows),
    expected(tables),
    turnout && h("p", { class: "soft", id: "turnout" }, turnout),
  ];
}

/** What each table will tell. */
function expected(tables: readonly Table[]): Child {
  if (!tables.length) return null;
  const row = (table: Table): HTMLElement =>
    h(
      "li",
      { class: `known ${table.use}` },
      fold(
        `${table.of} by ${table.by}`,
        [
          h(
            "span",
            { class: "line" },
            h("span", { class: "of" }, quoted(table.of), " by ", quoted(table.by)),
            h("span", { class: "margin" }, `${formatMargin(table)}: ${table.word}`),
          ),
          bar(table.ratio ?? 1, "value"),
        ],
        h("p", { class: "soft" }, sentence(table.sentence)),
      ),
    );
  return [
    h("h3", {}, "Tables of two answers"),
    h(
      "p",
      { class: "soft" },
      "The margin is that of a share among the people of one row, if rows are equally large.",
    ),
    h("ul", { class: "plain expected" }, tables.map(row)),
  ];
}

function bar(share: number, kind: string): SVGElement {
  return svg(
    "svg",
    { class: "bar", width: "100%", height: 8, "aria-hidden": "true" },
    svg("rect", { class: "track", width: "100%", height: 8, rx: 4 }),
    svg("rect", { class: kind, width: part(share), height: 8, rx: 4 }),
  );
}

/** What all reports of a person lose, in a sentence. */
function losing({ loss, reports }: Forecast): string {
  if (loss === null)
    return `There is no bound on what ${reports} reports give away together, if answers change.`;
  const times = `${atMost(Math.exp(loss))} times likelier from one person than from another`;
  const epsilon = `(epsilon ${count(Math.ceil(loss * 1000 - 1e-6) / 1000)})`;
  if (reports === null) return `No report is more than ${times} ${epsilon}.`;
  return `All of ${several(reports, "report")} together are at most ${times}, even if answers change ${epsilon}.`;
}

/** How often an attacker is right about each question: a line each, with its options when it is unfolded. */
export function guesses(forecast: Forecast): Child {
  const { guesses, precisions, protection, level } = forecast;
  const row = (guess: Guess, others: readonly Guess[] = []): HTMLElement => {
    const { attribute, what, blind, report } = guess;
    const line = [
      h(
        "span",
        { class: "line" },
        h(
          "span",
          {},
          h("span", { class: "of" }, quoted(attribute)),
          h("span", { class: "soft" }, what && `, ${what}`, andMore(others.length)),
        ),
        h("span", { class: "margin" }, `${percent(report)} with a report, ${percent(blind)} without`),
      ),
      bar(report, "guess"),
      bar(blind, "blind"),
    ];
    const more = [
      ...explainGuess(guess),
      ...(others.length
        ? [
            h(
              "ul",
              { class: "plain" },
              others.map((other) => row(other)),
            ),
          ]
        : []),
    ];
    return h(
      "li",
      {},
      more.length ? fold(`${attribute} ${what}`, line, more) : h("div", { class: "bare" }, line),
    );
  };
  const rows = byQuestion(guesses, precisions).map(([, group]) => {
    const [first, ...others] = [...group].sort((a, b) => b.report - a.report);
    return row(first as Guess, others);
  });
  return [
    h("h2", {}, "An attacker’s best guess"),
    h(
      "p",
      { class: `level ${level.replace("a ", "")}` },
      h("strong", {}, sentence(`The survey ${protection}`)),
    ),
    h("p", { class: "soft" }, `How often it is right about an answer from one report. ${losing(forecast)}`),
    h("ul", { class: "plain" }, rows),
  ];
}

/** What else an attacker may know of one answer, in sentences. */
function explainGuess({
  report,
  reported,
  together,
  together_blind: without,
  most,
}: Guess): readonly HTMLElement[] {
  const sentences = [
    reported - report > 0.0005 && `${percent(reported)} for people whose report is about it.`,
    most !== undefined &&
      `At most ${percent(Math.ceil(1000 * most) / 1000)} by whoever knows the other answers: the survey page states this.`,
    together !== undefined &&
      without !== undefined &&
      `${percent(together)} from all questions that depend on each other, ${percent(without)} without a report.`,
  ];
  return sentences.flatMap((text) => (text ? [h("p", { class: "soft" }, text)] : []));
}

export function choice(forecast: Forecast): Child {
  const { choice: name, choice_words: words, kinds, why, describe, report_bytes: bytes, text } = forecast;
  const named = why.split(/[^\w+]+/);
  const said = kinds.filter((kind) => named.includes(kind.split(":")[0] as string));
  return [
    h("h2", {}, "The plan"),
    h(
      "p",
      { title: name },
      h("strong", {}, sentence(words || "everybody reports the only question")),
      ` A report has at most ${several(bytes, "byte")}.`,
    ),
    why && h("p", {}, why),
    fold("plan", "All that deniable plan says", [
      said.length > 0 && h("p", { class: "soft" }, sentence(said.join("; "))),
      h(
        "ul",
        { class: "plain soft" },
        describe.split("\n").map((text) => h("li", {}, text.trim())),
      ),
      h("p", { class: "soft" }, "The choice is called ", h("code", {}, name), "."),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "The plan in full" },
        h("pre", {}, text),
      ),
    ]),
  ];
}

export function warnings({ warnings: texts }: Forecast): Child {
  return texts.map((text) => h("p", { class: "notice bad" }, h("strong", {}, "Warning. "), text));
}

export function results({ questions, people, tables }: Preview, wanted: number): Child {
  const fewer = people < wanted ? ` (not all ${count(wanted)}, to be quick)` : "";
  return [
    h(
      "p",
      { class: "soft" },
      `${count(people)} simulated people${fewer}. The line is a 95 % interval, the dot the estimate, the bar the truth.`,
    ),
    questions.map((question, i) =>
      fold(question.attribute, h("h3", {}, quoted(question.attribute)), drawn(question), i === 0),
    ),
    tables.map(({ of, by, column, rows }) =>
      fold(
        `${of} by ${by}`,
        h("h3", {}, quoted(of), ": ", quoted(column), ", by ", quoted(by)),
        drawn({ attribute: of, rows, middle: null, why: null }),
      ),
    ),
  ];
}

function drawn({ rows, middle, why, left_out: more = 0 }: Result): Child {
  const most = Math.max(0.05, ...rows.map(({ high, truth }) => Math.min(1, Math.max(high, truth))));
  return [
    rows.map((row) => share(row, most)),
    more > 0 &&
      h("p", { class: "soft" }, `The ${rows.length} most frequent of ${rows.length + more} values.`),
    middle &&
      h(
        "p",
        {},
        sentence(
          `${middle.what} ${middle.noisy ? NOISY : figure(middle.value)} (${figure(middle.low)} to ${figure(middle.high)}); in truth ${figure(middle.truth)}`,
        ),
      ),
    why && h("p", { class: "soft" }, sentence(why)),
  ];
}

const figure = (number: number | null): string =>
  number === null ? "beyond the open end" : count(Number(number.toPrecision(4)));
const within = (share: number): number => Math.max(0, Math.min(1, share));

/** One value: what is estimated, where the truth is by the reports, and the truth. */
function share({ value, share: estimate, low, high, noisy, truth }: Share, most: number): HTMLElement {
  const [a, b] = [within(low), within(high)];
  const at = (number: number): string => part(within(number) / most);
  const ends = noisy
    ? `${NOISY} (${(100 * a).toFixed(0)} to ${percent(b, 0)})`
    : `${percent(within(estimate))} (${(100 * a).toFixed(1)} to ${(100 * b).toFixed(1)})`;
  return h(
    "div",
    { class: "share" },
    h("p", {}, h("bdi", {}, value), h("span", { class: "margin" }, `${ends}, in truth ${percent(truth)}`)),
    svg(
      "svg",
      { class: "bar", width: "100%", height: 14, "aria-hidden": "true" },
      svg("rect", { class: "truth", y: 2, width: at(truth), height: 10, rx: 2 }),
      svg("line", { class: "reach", x1: at(low), x2: at(high), y1: 7, y2: 7 }),
      !noisy && svg("circle", { class: "dot", cx: at(estimate), cy: 7, r: 4 }),
    ),
  );
}
