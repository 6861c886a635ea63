/** Shows what this device remembers, takes the person’s limit, and forgets. */

import type { Entry, Ledger } from "../src/index.js";
import { DEFAULT_CAP } from "../src/ledger.js";
import { bytesOf } from "./cards.js";
import { keepInvitation } from "./collector.js";
import { announce, find, h, quoted } from "./dom.js";
import { likelier, loss, several, titleOf } from "./phrases.js";

const RECEIVED = "deniable.received";
const EVICTED =
  "This browser may delete what is stored here: when space runs short, when you have not visited for some time, or when you close a private window. Then do not answer the same study again: two reports give away more than was promised.";

/** Which reports a collector has acknowledged: plan and round. */
export function received(): Set<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(RECEIVED) ?? "[]"));
  } catch {
    return new Set();
  }
}

/** A report was sent when a receipt for it came; the ledger also has those that were only made. */
export function isReceived(
  { plan, round }: Pick<Entry, "plan" | "round">,
  known: ReadonlySet<string> = received(),
): boolean {
  return known.has(`${plan} ${round}`);
}

export function markReceived(plan: string, round: number): void {
  localStorage.setItem(RECEIVED, JSON.stringify([...received().add(`${plan} ${round}`)]));
}

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
  section.hidden = false;
  section.replaceChildren(
    h("h2", { id: "device-title" }, "On this device"),
    ...inside(ledger, open, changed),
    forgetting(ledger, changed),
  );
  void warn(section);
}

/** Say that the browser may delete what is stored here, unless it promised not to. */
async function warn(section: HTMLElement): Promise<void> {
  const isKept = await isPersistent();
  const note = section.querySelector<HTMLElement>(".evicted");
  if (note) note.hidden = isKept;
}

function inside(ledger: Ledger, open: boolean, changed: Changed): HTMLElement[] {
  try {
    return [sent(ledger, open), keeping(), limit(ledger, changed)];
  } catch (problem) {
    return [h("p", { class: "notice bad" }, (problem as Error).message)];
  }
}

function sent(ledger: Ledger, open: boolean): HTMLElement {
  const { entries } = ledger;
  const total = ledger.lifetime();
  const known = received();
  const plans = grouped(entries);
  const waiting = entries.length - entries.filter((entry) => isReceived(entry, known)).length;
  const over = `${several(total.reports, "report")}${waiting > 0 ? `, ${waiting} of them without a receipt` : ""}`;
  return h(
    "details",
    { class: "ledger", open },
    h(
      "summary",
      {},
      "What I have sent",
      h("span", { class: "badge" }, String(entries.length - waiting)),
      waiting > 0 && h("span", { class: "soft waiting" }, `${waiting} made, not sent`),
    ),
    entries.length === 0
      ? h("p", { class: "soft" }, "Nothing yet.")
      : [
          h(
            "dl",
            { class: "figures lifetime" },
            h("dt", {}, `Lifetime loss over ${over}, if your answers do not change`),
            h("dd", {}, loss(total.unchanged)),
            h("dt", {}, "The same, even if your answers change"),
            h("dd", {}, loss(total.changing)),
          ),
          h("p", { class: "soft evicted", hidden: true }, EVICTED),
          [...plans.values()].map((rounds) => study(rounds, known)),
        ],
  );
}

function study(rounds: readonly Entry[], known: ReadonlySet<string>): HTMLElement {
  const { plan, title, unchanged, changing } = rounds[0] as Entry;
  const both =
    unchanged === changing
      ? loss(unchanged)
      : `${loss(unchanged)} if your answers do not change, ${loss(changing)} even if they change`;
  return h(
    "article",
    { class: "study" },
    h("h3", {}, quoted(titleOf(title, plan))),
    h("p", { class: "soft" }, `Loss of all its rounds: ${both}`),
    h(
      "ul",
      {},
      rounds.map(({ round, report }) =>
        h(
          "li",
          {},
          h(
            "span",
            {},
            `Round ${round} · ${isReceived({ plan, round }, known) ? "received by the collector" : "made, no receipt yet"}`,
          ),
          bytesOf(report),
        ),
      ),
    ),
  );
}

function keeping(): HTMLElement {
  return h(
    "p",
    { class: "soft" },
    "This browser keeps a secret, and every report comes from it: the same answers give the same report again. Other answers to the same round, in another browser or after “Forget me”, are a second report. It gives away as much again, and nobody can count it for you.",
  );
}

function limit(ledger: Ledger, changed: Changed): HTMLElement {
  const field = h("input", {
    type: "number",
    id: "cap",
    min: 0,
    step: "any",
    inputmode: "decimal",
    placeholder: `${DEFAULT_CAP} in each study`,
    value: ledger.cap ?? "",
    "aria-describedby": "cap-hint cap-complaint",
  });
  const complaint = h("p", { class: "complaint", id: "cap-complaint", role: "alert" });
  const set = (event: Event): void => {
    event.preventDefault();
    try {
      if (field.validity.badInput) throw new Error();
      ledger.cap = field.value === "" ? null : Number(field.value);
    } catch {
      complaint.textContent = `The limit is a number above 0. Leave it empty for ${DEFAULT_CAP} in each study.`;
      return;
    }
    announce(`The limit is ${ledger.cap ?? `${DEFAULT_CAP} in each study`} now.`);
    changed(false);
  };
  return h(
    "form",
    { class: "cap", novalidate: true, submit: set },
    h("label", { for: "cap" }, "Refuse studies that bring my lifetime loss above"),
    h("div", { class: "row" }, field, h("button", { type: "submit" }, "Set limit")),
    h(
      "p",
      { class: "soft", id: "cap-hint" },
      `At a loss of 1, what was sent is at most ${likelier(1e9)} likelier from you than from anybody else; at 3, ${likelier(3e9)}. Unless you set a limit, this device refuses a study that gives away more than ${DEFAULT_CAP}. In a study with rounds, the limit holds for answers that stay the same.`,
    ),
    complaint,
  );
}

function forgetting(ledger: Ledger, changed: Changed): HTMLElement {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "forget-title", "aria-describedby": "forget-text" },
    h("h2", { id: "forget-title" }, "Forget me?"),
    h(
      "div",
      { id: "forget-text" },
      h(
        "p",
        {},
        "This deletes the secret, the list of sent reports, the limit, your invitation and your tickets from this device. Reports that were sent cannot be taken back.",
      ),
      h(
        "p",
        {},
        "If you then answer a study again, this device draws a new random answer. Both reports together give away more than was promised, and this device will not know it.",
      ),
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "bad", click: () => void forget() }, "Forget everything"),
      h("button", { type: "button", click: () => dialog.close() }, "Keep it"),
    ),
  );
  const forget = async (): Promise<void> => {
    await ledger.forget();
    localStorage.removeItem(RECEIVED);
    keepInvitation(null);
    dialog.close();
    announce("Everything that this device remembered was deleted.");
    changed(true);
  };
  return h(
    "div",
    { class: "forget" },
    h("button", { type: "button", class: "quiet bad", click: () => dialog.showModal() }, "Forget me"),
    dialog,
  );
}

function grouped(entries: readonly Entry[]): Map<string, Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const entry of entries) found.set(entry.plan, [...(found.get(entry.plan) ?? []), entry]);
  return found;
}
