/**
 * Asks several plans as one survey: one part after the other, one review, one consent, one button that sends.
 *
 * What was answered before, or is not open, is left out with a sentence. Every plan has a report of its own.
 */

import { refuseAboveCap } from "../../src/client/ledger.js";
import { AboveCap } from "../../src/errors.js";
import type { Plan, Report } from "../../src/index.js";
import { lossOfAll } from "../../src/losses/losses.js";
import { rateLoss } from "../../src/losses/protection.js";
import { askJson, type Round, type Summary } from "../kit/collector.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, moment, rich, t } from "../kit/messages.js";
import { likelier, titleOf } from "../kit/phrases.js";
import {
  askedBy,
  byOperator,
  CLASSES,
  drawnFirst,
  largest,
  listGuesses,
  promise,
  promiseAgain,
  rated,
} from "./guarantee.js";
import { asking, loadMore, own, paragraphs, settle } from "./language.js";
import { keptFor, type Linked } from "./plans_link.js";
import { hasRareQuestions, hasText } from "./question_items.js";
import { type Given, leadBack, questions, readAnswers, showQuestion } from "./questions.js";
import { isReceived } from "./receipts.js";
import { complain, type Offer, put, shared } from "./shared.js";

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

/** What follows the questions. */
const following = (): Promise<typeof import("./plans_review.js")> => loadMore(import("./plans_review.js"));

/** Show the survey of all plans of a link. */
export async function showPlans(
  links: readonly Linked[],
  summaries: readonly Summary[],
  tools: Tools,
): Promise<void> {
  const left: HTMLElement[] = []; // why some plans are not asked
  const parts: Part[] = [];
  const cap = count(shared.ledger.cap);
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
    if ("left" in found)
      left.push(note(rich(found.left, { title: quoted(nameOf(plan)), when: found.when, cap })));
    else parts.push(found);
  }
  const isRare = parts.some(({ plan }) => hasRareQuestions(plan));
  const kinds = isRare ? await loadMore(import("./question_kinds.js"), "fields") : null;
  const hasTickets = parts.some(({ plan }) => plan.ticketKey !== null);
  const tickets = hasTickets ? await loadMore(import("./tickets.js")) : null;
  const hasGroups = parts.some(({ plan }) => plan.known);
  shared.known = hasGroups ? await loadMore(import("./known_group.js")) : null;
  const asksText = parts.some(({ plan }) => hasText(plan));
  shared.texts = asksText ? await import("./question_text.js") : null;
  await shared.texts?.speakTexts(); // after all that speaks otherwise
  if (!tools.isCurrent()) return;
  const titles = parts.map(({ title }) => title);
  document.title = `${[...new Set(titles)].join(" · ") || t("surveys")} · Deniable`;
  const head = h(
    "div",
    { class: "head" },
    !parts.length && h("h1", { tabindex: -1 }, t("plans_nothing")),
    left,
    parts.length > 0 &&
      byOperator(
        h("h1", { tabindex: -1 }, joined(titles)),
        ...parts.map(({ plan }) => {
          const [first, ...more] = paragraphs(plan, plan.texts?.introduction);
          return [first, tools.about(plan, more)];
        }),
      ),
  );
  if (!parts.length) return put(head);
  const answers = new Map<Part, readonly Given[]>();
  const open = parts.filter(({ made }) => made === null);
  const forms = open.map(askPart);
  const missing = listUninvited(parts, tickets);
  const isInvited = parts.some(({ summary }) => summary.invited);
  const told = isInvited ? [tickets ? tickets.explanation() : tools.sentAlong()] : [];
  if (open.length && missing.length) {
    const { askInvitation } = await following();
    if (tools.isCurrent()) put(head, promises(parts), ...told, askInvitation(missing));
  } else if (open.length) show(0);
  else {
    const { sendMade } = await following();
    if (tools.isCurrent()) sendMade(head, parts, answers, tickets, missing);
  }

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
      const part = await following().catch(() => null);
      complain(form, part === null ? t("unreachable") : "");
      part?.reviewAll(head, parts, answers, tickets, goBack);
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
    const drawn = part.plan.ask === "all" ? null : drawnFirst(part.asked.length, part.plan.asked.length);
    const form = forms[i] as HTMLFormElement;
    tools.answering({ forms, part: i, show: (part) => void (part < open.length && show(part)) });
    put(
      head,
      ...(i ? [] : [promises(parts), ...told]),
      h("div", { class: "part" }, where, title, drawn),
      askedBy(),
      form,
    );
    if (i) title.focus();
  }
}

const note = (text: Child): HTMLElement => h("p", { class: "notice" }, text);

const nameOf = (plan: Plan): string => own(plan, plan.texts?.title)?.words ?? titleOf(plan.title, plan.id);

/** "A and B". */
export function joined(titles: readonly string[]): Child {
  const each = [...new Set(titles)];
  return each.map((title, i) => [i > 0 && (i === each.length - 1 ? t("and") : ", "), quoted(title)]);
}

/** Why a plan is not asked now, and when it is. */
interface LeftOut {
  readonly left: "plans_again" | "plans_again_from" | "plans_closed" | "plans_done" | "plans_limit";
  readonly when?: string;
}

/** A plan that was answered is asked again in its next round, if it has one. */
function askedAgain(plan: Plan, round: number, rounds: readonly Round[]): LeftOut {
  if ((plan.rounds ?? 1) <= round) return { left: "plans_done" };
  const opens = rounds.find((one) => one.number > round && one.opens !== null)?.opens;
  return opens ? { left: "plans_again_from", when: moment(opens) } : { left: "plans_again" };
}

/** A plan as a part of the survey, or why it is none. */
async function offered(
  plan: Plan,
  summary: Summary,
  before: readonly Part[],
  tools: Tools,
): Promise<Part | LeftOut> {
  const { rounds } = await askJson<{ rounds: Round[] }>(`plans/${plan.id}/rounds`);
  const round = tools.pick(plan, rounds);
  if (round === null) return { left: "plans_closed" };
  const { ledger } = shared;
  const stored = ledger.find(plan, round);
  if (stored && isReceived({ plan: plan.id, round })) return askedAgain(plan, round, rounds);
  const one = { plan, summary, round, title: nameOf(plan) };
  if (stored) return { ...one, asked: [], made: (await following()).decode(plan, stored) };
  try {
    refuseAboveCap(ledger, [...before.map((part) => part.plan), plan]);
  } catch (problem) {
    if (problem instanceof AboveCap) return { left: "plans_limit" };
    throw problem;
  }
  const isAll = plan.ask === "all";
  const asked = isAll ? plan.asked.map(({ name }) => name) : await (await following()).drawQuestions(plan);
  return { ...one, asked, made: null };
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
export function promises(parts: readonly Part[], isShort = false): HTMLElement {
  const losses = parts.map(({ plan }) => lossOfAll(plan.stated).counted);
  const total = losses.reduce(
    (sum: number | null, one) => (sum === null || one === null ? null : sum + one),
    0,
  );
  if (parts.length === 1)
    return isShort ? promiseAgain((parts[0] as Part).plan) : promise((parts[0] as Part).plan);
  const guesses = parts.flatMap(({ plan }) => listGuesses(plan).map((guess) => ({ ...guess, plan })));
  const easiest = largest(guesses);
  const { level, percent } = rateLoss(total);
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": "together" },
    rated(level, "together"),
    h("p", { class: "headline" }, easiest.headline),
    h("p", { class: "soft" }, rich("easiest", { name: asking(easiest.plan, easiest.name) })),
    easiest.again && h("p", { class: "again" }, easiest.again),
    h("p", { class: "again" }, t("plans_together", { n: parts.length, times: likelier(total) })),
    h("p", { class: "again" }, t("picks", { n: percent })),
    !isShort &&
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
