/**
 * Asks several plans as one survey: one part after the other, one review, one consent, one button that sends.
 *
 * What was answered before, or is not open, is left out with a sentence. Every plan has a report of its own.
 */

import { AboveCap, Client, decode, type Plan, type Report } from "../src/index.js";
import { refuseAboveCap, statedForever } from "../src/ledger.js";
import { answersOf, cards } from "./cards.js";
import { askJson, type Round, type Summary } from "./collector.js";
import { persist, showDevice } from "./device.js";
import { type Child, h, quoted } from "./dom.js";
import { check, drawnFirst, promise } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { own, paragraphs, settle } from "./language.js";
import { rich, t } from "./messages.js";
import { likelier, titleOf } from "./phrases.js";
import { keptFor, type Linked } from "./plans_link.js";
import { sendAll } from "./plans_send.js";
import { hasRareQuestions } from "./question_items.js";
import { type Given, leadBack, questions, readAnswers, showQuestion } from "./questions.js";
import { isReceived } from "./receipts.js";
import { consenting } from "./report.js";
import { type Offer, put, refuse, shared } from "./shared.js";

/** What the page does for one plan as for several. */
export interface Tools {
  verified(id: string): Promise<Plan>;
  pick(plan: Plan, rounds: readonly Round[]): number | null;
  about(plan: Plan, more: readonly HTMLElement[]): HTMLElement | null;
  sentAlong(): HTMLElement;
  /** Whether this is what is to be shown still. */
  isCurrent(): boolean;
  again(): unknown;
  /** Say what is being answered: another language keeps the answers. */
  answering(all: Answering): void;
}

/** The forms of all parts, the part that is shown, and how to show another. */
export interface Answering {
  readonly forms: readonly HTMLFormElement[];
  readonly part: number;
  show(part: number): void;
}

/** One plan of the survey: what is asked of it, and the report, where it is made already. */
export interface Part extends Offer {
  readonly title: string;
  readonly asked: readonly string[];
  readonly made: Report | null;
}

type Tickets = typeof import("./tickets.js");

/** Show the survey of all plans of a link. */
export async function showPlans(
  links: readonly Linked[],
  summaries: readonly Summary[],
  tools: Tools,
): Promise<void> {
  const left: HTMLElement[] = []; // why some plans are not asked
  const parts: Part[] = [];
  const seen = new Set<string>(); // a link may name a plan in two ways
  for (const { plan: wanted } of links) {
    const summary = summaries.find(
      ({ id }) => id === wanted || (wanted.length >= 8 && id.startsWith(wanted)),
    );
    if (!summary) {
      left.push(note(t("plans_unknown")));
      continue;
    }
    if (seen.has(summary.id)) continue;
    seen.add(summary.id);
    const plan = await tools.verified(summary.id);
    if (!parts.length && plan.texts !== null) await settle(plan, tools.again);
    const found = await offered(plan, summary, parts, tools);
    if (typeof found === "string") left.push(note(rich(found, { title: quoted(nameOf(plan)) })));
    else parts.push(found);
  }
  const isRare = parts.some(({ plan }) => hasRareQuestions(plan));
  const kinds = isRare ? await import("./question_kinds.js") : null;
  const tickets = parts.some(({ plan }) => plan.ticketKey !== null) ? await import("./tickets.js") : null;
  if (!tools.isCurrent()) return;
  const titles = parts.map(({ title }) => title);
  document.title = `${[...new Set(titles)].join(" · ") || t("surveys")} · Deniable`;
  const head = h(
    "div",
    { class: "head" },
    h("h1", { tabindex: -1 }, parts.length ? joined(titles) : t("plans_nothing")),
    left,
    parts.map(({ plan }) => {
      const [first, ...more] = paragraphs(plan, plan.texts?.introduction);
      return [first, tools.about(plan, more)];
    }),
  );
  if (!parts.length) return put(head);
  const answers = new Map<Part, readonly Given[]>();
  const open = parts.filter(({ made }) => made === null);
  const forms = open.map(askPart);
  const missing = listUninvited(parts, tickets);
  const isInvited = parts.some(({ summary }) => summary.invited);
  const told = isInvited ? [tickets ? tickets.explanation() : tools.sentAlong()] : [];
  if (open.length && missing.length) put(head, promises(parts), ...told, askInvitation(missing));
  else if (open.length) show(0);
  else sendMade(head, parts, answers, tickets);

  /** The questions of one part, and then those of the next. */
  function askPart(part: Part, i: number): HTMLFormElement {
    const form = questions(part.plan, part.asked, kinds, async () => {
      if (i + 1 < open.length) return show(i + 1);
      // all of them: in another language, a number of an earlier part may have to be asked back
      for (const [j, each] of open.entries()) {
        const given = readAnswers(forms[j] as HTMLFormElement);
        if (given !== null) {
          answers.set(each, given);
          continue;
        }
        show(j);
        readAnswers(forms[j] as HTMLFormElement); // and to what is wrong
        return;
      }
      reviewAll(head, parts, answers, tickets, goBack);
    });
    const button = form.querySelector<HTMLButtonElement>(".act .main");
    if (button && i + 1 < open.length) button.dataset.end = button.textContent = t("next");
    if (i > 0) leadBack(form, () => show(i - 1));
    return form;
  }

  /** Back to a question, or to the last part. */
  function goBack(part?: Part, name = ""): void {
    const i = part ? open.indexOf(part) : open.length - 1;
    show(i);
    if (part) showQuestion(forms[i] as HTMLFormElement, name);
  }

  function show(i: number): void {
    const part = open[i] as Part;
    const title = h("h2", { tabindex: -1 }, quoted(part.title));
    const where =
      open.length > 1 && h("p", { class: "soft" }, t("plans_part", { n: i + 1, all: open.length }));
    const drawn = part.plan.ask === "all" ? null : drawnFirst(part.asked.length, part.plan.attributes.length);
    const form = forms[i] as HTMLFormElement;
    tools.answering({ forms, part: i, show: (part) => void (part < open.length && show(part)) });
    put(
      head,
      ...(i ? [] : [promises(parts), ...told]),
      h("div", { class: "part" }, where, title, drawn),
      form,
    );
    if (i) title.focus();
  }
}

const note = (text: Child): HTMLElement => h("p", { class: "notice" }, text);

const nameOf = (plan: Plan): string => own(plan, plan.texts?.title)?.words ?? titleOf(plan.title, plan.id);

/** "A and B". */
function joined(titles: readonly string[]): Child {
  const each = [...new Set(titles)];
  return each.map((title, i) => [i > 0 && (i === each.length - 1 ? t("and") : ", "), quoted(title)]);
}

/** A plan as a part of the survey, or why it is none. */
async function offered(
  plan: Plan,
  summary: Summary,
  before: readonly Part[],
  tools: Tools,
): Promise<Part | "plans_closed" | "plans_done" | "plans_limit"> {
  const { rounds } = await askJson<{ rounds: Round[] }>(`plans/${plan.id}/rounds`);
  const round = tools.pick(plan, rounds);
  if (round === null) return "plans_closed";
  const { ledger } = shared;
  const stored = ledger.find(plan, round);
  if (stored && isReceived({ plan: plan.id, round })) return "plans_done";
  const one = { plan, summary, round, title: nameOf(plan) };
  if (stored) return { ...one, asked: [], made: decode(plan, stored) };
  try {
    refuseAboveCap(ledger, plan);
  } catch (problem) {
    if (problem instanceof AboveCap) return "plans_limit";
    throw problem;
  }
  if (isAboveTogether([...before.map((part) => part.plan), plan])) return "plans_limit";
  return { ...one, asked: await new Client(plan, { ledger }).questions(), made: null };
}

/** Whether all these plans together are above the limit that the person has set. */
function isAboveTogether(plans: readonly Plan[]): boolean {
  const { ledger } = shared;
  if (ledger.cap === null) return false;
  const now = ledger.lifetime().counted ?? Number.POSITIVE_INFINITY;
  const more = plans.map((plan) => (ledger.lifetime(plan).counted ?? Number.POSITIVE_INFINITY) - now);
  return now + more.reduce((sum, one) => sum + one, 0) > ledger.cap * 1e9;
}

/** The ids of plans that still need an invitation. */
function listUninvited(parts: readonly Part[], tickets: Tickets | null): string[] {
  const hasTicket = (plan: Plan): boolean =>
    plan.ticketKey !== null && (tickets?.isKept(shared.ledger, plan) ?? false);
  return parts
    .filter(({ plan, summary }) => summary.invited && keptFor(plan.id) === null && !hasTicket(plan))
    .map(({ plan }) => plan.id);
}

/** The promise of all parts: the sum of what they give away, and each promise below it. */
function promises(parts: readonly Part[]): HTMLElement {
  const losses = parts.map(({ plan }) => statedForever(plan).unchanged);
  const total = losses.reduce(
    (sum: number | null, one) => (sum === null || one === null ? null : sum + one),
    0,
  );
  if (parts.length === 1) return promise((parts[0] as Part).plan);
  return h(
    "section",
    { class: "promise", "aria-labelledby": "together" },
    h("h2", { id: "together", class: "verified" }, check(), t("verified")),
    h("p", { class: "headline" }, t("plans_together", { n: parts.length, times: likelier(total) })),
    parts.map(({ plan, title }, i) =>
      h(
        "details",
        { class: "more" },
        h("summary", { id: `part-${i}` }, quoted(title)),
        promise(plan, `-${i}`),
      ),
    ),
  );
}

/** All answers, one consent, and the button that makes the reports. */
function reviewAll(
  head: HTMLElement,
  parts: readonly Part[],
  answers: ReadonlyMap<Part, readonly Given[]>,
  tickets: Tickets | null,
  goBack: (part?: Part, name?: string) => void,
): void {
  const open = parts.filter(({ made }) => made === null);
  const title = h("h2", { tabindex: -1 }, t("review_title"));
  const tick = consentTo(open);
  const go = async (): Promise<void> => {
    if (tick && !tick.isGiven()) return;
    next.disabled = back.disabled = true;
    await makeAll(head, parts, answers, tickets);
  };
  const next = h("button", { type: "button", class: "main", click: () => void go() }, t("plans_make"));
  const back = h("button", { type: "button", click: () => goBack() }, t("change"));
  put(
    head,
    title,
    h("p", {}, t("review_hint")),
    ...open.map((part) =>
      h(
        "section",
        { class: "card stays review", "aria-label": part.title },
        h("h3", {}, quoted(part.title)),
        answersOf(part.plan, answers.get(part) ?? [], (name) => goBack(part, name)),
      ),
    ),
    ...(tick ? [tick.element] : []),
    h("div", { class: "act row" }, next, back),
  );
  title.focus();
}

/**
 * What the operators ask people to agree to, with one tick; null where that is nothing. It names all parts, those
 * without a text of their own, too: they are sent together.
 */
function consentTo(parts: readonly Part[]): ReturnType<typeof consenting> | null {
  const asking = parts.filter(({ plan }) => plan.texts?.consent);
  if (!asking.length) return null;
  const texts = asking.map(({ plan, title }) => [
    parts.length > 1 && h("h4", {}, quoted(title)),
    paragraphs(plan, plan.texts?.consent),
  ]);
  return consenting(texts, rich("plans_agree", { titles: joined(parts.map(({ title }) => title)) }));
}

/** Draw all reports, each once, and show them before they leave. */
async function makeAll(
  head: HTMLElement,
  parts: readonly Part[],
  answers: ReadonlyMap<Part, readonly Given[]>,
  tickets: Tickets | null,
): Promise<void> {
  const { ledger } = shared;
  const made: Part[] = [];
  const given = new Map<Part, readonly Given[]>();
  try {
    for (const part of parts) {
      const { plan, round } = part;
      const said = answers.get(part) ?? [];
      const all = Object.fromEntries(said.map(({ name, answer }) => [name, answer]));
      const report = part.made ?? (await new Client(plan, { ledger }).report(all, { round }));
      const done = { ...part, made: report };
      made.push(done);
      if (!part.made) given.set(done, said);
    }
  } catch (problem) {
    return refuse(problem as Error);
  }
  showDevice(ledger, shared.start);
  void persist(); // a browser may ask the person, who need not answer now
  sendMade(head, made, given, tickets);
}

/** The reports next to the answers, and the button that sends them. */
function sendMade(
  head: HTMLElement,
  parts: readonly Part[],
  answers: ReadonlyMap<Part, readonly Given[]>,
  tickets: Tickets | null,
): void {
  const title = h("h2", { tabindex: -1 }, t("look"));
  const shown = parts.map((part, i) =>
    h(
      "section",
      { class: "part", "aria-labelledby": `part-${i}` },
      h("h3", { id: `part-${i}` }, quoted(part.title)),
      cards(part.plan, part.made as Report, answers.get(part) ?? null, false, `-${i}`),
    ),
  );
  const missing = listUninvited(parts, tickets);
  put(head, title, ...shown, missing.length ? askInvitation(missing) : sendAll(head, parts, tickets));
  title.focus();
}
