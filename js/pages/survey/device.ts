/** Shows what this device remembers, takes the person’s limit, and forgets. */

import { DEFAULT_CAP } from "../../src/client/ledger.js";
import type { Entry, Ledger } from "../../src/index.js";
import { keepInvitation } from "../kit/collector.js";
import { announce, find, h, quoted } from "../kit/dom.js";
import { count, plural, spoken, t } from "../kit/messages.js";
import { likelier, loss, titleOf } from "../kit/phrases.js";
import { bytesOf } from "./cards.js";
import { readNumber } from "./numbers.js";
import { forgetReceipts, isReceived, received } from "./receipts.js";

const PLAIN = { useGrouping: false, maximumFractionDigits: 20 };

/** Ask the browser to keep what this page stores; some browsers ask the person, others decide by themselves. */
export async function persist(): Promise<void> {
  try {
    await navigator.storage?.persist?.();
  } catch {
    // then the section says that it may be deleted
  }
  await warn(find("device"));
}

/** Whether the browser promised to keep what this page stores. */
async function isPersistent(): Promise<boolean> {
  try {
    return (await navigator.storage?.persisted?.()) ?? false;
  } catch {
    return false;
  }
}

type Changed = (isForgotten: boolean) => unknown;

/** Draw the section; `changed` is called when the limit was set or everything forgotten. */
export function showDevice(ledger: Ledger, changed: Changed): void {
  const section = find("device");
  const open = section.querySelector<HTMLDetailsElement>("details.ledger")?.open ?? false;
  const isFolded = foldOf(section)?.open === false;
  section.hidden = false;
  section.replaceChildren(
    h("h2", { id: "device-title" }, t("device")),
    ...inside(ledger, open, changed),
    forgetting(ledger, changed),
  );
  foldDevice(isFolded);
  void warn(section);
}

const foldOf = (section: HTMLElement): HTMLDetailsElement | null =>
  section.querySelector("details.remembered");

/** Fold the section to its title, or show all of it. */
export function foldDevice(isFolded: boolean): void {
  const section = find("device");
  const fold = foldOf(section);
  const title = section.querySelector("#device-title");
  if (!title || isFolded === (fold !== null)) return;
  const [first, ...rest] = (fold ?? section).children;
  if (fold) section.replaceChildren(title, ...rest);
  else section.append(h("details", { class: "remembered" }, h("summary", {}, first), ...rest));
}

/** Say that the browser may delete what is stored here, unless it promised not to. */
async function warn(section: HTMLElement): Promise<void> {
  const isKept = await isPersistent();
  const note = section.querySelector<HTMLElement>(".evicted");
  if (note) note.hidden = isKept;
}

function inside(ledger: Ledger, open: boolean, changed: Changed): HTMLElement[] {
  try {
    return [spent(ledger), sent(ledger, open), keeping(), limit(ledger, changed)];
  } catch (problem) {
    return [h("p", { class: "notice bad" }, (problem as Error).message)];
  }
}

/** What all studies together have given away, and what they may. */
function spent(ledger: Ledger): HTMLElement {
  const total = ledger.lifetime().changing;
  return h("p", { class: "spent" }, t("spent", { loss: loss(total), cap: count(ledger.cap) }));
}

function sent(ledger: Ledger, open: boolean): HTMLElement {
  const { entries } = ledger;
  const total = ledger.lifetime();
  const known = received();
  const plans = grouped(entries);
  const waiting = entries.length - entries.filter((entry) => isReceived(entry, known)).length;
  const over = { reports: plural("reports", total.reports), n: waiting };
  return h(
    "details",
    { class: "ledger", open },
    h(
      "summary",
      {},
      t("sent_title"),
      h("span", { class: "badge" }, String(entries.length - waiting)),
      waiting > 0 && h("span", { class: "soft waiting" }, t("made_not_sent", { n: waiting })),
    ),
    entries.length === 0
      ? h("p", { class: "soft" }, t("nothing_yet"))
      : [
          h(
            "dl",
            { class: "figures lifetime" },
            h("dt", {}, t(waiting > 0 ? "lifetime_waiting" : "lifetime", over)),
            h("dd", {}, loss(total.unchanged)),
            h("dt", {}, t("lifetime_changing")),
            h("dd", {}, loss(total.changing)),
          ),
          h("p", { class: "soft evicted", hidden: true }, t("evicted")),
          [...plans.values()].map((rounds) => study(rounds, known)),
        ],
  );
}

function study(rounds: readonly Entry[], known: ReadonlySet<string>): HTMLElement {
  const { plan, title, unchanged, changing } = rounds[0] as Entry;
  const both =
    unchanged === changing
      ? t("loss_all_rounds", { loss: loss(unchanged) })
      : t("loss_both", { unchanged: loss(unchanged), changing: loss(changing) });
  return h(
    "article",
    { class: "study" },
    h("h3", {}, quoted(titleOf(title, plan))),
    h("p", { class: "soft" }, both),
    h(
      "ul",
      {},
      rounds.map(({ round, report }) =>
        h(
          "li",
          {},
          h("span", {}, t(isReceived({ plan, round }, known) ? "round_received" : "round_made", { round })),
          bytesOf(report),
        ),
      ),
    ),
  );
}

function keeping(): HTMLElement {
  return h("p", { class: "soft" }, t("keeps_secret"));
}

function limit(ledger: Ledger, changed: Changed): HTMLElement {
  const field = h("input", {
    type: "text",
    id: "cap",
    autocomplete: "off",
    inputmode: "decimal",
    placeholder: count(DEFAULT_CAP),
    value: ledger.cap.toLocaleString(spoken().tag, PLAIN),
    "aria-describedby": "cap-hint cap-complaint",
  });
  const complaint = h("p", { class: "complaint", id: "cap-complaint", role: "alert" });
  const set = (event: Event): void => {
    event.preventDefault();
    try {
      const read = field.value.trim() === "" ? null : readNumber(field.value, spoken().tag);
      if (field.value.trim() !== "" && !(read && "number" in read)) throw new Error();
      ledger.cap = read && "number" in read ? Number(read.number) : null;
    } catch {
      complaint.textContent = t("cap_wrong", { n: DEFAULT_CAP });
      return;
    }
    announce(t("cap_now", { cap: count(ledger.cap) }));
    changed(false);
  };
  return h(
    "form",
    { class: "cap", novalidate: true, submit: set },
    h("label", { for: "cap" }, t("cap")),
    h("div", { class: "row" }, field, h("button", { type: "submit" }, t("cap_set"))),
    h(
      "p",
      { class: "soft", id: "cap-hint" },
      t("cap_hint", { one: likelier(1e9), three: likelier(3e9), n: DEFAULT_CAP }),
    ),
    complaint,
  );
}

function forgetting(ledger: Ledger, changed: Changed): HTMLElement {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "forget-title", "aria-describedby": "forget-text" },
    h("h2", { id: "forget-title" }, t("forget_title")),
    h("div", { id: "forget-text" }, h("p", {}, t("forget_what")), h("p", {}, t("forget_then"))),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "bad", click: () => void forget() }, t("forget_all")),
      h("button", { type: "button", click: () => dialog.close() }, t("forget_not")),
    ),
  );
  const forget = async (): Promise<void> => {
    await ledger.forget();
    forgetReceipts();
    keepInvitation(null);
    dialog.close();
    announce(t("forgotten"));
    changed(true);
  };
  return h(
    "div",
    { class: "forget" },
    h("button", { type: "button", class: "quiet bad", click: () => dialog.showModal() }, t("forget")),
    dialog,
  );
}

function grouped(entries: readonly Entry[]): Map<string, Entry[]> {
  const byPlan = new Map<string, Entry[]>();
  for (const entry of entries) byPlan.set(entry.plan, [...(byPlan.get(entry.plan) ?? []), entry]);
  return byPlan;
}
