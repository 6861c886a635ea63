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
import { cards } from "./cards.js";
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
import { check, promise } from "./guarantee.js";
import { loss, moment, sentence, several, titleOf } from "./phrases.js";
import { type Given, type LocationFields, questions } from "./questions.js";

const ATTEMPTS = 6;
const INSECURE =
  "A browser makes a report only over a secure connection. This address does not begin with https; ask the sender for one that does.";
const NEEDS_INVITATION = "Without an invitation the report would be refused.";
const NO_INVITATION =
  "This is not an invitation. Enter the link that you received, or the letters after “invitation=” in it.";
const DAMAGED =
  "Your link is damaged: its invitation is not valid. Copy the whole link, or its code, into this field.";
const REFUSED_INVITATION =
  "The collector refused the report: the invitation is unknown or was used already. Your report waits on this device; you can send it with another invitation.";
const CLOSED = "This round has closed. Your report was not counted; it stays on this device.";
const HELD = "Nothing was sent. Your report and its ticket wait on this device.";
const REFUSED_TICKET =
  "The collector refused the ticket: it was used already. Your report waits on this device; you can send it with another invitation.";
const main = find("study");
let invitation: string | null = null;
let isDamaged = false; // the invitation in the link that was followed
let ledger: Ledger;
let tickets: typeof import("./tickets.js") | null = null; // where the study has them
let turn = 0;
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
    ledger = remembered();
    showDevice(ledger, start);
    if (!isSecureContext) throw new Refused("insecure", INSECURE);
    const { plans } = await askJson<{ plans: Summary[] }>("plans");
    const wanted = values.get("plan") ?? (plans.length === 1 ? plans[0]?.id : undefined);
    if (wanted === undefined) return mine === turn ? choose(plans) : undefined;
    const summary = plans.find(({ id }) => id === wanted || (wanted.length >= 8 && id.startsWith(wanted)));
    if (!summary) throw new Refused("plan", "This collector has no such study. Is the link complete?");
    const plan = await verified(summary.id);
    const { rounds } = await askJson<{ rounds: Round[] }>(`plans/${plan.id}/rounds`);
    const locations = plan.attributes.some(({ domain }) => domain.kind === "grid")
      ? await import("./location.js")
      : null;
    tickets = plan.ticketKey === null ? null : await import("./tickets.js");
    if (!isInvitedTo(plan.id)) invitation = null; // it is for another study, and stays with that
    if (mine === turn) offer(plan, summary, rounds, plans.length > 1, locations);
  } catch (problem) {
    if (mine === turn) refuse(problem as Error);
  }
}

function remembered(): Ledger {
  try {
    return new Ledger(browserStore());
  } catch {
    const why = "A report must be drawn only once, so the device has to store it.";
    throw new Refused(
      "storage",
      `This browser does not let the page store anything. Is storage switched off? ${why}`,
    );
  }
}

/** The plan with this id, recomputed and found to say what is true. */
async function verified(id: string): Promise<Plan> {
  const plan = await Plan.fromJson(await (await ask(`plans/${id}`)).text());
  if (plan.id !== id) throw new InvalidPlan("id", "the collector sent a different plan");
  return plan;
}

function choose(plans: readonly Summary[]): void {
  document.title = "Surveys · Deniable";
  if (plans.length === 0) return put(h("h1", {}, "There is no study here now"));
  const item = ({ id, title, round }: Summary): HTMLElement =>
    h(
      "li",
      {},
      h("a", { href: `#plan=${id}` }, quoted(titleOf(title, id))),
      h("span", { class: "soft" }, round === null ? "closed" : "open"),
    );
  put(h("h1", {}, "Choose a study"), h("ul", { class: "choices" }, plans.map(item)));
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

function offer(
  plan: Plan,
  summary: Summary,
  rounds: readonly Round[],
  others: boolean,
  locations: LocationFields | null,
): void {
  const title = titleOf(plan.title, plan.id);
  document.title = `${title} · Deniable`;
  const round = pick(plan, rounds);
  const times =
    plan.rounds === null
      ? "asked once"
      : round === null
        ? `${plan.rounds} rounds`
        : `round ${round} of ${plan.rounds}`;
  const head = h(
    "div",
    { class: "head" },
    others && h("p", {}, h("a", { href: "#" }, "← All studies")),
    h("h1", { tabindex: -1 }, quoted(title)),
    h(
      "p",
      { class: "soft" },
      `${several(plan.attributes.length, "question")} · ${times}${summary.invited ? " · by invitation" : ""}`,
    ),
  );
  if (round === null) return put(head, closed(plan, rounds));
  const one = { plan, summary, round };
  const before = ledger.find(plan, round);
  if (before) return answered(head, one, decode(plan, before));
  try {
    const client = new Client(plan, { ledger });
    put(
      head,
      promise(plan),
      ...(summary.invited ? [tickets ? tickets.explanation() : sentAlong()] : []),
      ...(summary.invited && invitation === null && !tickets?.isKept(ledger, plan) ? [asking(isDamaged).element] : []),
      questions(plan, locations, (given) => make(head, one, client, given)),
    );
  } catch (problem) {
    if (!(problem instanceof AboveCap)) throw problem;
    const to = h("a", { href: "#cap", click: toLimit }, "change the limit");
    const total =
      ledger.cap === null
        ? `This study gives away up to ${loss(statedForever(plan).unchanged)}; unless you set a limit, this device allows ${DEFAULT_CAP}.`
        : `With this study, your lifetime loss would be ${loss(ledger.lifetime(plan).counted)}; your limit is ${ledger.cap}.`;
    put(
      head,
      refusal("Your limit refuses this study", h("p", {}, total), h("p", {}, "You can ", to, " below.")),
      promise(plan),
    );
  }
}

/** What a plain invitation tells, for people to read before they answer. */
function sentAlong(): HTMLElement {
  return h(
    "details",
    { class: "kept-apart" },
    h("summary", {}, "What your invitation tells"),
    h(
      "p",
      {},
      "That you take part can be known. Your invitation is sent with your report, and the collector deletes it when it counts the report. A dishonest collector could note whose report it is; your answers stay as deniable as this page says.",
    ),
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
  const when = next
    ? `${plan.rounds === null ? "It" : `Round ${next.number}`} opens on ${moment(next.opens as string)}.`
    : `Come back when ${plan.rounds === null ? "it" : "the next round"} opens.`;
  const made = ledger.entries.filter((entry) => entry.plan === plan.id);
  const sent = made.filter((entry) => isReceived(entry)).length;
  const waiting = several(made.length - sent, "report");
  return refusal(
    hasMore ? "This study is closed now" : "This study has ended",
    h("p", {}, hasMore ? when : "It takes no more reports."),
    sent > 0 && h("p", {}, `You have answered ${several(sent, "round")}; see “What I have sent” below.`),
    made.length > sent && h("p", {}, `${waiting} made on this device has no receipt from the collector.`),
  );
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
  const title = h("h2", { tabindex: -1 }, "Look before you send");
  put(head, title, cards(one.plan, report, given), sending(head, one, client, report, "Send"));
  title.focus();
}

function answered(head: HTMLElement, one: Offer, report: Report): void {
  const arrived = isReceived({ plan: one.plan.id, round: one.round });
  const client = new Client(one.plan, { ledger }); // whatever the limit is now: nothing is new
  put(
    head,
    h("h2", { tabindex: -1 }, arrived ? "You have answered this round" : "Your report has not been sent yet"),
    h(
      "p",
      {},
      arrived
        ? "The collector has your report. You can send it again: it is counted once, however often it arrives."
        : "It was made on this device and waits here. Answering again would give the same report.",
    ),
    cards(one.plan, report, null, arrived),
    sending(head, one, client, report, arrived ? "Send again" : "Send"),
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
    isBroken && DAMAGED,
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
    complaint.textContent = isWrong ? (field.value.trim() ? NO_INVITATION : NEEDS_INVITATION) : "";
    field.setAttribute("aria-invalid", String(isWrong));
    if (found !== null && found !== field.value) field.value = found;
    keepInvitation((invitation = found), new URLSearchParams(location.hash.slice(1)).get("plan"));
    return found !== null;
  };
  const element = h(
    "div",
    { class: "question" },
    h("label", { class: "legend", for: "invitation" }, "Your invitation"),
    h(
      "p",
      { class: "soft hint", id: "invitation-hint" },
      "This study takes one report for each invitation. Paste the link that you received, or its code.",
    ),
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
    button.textContent = "Sending…";
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
      slow = setTimeout(
        () => notice.replaceChildren(h("p", { class: "notice" }, "No answer yet. Still trying…")),
        2500,
      );
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
      button.textContent = "Try again";
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
    notice.replaceChildren(h("p", { class: "notice" }, HELD));
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
      outcome === "counted" ? "Received, and counted" : "Received: it was counted before",
    ),
    h(
      "p",
      {},
      outcome === "counted"
        ? "The collector has stored your report. Thank you."
        : "The same report had arrived already. It is counted once.",
    ),
    h(
      "p",
      { class: "soft" },
      plan.rounds === null ? "" : `Round ${round} · `,
      "report ",
      h("code", { title: report.id }, `${report.id.slice(0, 12)}…`),
    ),
  );
}

function why(problem: Error): string {
  if (!(problem instanceof NotSent)) return sentence(problem.message);
  if (!navigator.onLine)
    return "You are offline. Your report waits on this device and is sent when you are online again.";
  if (problem.status === 0)
    return "The collector cannot be reached. Your report waits on this device; try again later.";
  const { reason, detail } = problem;
  if (reason === "invitation") return REFUSED_INVITATION;
  if (reason === "ticket") return REFUSED_TICKET;
  if (reason === "closed")
    return tickets ? `${CLOSED} So does your ticket: it lets in your report of another round.` : CLOSED;
  if (problem.status >= 500 || problem.status === 429)
    return "The collector is busy. Your report waits on this device; try again in a moment.";
  return detail ? `The collector refused the report: ${detail}` : sentence(problem.message);
}

/** Say why nothing is asked. */
function refuse(problem: Error): void {
  if (problem instanceof InvalidPlan) {
    const text =
      "This device checked the study and does not answer it. Do not answer it on another device either.";
    return put(
      h("h1", {}, "This study does not keep its promise"),
      refusal("Refused", h("p", {}, sentence(problem.message)), h("p", {}, text)),
    );
  }
  const known = problem instanceof DeniableError || problem instanceof Refused;
  if (!known) console.error(problem);
  const again = h("button", { type: "button", click: () => void start() }, "Try again");
  const words = known ? sentence(problem.message) : "Something went wrong on this page. Nothing was sent.";
  put(h("h1", {}, "This does not work now"), refusal("What happened", h("p", {}, words), again));
}

function refusal(title: string, ...children: readonly Child[]): HTMLElement {
  return h("section", { class: "notice bad", role: "alert" }, h("h2", {}, title), ...children);
}

function put(...children: readonly HTMLElement[]): void {
  main.replaceChildren(...children);
  main.inert = false;
}

function connection(): void {
  find("connection").textContent = navigator.onLine ? "" : "You are offline";
}

addEventListener("hashchange", () => {
  if (location.hash === "" || /^#(plan|invitation)=/.test(location.hash)) void start();
});
addEventListener("storage", ({ key, newValue }) => {
  if (find("device").hidden) return;
  if (newValue !== null || (key !== null && key !== "deniable"))
    return showDevice(ledger, start);
  keepInvitation(null); // everything was forgotten in another tab
  void start(true);
});
addEventListener("online", connection);
addEventListener("offline", connection);
skipping();
connection();
void start();
