/**
 * Runs the survey: verifies the plan, asks, shows the report next to the answers, sends it.
 *
 * A report is drawn once and stored before it is shown. People who could draw again until they like the
 * report would reveal something by the one they keep.
 */

import {
  AboveCap,
  browserStore,
  Client,
  DeniableError,
  decode,
  InvalidPlan,
  Ledger,
  NotSent,
  Plan,
  type Report,
} from "../src/index.js";
import { DEFAULT_CAP, statedForever } from "../src/ledger.js";
import { answersOf, cards } from "./cards.js";
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
} from "./collector.js";
import { isReceived, markReceived, persist, received, showDevice } from "./device.js";
import { type Child, find, h, quoted, skipping } from "./dom.js";
import { check, drawnFirst, promise } from "./guarantee.js";
import { own, owned, paragraphs, settle } from "./language.js";
import { plural, rich, spoken, t } from "./messages.js";
import { loss, moment, sentence, titleOf } from "./phrases.js";
import { type Given, type LocationFields, questions } from "./questions.js";

const ATTEMPTS = 6;
const main = find("study");
let invitation: string | null = null;
let isDamaged = false; // the invitation in the link that was followed
let ledger: Ledger;
let tickets: typeof import("./tickets.js") | null = null; // where the study has them
let turn = 0;
let form: HTMLFormElement | null = null; // what is being answered
let shown = new AbortController(); // ends the wait for a ticket when something else is shown
let remembering = new AbortController(); // ends what is being sent when everything was forgotten

/** A study that may be answered now. */
interface Offer {
  readonly plan: Plan;
  readonly summary: Summary;
  readonly round: number;
}

async function start(isForgotten = false): Promise<void> {
  const mine = ++turn;
  shown.abort();
  shown = new AbortController();
  if (isForgotten) {
    remembering.abort();
    remembering = new AbortController();
  }
  main.inert = true; // what is shown still is about to be replaced: an answer to it would be lost
  const isFollowed = /[#&]invitation=[^&]/.test(location.hash);
  const { values, secret } = fragment("invitation");
  if (isFollowed) keepInvitation(secret, values.get("plan"));
  if (secret !== null) {
    invitation = invitationIn(secret);
    isDamaged = invitation === null;
    if (isDamaged) keepInvitation(null);
  }
  try {
    await settle(null, again);
    if (mine !== turn) return;
    connection();
    ledger = remembered();
    showDevice(ledger, start);
    if (!isSecureContext) throw new Refused("insecure", t("insecure"));
    const { plans } = await askJson<{ plans: Summary[] }>("plans");
    const wanted = values.get("plan") ?? (plans.length === 1 ? plans[0]?.id : undefined);
    if (wanted === undefined) return mine === turn ? choose(plans) : undefined;
    const summary = plans.find(({ id }) => id === wanted || (wanted.length >= 8 && id.startsWith(wanted)));
    if (!summary) throw new Refused("plan", t("no_such_study"));
    const plan = await verified(summary.id);
    if (plan.texts !== null) {
      await settle(plan, again); // it may be in a language that the page does not speak
      if (mine === turn) showDevice(ledger, start);
    }
    const { rounds } = await askJson<{ rounds: Round[] }>(`plans/${plan.id}/rounds`);
    const locations = plan.attributes.some(({ domain }) => domain.kind === "grid")
      ? await import("./location.js")
      : null;
    tickets = plan.ticketKey === null ? null : await import("./tickets.js");
    for (const part of [locations, tickets]) part?.speak(spoken().catalog, spoken().tag);
    if (!isInvitedTo(plan.id)) invitation = null; // it is for another study, and stays with that
    if (mine === turn) await offer(plan, summary, rounds, plans.length > 1, locations);
  } catch (problem) {
    if (mine === turn) refuse(problem as Error);
  }
}

/** Another language was chosen: show the same in it, with what was answered so far. */
async function again(): Promise<void> {
  const fields = (): (HTMLInputElement | HTMLSelectElement)[] =>
    Array.from(form?.elements ?? []).filter(
      (one): one is HTMLInputElement | HTMLSelectElement =>
        one instanceof HTMLInputElement || one instanceof HTMLSelectElement,
    );
  const keyOf = (one: HTMLInputElement | HTMLSelectElement): string => one.id || `${one.name} ${one.value}`;
  const isChecked = (one: HTMLInputElement | HTMLSelectElement): boolean => "checked" in one && one.checked;
  const before = new Map(fields().map((one) => [keyOf(one), [one.value, isChecked(one)] as const]));
  form = null;
  await start();
  for (const one of fields()) {
    const [value, checked] = before.get(keyOf(one)) ?? [one.value, false];
    if (one.type === "radio" || one.type === "checkbox") (one as HTMLInputElement).checked = checked;
    else one.value = value;
    one.dispatchEvent(new Event("change"));
  }
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

function choose(plans: readonly Summary[]): void {
  document.title = `${t("surveys")} · Deniable`;
  if (plans.length === 0) return put(h("h1", {}, t("no_study")));
  const item = ({ id, title, round }: Summary): HTMLElement =>
    h(
      "li",
      {},
      h("a", { href: `#plan=${id}` }, quoted(titleOf(title, id))),
      h("span", { class: "soft" }, t(round === null ? "closed" : "open")),
    );
  put(h("h1", {}, t("choose_study")), h("ul", { class: "choices" }, plans.map(item)));
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
    ledger.find(plan, round) !== null && isReceived({ plan: plan.id, round }, known);
  return open.find((number) => !isDone(number)) ?? open[0] ?? null;
}

async function offer(
  plan: Plan,
  summary: Summary,
  rounds: readonly Round[],
  others: boolean,
  locations: LocationFields | null,
): Promise<void> {
  const mine = turn;
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
    h("h1", { tabindex: -1 }, quoted(title)),
    h(
      "p",
      { class: "soft" },
      `${plural("questions", plan.attributes.length)} · ${times}${summary.invited ? ` · ${t("by_invitation")}` : ""}`,
    ),
    first,
    about(plan, more),
  );
  if (round === null) return put(head, closed(plan, rounds));
  const one = { plan, summary, round };
  const before = ledger.find(plan, round);
  if (before) return answered(head, one, decode(plan, before));
  try {
    const client = new Client(plan, { ledger });
    const asked = await client.questions();
    if (mine !== turn) return;
    put(
      head,
      promise(plan),
      ...(plan.ask === "all" ? [] : [drawnFirst(asked.length, plan.attributes.length)]),
      ...(summary.invited ? [tickets ? tickets.explanation() : sentAlong()] : []),
      ...(summary.invited && invitation === null && !tickets?.isKept(ledger, plan)
        ? [asking(isDamaged).element]
        : []),
      (form = questions(plan, asked, locations, async (given) => review(head, one, client, given))),
    );
  } catch (problem) {
    if (!(problem instanceof AboveCap)) throw problem;
    const to = h("a", { href: "#cap", click: toLimit }, t("change_limit"));
    const total =
      ledger.cap === null
        ? t("limit_default", { loss: loss(statedForever(plan).unchanged), cap: DEFAULT_CAP })
        : t("limit_above", { loss: loss(ledger.lifetime(plan).counted), cap: ledger.cap });
    put(
      head,
      refusal(t("limit_refuses"), h("p", {}, total), h("p", {}, rich("limit_change", { change: to }))),
      promise(plan),
    );
  }
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
  return h(
    "details",
    { class: "kept-apart" },
    h("summary", {}, t("invitation_tells")),
    h("p", {}, t("invitation_told")),
  );
}

function toLimit(event: Event): void {
  event.preventDefault();
  find("cap").focus();
}

function closed(plan: Plan, rounds: readonly Round[]): HTMLElement {
  const next = rounds.find(({ opens }) => opens !== null && Date.parse(opens) > Date.now());
  const hasMore =
    next !== undefined || (plan.rounds ?? 1) > Math.max(0, ...rounds.map(({ number }) => number));
  const isOnce = plan.rounds === null;
  const opening = next && { when: moment(next.opens as string), round: next.number };
  const when = opening
    ? t(isOnce ? "opens_study" : "opens_round", opening)
    : t(isOnce ? "come_back_study" : "come_back_round");
  const made = ledger.entries.filter((entry) => entry.plan === plan.id);
  const sent = made.filter((entry) => isReceived(entry)).length;
  return refusal(
    t(hasMore ? "closed_now" : "ended"),
    h("p", {}, hasMore ? when : t("no_more")),
    sent > 0 && h("p", {}, plural("rounds_answered", sent)),
    made.length > sent && h("p", {}, plural("no_receipt", made.length - sent)),
  );
}

/** Show the answers before the report is made of them, and ask for consent; with a way back. */
function review(head: HTMLElement, one: Offer, client: Client, given: readonly Given[]): void {
  const before = [...main.children] as HTMLElement[];
  const title = h("h2", { tabindex: -1 }, t("review_title"));
  const tick = one.plan.texts?.consent ? consenting(one.plan) : null;
  const next = h("button", { type: "button", class: "main", click: () => void go() }, t("make"));
  const back = h("button", { type: "button", click: () => goBack() }, t("change"));
  const goBack = (): void => {
    put(...before);
    head.querySelector("h1")?.focus();
  };
  const go = async (): Promise<void> => {
    if (tick && !tick.isGiven()) return;
    next.disabled = back.disabled = true;
    await make(head, one, client, given);
  };
  put(
    head,
    title,
    h("p", {}, t("review_hint")),
    h("section", { class: "card stays review", "aria-label": t("review_title") }, answersOf(one.plan, given)),
    ...(tick ? [tick.element] : []),
    h("div", { class: "act row" }, next, back),
  );
  title.focus();
}

/** What the operator asks people to agree to. */
function consenting(plan: Plan): { readonly element: HTMLElement; isGiven(): boolean } {
  const complaint = h("p", { class: "complaint", id: "consent-complaint", role: "alert" });
  const field = h("input", {
    type: "checkbox",
    id: "consent",
    "aria-describedby": "consent-complaint",
    change: () => void (complaint.textContent = ""),
  });
  const isGiven = (): boolean => {
    complaint.textContent = field.checked ? "" : t("must_agree");
    field.setAttribute("aria-invalid", String(!field.checked));
    if (!field.checked) field.focus();
    return field.checked;
  };
  const element = h(
    "section",
    { class: "question consent", "aria-labelledby": "consent-title" },
    h("h3", { id: "consent-title" }, t("consent")),
    paragraphs(plan, plan.texts?.consent),
    h("label", { class: "choice" }, field, h("span", {}, t("agree"))),
    complaint,
  );
  return { element, isGiven };
}

/** Draw the report, once, and show it before it leaves. */
async function make(head: HTMLElement, one: Offer, client: Client, given: readonly Given[]): Promise<void> {
  let report: Report;
  try {
    report = await client.report(Object.fromEntries(given.map(({ name, answer }) => [name, answer])), {
      round: one.round,
    });
  } catch (problem) {
    return refuse(problem as Error);
  }
  showDevice(ledger, start);
  void persist(); // a browser may ask the person, who need not answer now
  const title = h("h2", { tabindex: -1 }, t("look"));
  put(head, title, cards(one.plan, report, given), sending(head, one, client, report, t("send")));
  title.focus();
}

function answered(head: HTMLElement, one: Offer, report: Report): void {
  const arrived = isReceived({ plan: one.plan.id, round: one.round });
  const client = new Client(one.plan, { ledger }); // whatever the limit is now: nothing is new
  put(
    head,
    h("h2", { tabindex: -1 }, t(arrived ? "answered" : "unsent")),
    h("p", {}, t(arrived ? "answered_hint" : "unsent_hint")),
    cards(one.plan, report, null, arrived),
    sending(head, one, client, report, t(arrived ? "send_again" : "send")),
  );
}

/**
 * Where an invitation is written or pasted, and kept as soon as it is one; `take` complains where it is not
 * valid.
 */
function asking(isBroken = false): {
  element: HTMLElement;
  take: (quietly: boolean) => boolean;
  again: () => void;
} {
  const complaint = h(
    "p",
    { class: "complaint", id: "invitation-complaint", role: "alert" },
    isBroken && t("invitation_damaged"),
  );
  const field = h("input", {
    id: "invitation",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-invalid": String(isBroken),
    "aria-describedby": "invitation-hint invitation-complaint",
    // not on leaving: what moves then moves from under a finger
    input: () => void take(field.value.trim() === ""),
  });
  const take = (quietly: boolean): boolean => {
    const found = invitationIn(field.value);
    const isWrong = found === null && !quietly;
    complaint.textContent = isWrong ? t(field.value.trim() ? "invitation_none" : "invitation_needed") : "";
    field.setAttribute("aria-invalid", String(isWrong));
    if (found !== null && found !== field.value) field.value = found;
    keepInvitation((invitation = found), new URLSearchParams(location.hash.slice(1)).get("plan"));
    return found !== null;
  };
  const element = h(
    "div",
    { class: "question" },
    h("label", { class: "legend", for: "invitation" }, t("invitation")),
    h("p", { class: "soft hint", id: "invitation-hint" }, t("invitation_hint")),
    field,
    complaint,
  );
  const again = (): void => {
    field.value = invitation ?? "";
    field.select();
  };
  return { element, take, again };
}

/** The button that sends, and what becomes of it. */
function sending(head: HTMLElement, one: Offer, client: Client, report: Report, label: string): HTMLElement {
  const notice = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "main", click: () => void send() }, label);
  const asked = asking();
  const { element: field } = asked;
  const { plan, round } = one;
  const arrived = isReceived({ plan: plan.id, round });
  field.hidden =
    !one.summary.invited || invitation !== null || arrived || (tickets?.isKept(ledger, plan) ?? false);
  if (!arrived && tickets?.isDue(ledger, plan, round)) void send();
  return h("div", { class: "act" }, field, !arrived && tickets?.hint(), notice, button);

  async function send(): Promise<void> {
    if (!field.hidden && !asked.take(false)) return find("invitation").focus();
    button.disabled = true;
    button.textContent = t("sending");
    notice.replaceChildren();
    let slow = 0;
    const signal = AbortSignal.any([shown.signal, remembering.signal]);
    const { signal: kept } = remembering;
    const forgetInvitation = (): void => keepInvitation((invitation = null));
    try {
      if (!navigator.onLine) throw new NotSent("this device is offline", 0);
      const ticket =
        tickets && !arrived
          ? await tickets.obtain(
              client,
              HERE,
              { round, invitation, attempts: ATTEMPTS, signal },
              { notice, button, exchanged: forgetInvitation },
            )
          : undefined;
      if (ticket === null) return withhold();
      const token = ticket ? { ticket } : invitation !== null && !tickets && { invitation };
      slow = setTimeout(() => notice.replaceChildren(h("p", { class: "notice" }, t("no_answer_yet"))), 2500);
      const outcome = await client.send(HERE, report, { attempts: ATTEMPTS, signal: kept, ...token });
      if (ticket) tickets?.drop(ledger, plan);
      // unless it was forgotten meanwhile
      if (ledger.find(plan, round)) markReceived(plan.id, round);
      forgetInvitation(); // it is used; the next round takes another
      showDevice(ledger, start);
      if (!notice.isConnected) return; // another study is shown by now
      put(head, receipt(one, report, outcome), cards(one.plan, report, null, true));
      find("receipt").focus();
    } catch (problem) {
      if ((problem as Error).name === "AbortError") return; // something else is shown
      notice.replaceChildren(h("p", { class: "notice bad" }, why(problem as Error)));
      button.disabled = false;
      button.textContent = t("try_again");
      if (!navigator.onLine)
        addEventListener("online", () => button.isConnected && !button.disabled && void send(), {
          once: true,
        });
      else if (problem instanceof NotSent && ["invitation", "ticket"].includes(problem.reason)) {
        if (problem.reason === "ticket") tickets?.drop(ledger, plan);
        field.hidden = false;
        asked.again();
      }
    } finally {
      clearTimeout(slow);
    }
  }

  /** The person decided not to send it; or another page has sent it, and this one shows that. */
  function withhold(): void {
    if (!tickets?.isKept(ledger, plan)) return void start();
    notice.replaceChildren(h("p", { class: "notice" }, t("ticket_held")));
    button.disabled = false;
    button.textContent = label;
  }
}

function receipt({ round, plan }: Offer, report: Report, outcome: string): HTMLElement {
  return h(
    "section",
    { class: "receipt", "aria-labelledby": "receipt" },
    h(
      "h2",
      { id: "receipt", tabindex: -1 },
      check(),
      t(outcome === "counted" ? "received" : "received_before"),
    ),
    h("p", {}, t(outcome === "counted" ? "stored" : "stored_before")),
    paragraphs(plan, plan.texts?.thanks),
    h(
      "p",
      { class: "soft" },
      plan.rounds === null ? "" : `${t("round", { round })} · `,
      rich("report", { id: h("code", { title: report.id }, `${report.id.slice(0, 12)}…`) }),
    ),
  );
}

function why(problem: Error): string {
  if (!(problem instanceof NotSent)) return sentence(problem.message);
  if (!navigator.onLine) return t("waits_offline");
  if (problem.status === 0) return t("waits_unreachable");
  const { reason, detail } = problem;
  if (reason === "invitation") return t("invitation_refused");
  if (reason === "ticket") return t("ticket_refused");
  if (reason === "closed") return t("round_closed") + (tickets ? ` ${t("round_closed_ticket")}` : "");
  if (problem.status >= 500 || problem.status === 429) return t("waits_busy");
  return detail ? t("refused_report", { detail }) : sentence(problem.message);
}

/** Say why nothing is asked. */
function refuse(problem: Error): void {
  if (problem instanceof InvalidPlan) {
    return put(
      h("h1", {}, t("not_kept")),
      refusal(t("refused"), h("p", { lang: "en" }, sentence(problem.message)), h("p", {}, t("refused_hint"))),
    );
  }
  const known = problem instanceof DeniableError || problem instanceof Refused;
  if (!known) console.error(problem);
  const again = h("button", { type: "button", click: () => void start() }, t("try_again"));
  const words = known ? sentence(problem.message) : t("went_wrong");
  put(h("h1", {}, t("not_now")), refusal(t("what_happened"), h("p", {}, words), again));
}

function refusal(title: string, ...children: readonly Child[]): HTMLElement {
  return h("section", { class: "notice bad", role: "alert" }, h("h2", {}, title), ...children);
}

function put(...children: readonly HTMLElement[]): void {
  main.replaceChildren(...children);
  main.inert = false;
}

function connection(): void {
  find("connection").textContent = navigator.onLine || !spoken().catalog ? "" : t("offline");
}

addEventListener("hashchange", () => {
  if (location.hash === "" || /^#(plan|invitation)=/.test(location.hash)) void start();
});
addEventListener("storage", ({ key, newValue }) => {
  if (find("device").hidden) return;
  if (newValue !== null || (key !== null && key !== "deniable")) return showDevice(ledger, start);
  keepInvitation(null); // everything was forgotten in another tab
  void start(true);
});
addEventListener("online", connection);
addEventListener("offline", connection);
skipping();
void start();
