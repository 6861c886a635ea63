/** Asks for invitations, where a study takes them and the link had none, or not all of them. */

import { invitationIn, keepInvitation } from "./collector.js";
import { h } from "./dom.js";
import { t } from "./messages.js";
import type { Part } from "./plans.js";
import { keepFor, plansIn } from "./plans_link.js";
import { shared } from "./shared.js";

/** The field with its hint and a place for complaints; `take` hears whatever is written or pasted. */
function invitationField(
  problem: string,
  take: () => void,
): { element: HTMLElement; field: HTMLInputElement; complain: (words: string) => void } {
  const complaint = h("p", { class: "complaint", id: "invitation-complaint", role: "alert" }, problem);
  const field = h("input", {
    id: "invitation",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-invalid": String(problem !== ""),
    "aria-describedby": "invitation-hint invitation-complaint",
    input: take, // not on leaving: what moves then moves from under a finger
  });
  const element = h(
    "div",
    { class: "question" },
    h("label", { class: "legend", for: "invitation" }, t("invitation")),
    h("p", { class: "soft hint", id: "invitation-hint" }, t("invitation_hint")),
    field,
    complaint,
  );
  const complain = (words: string): void => {
    complaint.textContent = words;
    field.setAttribute("aria-invalid", String(words !== ""));
  };
  return { element, field, complain };
}

/**
 * Where an invitation is written or pasted, and kept as soon as it is one; `take` complains where it is not
 * valid.
 */
export function askInvitation(isBroken = false): {
  element: HTMLElement;
  take: (quietly: boolean) => boolean;
  again: () => void;
} {
  const heard = (): void => void take(field.value.trim() === "");
  const { element, field, complain } = invitationField(isBroken ? t("invitation_damaged") : "", heard);
  const take = (quietly: boolean): boolean => {
    if (isElsewhere(field.value)) {
      location.hash = field.value.slice(field.value.indexOf("#")).trim(); // and so the page begins again
      return false;
    }
    const found = invitationIn(field.value);
    const problem = t(field.value.trim() ? "invitation_none" : "invitation_needed");
    complain(found === null && !quietly ? problem : "");
    if (found !== null && found !== field.value) field.value = found;
    keepInvitation((shared.invitation = found), new URLSearchParams(location.hash.slice(1)).get("plan"));
    return found !== null;
  };
  const again = (): void => {
    field.value = shared.invitation ?? "";
    field.select();
  };
  return { element, take, again };
}

/** The field for the invitations that a survey of several plans still needs; each is kept once it is there. */
export function askInvitations(parts: readonly Part[]): HTMLElement[] {
  if (!parts.length) return [];
  const take = (): void => {
    const codes = codesIn(field.value, parts);
    for (const [i, { plan }] of parts.entries()) keepFor(plan.id, codes[i] ?? null);
    const there = codes.filter((code) => code !== null).length;
    const problem = there ? t("invitation_partly", { n: there, all: parts.length }) : t("invitation_none");
    complain(there === parts.length || !field.value.trim() ? "" : problem);
  };
  const { element, field, complain } = invitationField("", take);
  return [element];
}

/** A code for each part, from a link or from codes in their order; null where it is missing. */
function codesIn(text: string, parts: readonly Part[]): (string | null)[] {
  const linked = text.includes("#") ? plansIn(text) : null;
  const each = text.trim().split(/[\s,;]+/);
  return parts.map(({ plan }, i) =>
    linked
      ? (linked.find((one) => one.plan.length >= 8 && plan.id.startsWith(one.plan))?.invitation ?? null)
      : invitationIn(each[i] ?? ""),
  );
}

/** Whether a link that was pasted has plans, and not just the one that is shown. */
function isElsewhere(text: string): boolean {
  if (!text.includes("#")) return false;
  const [linked, here] = [plansIn(text), plansIn(location.hash)];
  const isSame = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);
  return linked.some(({ plan }) => !here.some((one) => isSame(plan, one.plan)));
}
