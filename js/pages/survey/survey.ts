/** Begins the survey: verifies the plan, shows what it promises, and asks. */

import { drawTurns } from "../../src/client/client.js";
import { browserStore, Ledger, refuseAboveCap } from "../../src/client/ledger.js";
import { AboveCap, InvalidPlan } from "../../src/errors.js";
import { Plan } from "../../src/plan/plan.js";
import type { Plans, Round, Rounds, Summary } from "../kit/api.js";
import { lastOf } from "../kit/chains.js";
import {
  ask,
  askJson,
  fragment,
  HERE,
  invitationIn,
  isInvitedTo,
  keepInvitation,
  Refused,
} from "../kit/collector.js";
import { type Child, find, h, quoted, seen, skipping } from "../kit/dom.js";
import { plural, rich, spoken, t } from "../kit/messages.js";
import { titleOf } from "../kit/phrases.js";
import { showDevice } from "./device.js";
import { askedBy, byOperator, drawnFirst, promise } from "./guarantee.js";
import { askInvitation } from "./invitation.js";
import { inLanguage, operatorText, paragraphs, settle, titleIn } from "./language.js";
import { showPlans, type Tools } from "./plans.js";
import { followPlans, forgetPlans, isOneStudy, keptFor, type Linked } from "./plans_link.js";
import { preparePreview } from "./preview.js";
import type { Reply } from "./question.js";
import { pagesOf } from "./question_items.js";
import { questions } from "./questions.js";
import { isReceived, received } from "./receipts.js";
import { answered, closed, drawQuestions, limited, review } from "./report.js";
import { hold, put, refuse } from "./stage.js";
import { explanation, isKept, prepareTickets } from "./tickets.js";
import { turning } from "./top.js";
import { Visit } from "./visit.js";

async function start(visit: Visit, isForgotten: boolean): Promise<void> {
  const mine = ++visit.turn;
  const isCurrent = (): boolean => mine === visit.turn;
  visit.shown.abort();
  visit.shown = new AbortController();
  if (isForgotten) {
    visit.remembering.abort();
    visit.remembering = new AbortController();
  }
  hold();
  if (isForgotten) forgetPlans();
  if (visit.arrived === "" || /invitation=/.test(location.hash)) visit.arrived = location.hash;
  const several = followPlans();
  visit.answering = null;
  const isFollowed = /[#&]invitation=[^&]/.test(location.hash);
  const { values, secret } = fragment("invitation");
  if (isFollowed) keepInvitation(secret, values.get("plan"));
  visit.invitation = invitationIn(secret ?? "");
  if (secret !== null) {
    visit.isDamaged = visit.invitation === null;
    if (visit.isDamaged) keepInvitation(null);
  }
  const speakAgain = (): Promise<void> => again(visit);
  try {
    await settle(null, speakAgain);
    if (!isCurrent()) return;
    connection();
    visit.ledger = remembered();
    if (!isSecureContext) throw new Refused("insecure", t("insecure"));
    const { plans, url } = await askJson<Plans>("plans");
    if (url && new URL(`${url}/`).href !== HERE) return elsewhere(visit, `${url}/`);
    const isInvited = plans.some(({ invited }) => invited);
    const newest = lastOf(plans); // an older plan is only for links and devices that have it
    const linked = several ?? (location.hash === "" && !isInvited ? oneStudy(newest) : null);
    if (linked) {
      const choose: Tools["pick"] = async (plan, rounds) =>
        pick(visit, plan, rounds, await drawTurns(plan, visit.ledger.secret));
      const tools = { verified, pick: choose, about, sentAlong, isCurrent, again: speakAgain };
      return await showPlans(visit, linked, plans, tools);
    }
    const wanted = values.get("plan") ?? (newest.length === 1 ? newest[0]?.id : undefined);
    if (wanted === undefined) return choose(newest, isInvited ? askInvitation(visit, []) : null);
    const summary = plans.find(({ id }) => id === wanted || (wanted.length >= 8 && id.startsWith(wanted)));
    if (!summary) throw new Refused("plan", t("no_such_study"));
    const plan = await verified(summary.id);
    if (plan.texts !== null) await settle(plan, speakAgain); // it may be in a language that the page does not speak
    const { rounds } = await askJson<Rounds>(`plans/${plan.id}/rounds`);
    const turns = await drawTurns(plan, visit.ledger.secret);
    await prepareTickets([plan]);
    // one for another study stays with that; one that came with several plans serves here as well
    if (!isInvitedTo(plan.id) || visit.invitation === null) visit.invitation = keptFor(plan.id);
    if (isCurrent()) await offer(visit, plan, summary, { rounds, turns }, newest.length > 1);
  } catch (problem) {
    if (isCurrent()) refuse(visit, problem as Error);
  } finally {
    if (isCurrent()) void finish(visit);
  }
}

/** Show what this device remembers once the questions can be seen. */
async function finish(visit: Visit): Promise<void> {
  await seen();
  if (visit.hasLedger) showDevice(visit.ledger, (isForgotten) => changed(visit, isForgotten));
}

/** Everything was forgotten, or a limit was set: that changes no answers. */
async function changed(visit: Visit, isForgotten: boolean): Promise<void> {
  if (!isForgotten) return await again(visit);
  visit.refusedAnswers = null;
  await visit.start(true);
}

type Field = HTMLInputElement | HTMLSelectElement;

/** Another language or limit was chosen: show the same with it, and with what was answered so far. */
async function again(visit: Visit): Promise<void> {
  const keyOf = (field: Field, i: number): string => `${i} ${field.id || `${field.name} ${field.value}`}`;
  const fields = (): (readonly [string, Field])[] =>
    (visit.answering?.forms ?? []).flatMap((form, i) =>
      Array.from(form.elements)
        .filter((field) => field instanceof HTMLInputElement || field instanceof HTMLSelectElement)
        .map((field) => [keyOf(field, i), field] as const),
    );
  const isChecked = (field: Field): boolean => "checked" in field && field.checked;
  const now = new Map(fields().map(([key, field]) => [key, [field.value, isChecked(field)] as const]));
  const before = now.size > 0 ? now : (visit.refusedAnswers ?? now);
  const part = visit.answering?.part ?? 0;
  visit.answering = null;
  await visit.start();
  visit.refusedAnswers = fields().length > 0 ? null : before;
  for (const [key, field] of fields()) {
    const [value, checked] = before.get(key) ?? [field.value, false];
    if (field.type === "radio" || field.type === "checkbox") (field as HTMLInputElement).checked = checked;
    else field.value = value;
    field.dispatchEvent(new Event("change"));
  }
  showPart(visit, part);
}

/** Show a part of what is answered now. */
function showPart({ answering }: Visit, part: number): void {
  answering?.show(part);
}

function remembered(): Ledger {
  try {
    return new Ledger(browserStore());
  } catch {
    throw new Refused("storage", t("no_storage"));
  }
}

/** The plan with this id, recomputed and found to say what is true. */
async function verified(id: string): Promise<Plan> {
  const plan = await Plan.fromJson(await (await ask(`plans/${id}`)).text());
  if (plan.id !== id) throw new InvalidPlan("id", "the collector sent a different plan");
  return plan;
}

/** The plans of a collector that has a single study, of which some questions are asked once and others again. */
function oneStudy([first, second, ...others]: readonly Summary[]): Linked[] | null {
  if (!first || !second || others.length || !isOneStudy(first, second)) return null;
  return [first, second].map(({ id }) => ({ plan: id, invitation: null }));
}

/** All studies, and a field for the code of a letter, which leads to its own. */
function choose(plans: readonly Summary[], field: HTMLElement | null): void {
  document.title = `${t("surveys")} · Deniable`;
  if (plans.length === 0) return put(h("h1", {}, t("no_study")));
  const item = (summary: Summary): HTMLElement => {
    const { id, title, titles } = summary;
    const parts = [summary, ...plans.filter((other) => isOneStudy(summary, other))];
    return h(
      "li",
      {},
      h(
        "a",
        { href: `#${parts.map(({ id }) => `plan=${id}`).join("&")}` },
        quoted(titleIn(titles) ?? titleOf(title, id)),
      ),
      h("span", { class: "soft" }, t(parts.every(({ round }) => round === null) ? "closed" : "open")),
    );
  };
  const isFirst = (summary: Summary, i: number): boolean =>
    !plans.slice(0, i).some((other) => isOneStudy(summary, other));
  put(
    h("h1", {}, t("choose_study")),
    ...(field ? [field] : []),
    h("ul", { class: "choices" }, plans.filter(isFirst).map(item)),
  );
}

/**
 * The newest open round that the device has not answered, or whose report waits here; if there is none, the
 * newest one.
 */
function pick(
  { ledger }: Visit,
  plan: Plan,
  rounds: readonly Round[],
  turns: readonly number[],
): number | null {
  const open = rounds
    .filter((round) => round.open && turns.includes(round.number))
    .map(({ number }) => number);
  open.sort((a, b) => b - a);
  const acknowledged = received();
  const isDone = (round: number): boolean =>
    ledger.find(plan, round) !== null && isReceived({ plan: plan.id, round }, acknowledged);
  return open.find((number) => !isDone(number)) ?? open[0] ?? null;
}

async function offer(
  visit: Visit,
  plan: Plan,
  summary: Summary,
  { rounds, turns }: { readonly rounds: readonly Round[]; readonly turns: readonly number[] },
  others: boolean,
): Promise<void> {
  const { texts } = plan;
  const title = inLanguage(plan, texts?.title)?.words ?? titleOf(plan.title, plan.id);
  document.title = `${title} · Deniable`;
  const round = pick(visit, plan, rounds, turns);
  const [first, ...more] = paragraphs(plan, texts?.introduction);
  const head = h(
    "div",
    { class: "head" },
    others && h("p", {}, h("a", { href: "#" }, t("all_studies"))),
    byOperator(h("h1", { tabindex: -1 }, quoted(title)), first, about(plan, more)),
    h(
      "p",
      { class: "soft" },
      `${plural("questions", pagesOf(plan).flat().length)} · ${howOften(plan, round)}${summary.invited ? ` · ${t("by_invitation")}` : ""}`,
    ),
  );
  if (round === null) return put(head, closed(visit, plan, rounds, turns));
  const study = { plan, summary, round };
  const { ledger } = visit;
  const before = ledger.find(plan, round);
  if (before) return answered(visit, head, study, before);
  try {
    refuseAboveCap(ledger, [plan]);
  } catch (problem) {
    if (!(problem instanceof AboveCap)) throw problem;
    return put(head, limited(visit, plan), promise(plan));
  }
  const hasTickets = plan.ticketKey !== null;
  const notices = summary.invited ? [hasTickets ? explanation(plan.known !== null) : sentAlong()] : [];
  if (summary.invited && visit.invitation === null && !isKept(ledger, plan)) {
    const invitation = askInvitation(visit, [plan.id], visit.isDamaged);
    return put(head, promise(plan), ...notices, invitation);
  }
  const mine = visit.turn;
  const isAll = plan.ask === "all";
  const names = isAll ? plan.asked.map(({ name }) => name) : await drawQuestions(visit, plan);
  if (mine !== visit.turn) return;
  const box = promise(plan);
  const toReview = async (replies: readonly Reply[]): Promise<void> =>
    review(visit, head, study, replies, (name) => form.show(name));
  const form = questions(plan, names, toReview, turning(head, box));
  visit.answering = { forms: [form.element], part: 0, show: () => undefined };
  put(
    head,
    box,
    ...(isAll ? [] : [drawnFirst(names.length, plan.asked.length)]),
    ...notices,
    askedBy(),
    form.element,
  );
}

/** How often people are asked, and which round it is. */
function howOften(plan: Plan, round: number | null): string {
  if (plan.rounds === null) return t("asked_once");
  return round === null ? plural("rounds", plan.rounds) : t("round_of", { round, rounds: plan.rounds });
}

/** Who asks, how to reach them, and what else they say. */
function about(plan: Plan, more: readonly HTMLElement[]): HTMLElement | null {
  const { responsible, contact, privacy_notice: notice } = plan.texts ?? {};
  const line = (key: "responsible" | "contact", child: Child): HTMLElement[] =>
    child ? [h("dt", {}, t(key)), h("dd", {}, child)] : [];
  const to = inLanguage(plan, contact)?.words ?? "";
  const address = /^[^\s@:/]+@[^\s@/]+$/.test(to) ? `mailto:${to}` : to;
  const reached = /^(https|mailto):/.test(address)
    ? link(address, to.replace(/^mailto:/, ""))
    : operatorText(plan, contact);
  const noticed = inLanguage(plan, notice)?.words;
  if (!responsible && !contact && !notice && !more.length) return null;
  return h(
    "details",
    { class: "about" },
    h("summary", {}, t("about")),
    more,
    h("dl", {}, line("responsible", operatorText(plan, responsible)), line("contact", reached)),
    noticed && h("p", {}, link(noticed, t("privacy_notice"))),
  );
}

/** A link to somewhere else, which learns nothing of this page. */
function link(address: string, words: string): HTMLElement {
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, h("bdi", {}, words));
}

/** What a plain invitation tells, for people to read before they answer. */
function sentAlong(): HTMLElement {
  return h(
    "details",
    { class: "kept-apart" },
    h("summary", {}, t("invitation_tells")),
    h("p", {}, t("invitation_told")),
  );
}

/**
 * The survey is answered at one address only: at another, this browser would not know what it has sent. A link, and
 * no redirect, since a proxy that changes names would lead back here without end.
 */
function elsewhere({ arrived }: Visit, address: string): void {
  document.title = `${t("elsewhere")} · Deniable`;
  const to = h("a", { href: address + arrived }, h("bdi", {}, address));
  put(
    h("h1", {}, t("elsewhere")),
    h(
      "section",
      { class: "notice", role: "alert" },
      h("p", {}, t("elsewhere_why")),
      h("p", {}, rich("elsewhere_go", { address: to })),
    ),
  );
}

function connection(): void {
  find("connection").textContent = navigator.onLine || !spoken().catalog ? "" : t("offline");
}

preparePreview();
const visit = new Visit(start);
addEventListener("hashchange", () => {
  if (location.hash !== "" && !/^#(plan|invitation)=/.test(location.hash)) return;
  visit.refusedAnswers = null;
  void visit.start();
});
addEventListener("storage", ({ key, newValue }) => {
  if (find("device").hidden) return;
  if (newValue !== null || (key !== null && key !== "deniable")) return void finish(visit);
  keepInvitation(null); // everything was forgotten in another tab
  void visit.start(true);
});
addEventListener("online", connection);
addEventListener("offline", connection);
skipping();
void visit.start();
