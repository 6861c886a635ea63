/**
 * Asks several plans as one survey: one part after the other, one review, one consent, one button that sends.
 *
 * What was answered before, or is not open, is left out with a sentence. Every plan has a report of its own.
 */

import { refuseAboveCap } from "../../src/client/ledger.js";
import { AboveCap } from "../../src/errors.js";
import { decode, type Plan } from "../../src/index.js";
import type { Round, Rounds, Summary } from "../kit/api.js";
import { askJson } from "../kit/collector.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, moment, rich, t } from "../kit/messages.js";
import { titleOf } from "../kit/phrases.js";
import { askedBy, byOperator, drawnFirst } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { inLanguage, paragraphs, settle } from "./language.js";
import { isOneStudy, keptFor, type Linked } from "./plans_link.js";
import { introducing, joined, type Part, promises } from "./plans_parts.js";
import { reviewAll, sendMade } from "./plans_review.js";
import type { Reply } from "./question.js";
import { type QuestionForm, questions } from "./questions.js";
import { isReceived } from "./receipts.js";
import { drawQuestions } from "./report.js";
import { put } from "./stage.js";
import { explanation, isKept, prepareTickets } from "./tickets.js";
import { turning } from "./top.js";
import type { Visit } from "./visit.js";

/** What the page does for one plan as for several. */
export interface Tools {
  verified(id: string): Promise<Plan>;
  pick(plan: Plan, rounds: readonly Round[]): Promise<number | null>;
  about(plan: Plan, more: readonly HTMLElement[]): HTMLElement | null;
  sentAlong(): HTMLElement;
  /** Whether this is what is to be shown still. */
  isCurrent(): boolean;
  again(): unknown;
}

/** Show the survey of all plans of a link. */
export async function showPlans(
  visit: Visit,
  links: readonly Linked[],
  summaries: readonly Summary[],
  tools: Tools,
): Promise<void> {
  const left: HTMLElement[] = []; // why some plans are not asked
  const offers: { plan: Plan; summary: Summary }[] = [];
  const cap = count(visit.ledger.cap);
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
    if (!offers.length && plan.texts !== null) await settle(plan, tools.again);
    offers.push({ plan, summary });
  }
  const parts: Part[] = [];
  const plans = offers.map(({ plan }) => plan);
  for (const { plan, summary } of offers) {
    const title = nameOf(plan, plans);
    const part = await offered(visit, { plan, summary, title }, parts, tools);
    if ("left" in part) left.push(note(rich(part.left, { title: quoted(title), when: part.when, cap })));
    else parts.push({ ...part, answered: plans.filter((other) => isAnswered(visit, other, plan)) });
  }
  await prepareTickets(parts.map(({ plan }) => plan));
  if (!tools.isCurrent()) return;
  const titles = parts.map(({ study }) => study);
  document.title = `${[...new Set(titles)].join(" · ") || t("surveys")} · Deniable`;
  const head = h(
    "div",
    { class: "head" },
    !parts.length && h("h1", { tabindex: -1 }, t("plans_nothing")),
    left,
    parts.length > 0 &&
      byOperator(
        h("h1", { tabindex: -1 }, joined(titles)),
        ...introducing(parts).map(({ plan }) => {
          const [first, ...more] = paragraphs(plan, plan.texts?.introduction);
          return [first, tools.about(plan, more)];
        }),
      ),
  );
  if (!parts.length) return put(head);
  const replies = new Map<Part, readonly Reply[]>();
  const open = parts.filter(({ made }) => made === null);
  const box = promises(parts);
  const turn = turning(head, box);
  let isFirstPage = true; // of the first part
  const forms = open.map(askPart);
  const missing = listUninvited(visit, parts);
  const isInvited = parts.some(({ summary }) => summary.invited);
  const hasTickets = parts.some(({ plan }) => plan.ticketKey !== null);
  const hasKnown = parts.some(({ plan }) => plan.known !== null);
  const notices = isInvited ? [hasTickets ? explanation(hasKnown) : tools.sentAlong()] : [];
  if (open.length && missing.length) {
    put(head, box, ...notices, askInvitation(visit, missing));
  } else if (open.length) show(0);
  else sendMade(visit, head, parts, replies, missing);

  /** The questions of one part, and then those of the next. */
  function askPart(part: Part, i: number): QuestionForm {
    const next = async (): Promise<void> => {
      if (i + 1 < open.length) return show(i + 1);
      // all of them: in another language, a number of an earlier part may have to be asked back
      for (const [j, each] of open.entries()) {
        const answers = forms[j]?.read() ?? null;
        if (answers !== null) {
          replies.set(each, answers);
          continue;
        }
        show(j);
        forms[j]?.read(); // and to what is wrong
        return;
      }
      reviewAll(visit, head, parts, replies, goBack);
    };
    const form = questions(part.plan, part.questionNames, next, (isFirst) => {
      if (i === 0) isFirstPage = isFirst;
      turn(i === 0 && isFirst);
    });
    const button = form.element.querySelector<HTMLButtonElement>(".act .main");
    if (button && i + 1 < open.length) button.dataset.end = button.textContent = t("next");
    if (i > 0) form.leadBack(() => show(i - 1));
    return form;
  }

  /** Lead back to a question, or to the last part. */
  function goBack(part?: Part, name = ""): void {
    const i = part ? open.indexOf(part) : open.length - 1;
    show(i);
    if (part) forms[i]?.show(name);
  }

  function show(i: number): void {
    const part = open[i] as Part;
    const title = h("h2", { tabindex: -1 }, quoted(part.title));
    const where =
      open.length > 1 && h("p", { class: "soft" }, t("plans_part", { n: i + 1, all: open.length }));
    const drawn =
      part.plan.ask === "all" ? null : drawnFirst(part.questionNames.length, part.plan.asked.length);
    visit.answering = {
      forms: forms.map(({ element }) => element),
      part: i,
      show: (part) => void (part < open.length && show(part)),
    };
    put(
      head,
      ...(i ? [] : [box, ...notices]),
      h("div", { class: "part" }, where, title, drawn),
      askedBy(),
      (forms[i] as QuestionForm).element,
    );
    turn(i === 0 && isFirstPage);
    if (i) title.focus();
  }
}

const note = (text: Child): HTMLElement => h("p", { class: "notice" }, text);

/** Whether a plan is of one study with another, and this device has answered it. */
const isAnswered = ({ ledger }: Visit, other: Plan, plan: Plan): boolean =>
  isOneStudy(other, plan) && ledger.entries.some((entry) => entry.plan === other.id);

const studyOf = (plan: Plan): string =>
  inLanguage(plan, plan.texts?.title)?.words ?? titleOf(plan.title, plan.id);

/** What a plan is called: the title of its study, or how often its questions are asked, if both kinds are here. */
function nameOf(plan: Plan, plans: readonly Plan[]): string {
  if (!plans.some((other) => isOneStudy(plan, other))) return studyOf(plan);
  return plan.reports === null ? t("part_once") : t("part_again", { n: plan.reports });
}

/** Why a plan is not asked now, and when it is. */
interface LeftOut {
  readonly left: "plans_again" | "plans_again_from" | "plans_closed" | "plans_done" | "plans_limit";
  readonly when?: string;
}

/** A plan that was answered is asked again in its next round, if it has one. */
function askedAgain(plan: Plan, round: number, rounds: readonly Round[]): LeftOut {
  if ((plan.rounds ?? 1) <= round) return { left: "plans_done" };
  const next = rounds.find(({ number, opens }) => number > round && opens !== null)?.opens;
  return next ? { left: "plans_again_from", when: moment(next) } : { left: "plans_again" };
}

/** A plan as a part of the survey, or why it is none. */
async function offered(
  visit: Visit,
  { plan, summary, title }: { readonly plan: Plan; readonly summary: Summary; readonly title: string },
  before: readonly Part[],
  tools: Tools,
): Promise<Omit<Part, "answered"> | LeftOut> {
  const { rounds } = await askJson<Rounds>(`plans/${plan.id}/rounds`);
  const round = await tools.pick(plan, rounds);
  if (round === null) return { left: "plans_closed" };
  const { ledger } = visit;
  const stored = ledger.find(plan, round);
  if (stored && isReceived({ plan: plan.id, round })) return askedAgain(plan, round, rounds);
  const offer = { plan, summary, round, title, study: studyOf(plan) };
  if (stored) return { ...offer, questionNames: [], made: decode(plan, stored) };
  try {
    refuseAboveCap(ledger, [...before.map((part) => part.plan), plan]);
  } catch (problem) {
    if (problem instanceof AboveCap) return { left: "plans_limit" };
    throw problem;
  }
  const isAll = plan.ask === "all";
  const questionNames = isAll ? plan.asked.map(({ name }) => name) : await drawQuestions(visit, plan);
  return { ...offer, questionNames, made: null };
}

/** The ids of plans that still need an invitation. */
function listUninvited({ ledger }: Visit, parts: readonly Part[]): string[] {
  return parts
    .filter(({ plan, summary }) => summary.invited && keptFor(plan.id) === null && !isKept(ledger, plan))
    .map(({ plan }) => plan.id);
}
