/** Does what follows the questions of several plans: one review, one consent, all reports, one button that sends. */

import { Client, type Report } from "../../src/index.js";
import { h, quoted } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { answersOf, cards } from "./cards.js";
import { persist, showDevice } from "./device.js";
import { askInvitation } from "./invitation.js";
import { paragraphs } from "./language.js";
import { distinct, joined, type Part, promises, type Replies } from "./plans_parts.js";
import { sendAll } from "./plans_send.js";
import type { Reply } from "./question.js";
import { consenting } from "./report.js";
import { put, refuse } from "./stage.js";
import { shorten } from "./top.js";
import type { Visit } from "./visit.js";

/** All answers, one consent, and the button that makes the reports. */
export function reviewAll(
  visit: Visit,
  head: HTMLElement,
  parts: readonly Part[],
  replies: Replies,
  goBack: (part?: Part, name?: string) => void,
): void {
  const open = parts.filter(({ made }) => made === null);
  shorten(head, true);
  const title = h("h2", { tabindex: -1 }, t("review_title"));
  const tick = consentTo(open);
  const go = async (): Promise<void> => {
    if (tick && !tick.isGiven()) return;
    next.disabled = back.disabled = true;
    await makeAll(visit, head, parts, replies);
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
        answersOf(part.plan, replies.get(part) ?? [], (name) => goBack(part, name)),
      ),
    ),
    promises(open, true),
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
  const withText = parts.filter(({ plan }) => plan.texts?.consent);
  const asking = distinct(withText, ({ plan }) => plan.texts?.consent);
  if (!asking.length) return null;
  const texts = asking.map(({ plan, title }) => [
    (asking.length > 1 || withText.length < parts.length) && h("h4", {}, quoted(title)),
    paragraphs(plan, plan.texts?.consent),
  ]);
  return consenting(texts, rich("plans_agree", { titles: joined(parts.map(({ study }) => study)) }));
}

/** Draw all reports, each once, and show them before they leave. */
async function makeAll(
  visit: Visit,
  head: HTMLElement,
  parts: readonly Part[],
  replies: Replies,
): Promise<void> {
  const { ledger } = visit;
  const made: Part[] = [];
  const repliesMade = new Map<Part, readonly Reply[]>();
  try {
    for (const part of parts) {
      const { plan, round } = part;
      const ofPart = replies.get(part) ?? [];
      const answers = Object.fromEntries(ofPart.map(({ name, answer }) => [name, answer]));
      const report = part.made ?? (await new Client(plan, { ledger }).report(answers, { round }));
      const done = { ...part, made: report };
      made.push(done);
      if (!part.made) repliesMade.set(done, ofPart);
    }
  } catch (problem) {
    return refuse(visit, problem as Error);
  }
  showDevice(ledger, (isForgotten) => visit.start(isForgotten));
  void persist(); // a browser may ask the person, who need not answer now
  sendMade(visit, head, made, repliesMade, []);
}

/** The reports next to the answers, and the button that sends them. */
export function sendMade(
  visit: Visit,
  head: HTMLElement,
  parts: readonly Part[],
  replies: Replies,
  missing: readonly string[],
): void {
  const title = h("h2", { tabindex: -1 }, t("look"));
  const shown = parts.map((part, i) =>
    h(
      "section",
      { class: "part", "aria-labelledby": `part-${i}` },
      h("h3", { id: `part-${i}` }, quoted(part.title)),
      cards(part.plan, part.made as Report, replies.get(part) ?? null, false, `-${i}`),
    ),
  );
  put(head, title, ...shown, missing.length ? askInvitation(visit, missing) : sendAll(visit, head, parts));
  title.focus();
}
