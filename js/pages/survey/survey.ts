/**
 * Begins the survey: verifies the plan, shows what it promises, and asks.
 *
 * What follows the questions is loaded once they are shown: see `report.ts`.
 */

import { browserStore, Ledger, refuseAboveCap } from "../../src/client/ledger.js";
import { AboveCap, InvalidPlan } from "../../src/errors.js";
import { Plan } from "../../src/plan/plan.js";
import {
  ask,
  askJson,
  fragment,
  HERE,
  invitationIn,
  isInvitedTo,
  keepInvitation,
  Refused,
  type Round,
  type Summary,
} from "../kit/collector.js";
import { type Child, find, h, quoted, seen, skipping } from "../kit/dom.js";
import { plural, rich, spoken, t } from "../kit/messages.js";
import { titleOf } from "../kit/phrases.js";
import { askedBy, byOperator, drawnFirst, promise, unfold } from "./guarantee.js";
import { loadMore, own, owned, paragraphs, settle, titleIn } from "./language.js";
import { loadPlaces } from "./location_question.js";
import type { Answering } from "./plans.js";
import { followPlans, forgetPlans, keptFor } from "./plans_link.js";
import { hasRareQuestions, hasText, pagesOf } from "./question_items.js";
import { type QuestionKinds, questions } from "./questions.js";
import { isReceived, received } from "./receipts.js";
import { complain, hold, put, refuse, shared } from "./shared.js";

let isDamaged = false; // the invitation in the link that was followed
let arrived = ""; // what the link that was followed says after its #
let turn = 0;
let kinds: QuestionKinds | null = null; // where the study has them
let form: HTMLFormElement | null = null; // what is being answered
let parts: Answering | null = null; // the same, where there are several plans

async function start(isForgotten = false): Promise<void> {
  const mine = ++turn;
  shared.shown.abort();
  shared.shown = new AbortController();
  if (isForgotten) {
    shared.remembering.abort();
    shared.remembering = new AbortController();
  }
  hold();
  if (isForgotten) forgetPlans();
  if (arrived === "" || /invitation=/.test(location.hash)) arrived = location.hash;
  const several = followPlans();
  parts = null;
  const isFollowed = /[#&]invitation=[^&]/.test(location.hash);
  const { values, secret } = fragment("invitation");
  if (isFollowed) keepInvitation(secret, values.get("plan"));
  shared.invitation = invitationIn(secret ?? "");
  if (secret !== null) {
    isDamaged = shared.invitation === null;
    if (isDamaged) keepInvitation(null);
  }
  try {
    await settle(null, again);
    if (mine !== turn) return;
    connection();
    shared.ledger = remembered();
    if (!isSecureContext) throw new Refused("insecure", t("insecure"));
    const { plans, url } = await askJson<{ plans: Summary[]; url?: string | null }>("plans");
    if (url && new URL(`${url}/`).href !== HERE) return elsewhere(`${url}/`);
    if (several) {
      const { showPlans } = await loadMore(import("./plans.js"), "fields");
      const answering = (all: Answering): void => void (parts = all);
      const isCurrent = (): boolean => mine === turn;
      const tools = { verified, pick, about, sentAlong, answering, isCurrent, again };
      return await showPlans(several, plans, tools);
    }
    const wanted = values.get("plan") ?? (plans.length === 1 ? plans[0]?.id : undefined);
    if (wanted === undefined) {
      const asked = plans.some(({ invited }) => invited) ? (await following()).askInvitation([]) : null;
      return mine === turn ? choose(plans, asked) : undefined;
    }
    const summary = plans.find(({ id }) => id === wanted || (wanted.length >= 8 && id.startsWith(wanted)));
    if (!summary) throw new Refused("plan", t("no_such_study"));
    const plan = await verified(summary.id);
    if (plan.texts !== null) await settle(plan, again); // it may be in a language that the page does not speak
    const { rounds } = await askJson<{ rounds: Round[] }>(`plans/${plan.id}/rounds`);
    kinds = hasRareQuestions(plan) ? await loadMore(import("./question_kinds.js"), "fields") : null;
    shared.texts = hasText(plan) ? await import("./question_text.js") : null;
    await shared.texts?.speakTexts();
    shared.known = plan.known && (await loadMore(import("./known_group.js")));
    shared.tickets = plan.ticketKey === null ? null : await loadMore(import("./tickets.js"));
    // one for another study stays with that; one that came with several plans serves here as well
    if (!isInvitedTo(plan.id) || shared.invitation === null) shared.invitation = keptFor(plan.id);
    if (mine === turn) await offer(plan, summary, rounds, plans.length > 1);
  } catch (problem) {
    if (mine === turn) refuse(problem as Error);
  } finally {
    if (mine === turn) void finish();
  }
}

/** What follows the questions. */
const following = (): Promise<typeof import("./report.js")> => loadMore(import("./report.js"));

/** Load and show the rest once the questions can be seen; then they are answered without a connection too. */
async function finish(): Promise<void> {
  await seen();
  void loadPlaces();
  await following().then(
    ({ showDevice }) => shared.ledger && showDevice(shared.ledger, changed),
    () => undefined, // it is asked for again where it is needed
  );
}

/** Everything was forgotten, or a limit was set: that changes no answers. */
async function changed(isForgotten: boolean): Promise<void> {
  if (!isForgotten) return await again();
  kept = null;
  await start(true);
}

type Field = HTMLInputElement | HTMLSelectElement;

/** Answers to questions that the person's limit refuses now; a higher limit brings them back. */
let kept: ReadonlyMap<string, readonly [string, boolean]> | null = null;

/** Another language or limit was chosen: show the same with it, and with what was answered so far. */
async function again(): Promise<void> {
  const keyOf = (one: Field, i: number): string => `${i} ${one.id || `${one.name} ${one.value}`}`;
  const fields = (): (readonly [string, Field])[] =>
    (parts?.forms ?? (form ? [form] : [])).flatMap((each, i) =>
      Array.from(each.elements)
        .filter((one) => one instanceof HTMLInputElement || one instanceof HTMLSelectElement)
        .map((one) => [keyOf(one, i), one] as const),
    );
  const isChecked = (one: Field): boolean => "checked" in one && one.checked;
  const now = new Map(fields().map(([key, one]) => [key, [one.value, isChecked(one)] as const]));
  const before = now.size > 0 ? now : (kept ?? now);
  const part = parts?.part ?? 0;
  form = parts = null;
  await start();
  kept = fields().length > 0 ? null : before;
  for (const [key, one] of fields()) {
    const [value, checked] = before.get(key) ?? [one.value, false];
    if (one.type === "radio" || one.type === "checkbox") (one as HTMLInputElement).checked = checked;
    else one.value = value;
    one.dispatchEvent(new Event("change"));
  }
  (parts as Answering | null)?.show(part); // it was set again
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

/** All studies, and a field for the code of a letter, which leads to its own. */
function choose(plans: readonly Summary[], asked: HTMLElement | null): void {
  document.title = `${t("surveys")} · Deniable`;
  if (plans.length === 0) return put(h("h1", {}, t("no_study")));
  const item = ({ id, title, titles, round }: Summary): HTMLElement =>
    h(
      "li",
      {},
      h("a", { href: `#plan=${id}` }, quoted(titleIn(titles) ?? titleOf(title, id))),
      h("span", { class: "soft" }, t(round === null ? "closed" : "open")),
    );
  put(
    h("h1", {}, t("choose_study")),
    ...(asked ? [asked] : []),
    h("ul", { class: "choices" }, plans.map(item)),
  );
}

/**
 * The newest open round that the device has not answered, or whose report waits here; if there is none, the
 * newest one.
 */
function pick(plan: Plan, rounds: readonly Round[]): number | null {
  const open = rounds.filter((one) => one.open).map(({ number }) => number);
  open.sort((one, other) => other - one);
  const known = received();
  const isDone = (round: number): boolean =>
    shared.ledger.find(plan, round) !== null && isReceived({ plan: plan.id, round }, known);
  return open.find((number) => !isDone(number)) ?? open[0] ?? null;
}

async function offer(plan: Plan, summary: Summary, rounds: readonly Round[], others: boolean): Promise<void> {
  const { texts } = plan;
  const title = own(plan, texts?.title)?.words ?? titleOf(plan.title, plan.id);
  document.title = `${title} · Deniable`;
  const round = pick(plan, rounds);
  const times =
    plan.rounds === null
      ? t("asked_once")
      : round === null
        ? plural("rounds", plan.rounds)
        : t("round_of", { round, rounds: plan.rounds });
  const [first, ...more] = paragraphs(plan, texts?.introduction);
  const head = h(
    "div",
    { class: "head" },
    others && h("p", {}, h("a", { href: "#" }, t("all_studies"))),
    byOperator(h("h1", { tabindex: -1 }, quoted(title)), first, about(plan, more)),
    h(
      "p",
      { class: "soft" },
      `${plural("questions", pagesOf(plan).flat().length)} · ${times}${summary.invited ? ` · ${t("by_invitation")}` : ""}`,
    ),
  );
  const mine = turn;
  if (round === null) {
    const { closed } = await following();
    if (mine === turn) put(head, closed(plan, rounds));
    return;
  }
  const one = { plan, summary, round };
  const { ledger, tickets } = shared;
  const before = ledger.find(plan, round);
  if (before) {
    const { answered } = await following();
    if (mine === turn) answered(head, one, before);
    return;
  }
  try {
    refuseAboveCap(ledger, [plan]);
  } catch (problem) {
    if (!(problem instanceof AboveCap)) throw problem;
    const { limited } = await following();
    if (mine === turn) put(head, limited(plan), promise(plan));
    return;
  }
  const told = summary.invited ? [tickets ? tickets.explanation() : sentAlong()] : [];
  if (summary.invited && shared.invitation === null && !tickets?.isKept(ledger, plan)) {
    const { askInvitation } = await following();
    if (mine === turn) put(head, promise(plan), ...told, askInvitation([plan.id], isDamaged));
    return;
  }
  const isAll = plan.ask === "all";
  const asked = isAll ? plan.asked.map(({ name }) => name) : await (await following()).drawQuestions(plan);
  if (mine !== turn) return;
  put(
    head,
    promise(plan),
    ...(isAll ? [] : [drawnFirst(asked.length, plan.asked.length)]),
    ...told,
    askedBy(),
    (form = questions(plan, asked, kinds, async (given) => {
      const part = await following().catch(() => null);
      part?.review(head, one, given);
      complain(form, part === null ? t("unreachable") : "");
    })),
  );
}

/** Who asks, how to reach them, and what else they say. */
function about(plan: Plan, more: readonly HTMLElement[]): HTMLElement | null {
  const { responsible, contact, privacy_notice: notice } = plan.texts ?? {};
  const line = (key: "responsible" | "contact", child: Child): HTMLElement[] =>
    child ? [h("dt", {}, t(key)), h("dd", {}, child)] : [];
  const to = own(plan, contact)?.words ?? "";
  const address = /^[^\s@:/]+@[^\s@/]+$/.test(to) ? `mailto:${to}` : to;
  const reached = /^(https|mailto):/.test(address)
    ? link(address, to.replace(/^mailto:/, ""))
    : owned(plan, contact);
  const noticed = own(plan, notice)?.words;
  if (!responsible && !contact && !notice && !more.length) return null;
  return h(
    "details",
    { class: "about" },
    h("summary", {}, t("about")),
    more,
    h("dl", {}, line("responsible", owned(plan, responsible)), line("contact", reached)),
    noticed && h("p", {}, link(noticed, t("privacy_notice"))),
  );
}

/** A link to somewhere else, which learns nothing of this page. */
function link(address: string, words: string): HTMLElement {
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, h("bdi", {}, words));
}

/** What a plain invitation tells, for people to read before they answer. */
function sentAlong(): HTMLElement {
  const told = h("details", { class: "kept-apart" }, h("summary", {}, t("invitation_tells")));
  unfold(told, async () => [(await following()).tellInvitation()]);
  return told;
}

/**
 * The survey is answered at one address only: at another, this browser would not know what it has sent. A link, and
 * no redirect, since a proxy that changes names would lead back here without end.
 */
function elsewhere(address: string): void {
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

addEventListener("hashchange", () => {
  if (location.hash !== "" && !/^#(plan|invitation)=/.test(location.hash)) return;
  kept = null;
  void start();
});
addEventListener("storage", ({ key, newValue }) => {
  if (find("device").hidden) return;
  if (newValue !== null || (key !== null && key !== "deniable")) return void finish();
  keepInvitation(null); // everything was forgotten in another tab
  void start(true);
});
addEventListener("online", connection);
addEventListener("offline", connection);
skipping();
shared.start = start;
void start();
