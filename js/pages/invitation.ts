/** Asks for an invitation, where a study takes one and the link had none. */

import { invitationIn, keepInvitation } from "./collector.js";
import { h } from "./dom.js";
import { t } from "./messages.js";
import { plansIn } from "./plans_link.js";
import { shared } from "./shared.js";

/**
 * Where an invitation is written or pasted, and kept as soon as it is one; `take` complains where it is not
 * valid.
 */
export function askInvitation(isBroken = false): {
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
    if (isElsewhere(field.value)) {
      location.hash = field.value.slice(field.value.indexOf("#")).trim(); // and so the page begins again
      return false;
    }
    const found = invitationIn(field.value);
    const isWrong = found === null && !quietly;
    complaint.textContent = isWrong ? t(field.value.trim() ? "invitation_none" : "invitation_needed") : "";
    field.setAttribute("aria-invalid", String(isWrong));
    if (found !== null && found !== field.value) field.value = found;
    keepInvitation((shared.invitation = found), new URLSearchParams(location.hash.slice(1)).get("plan"));
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
    field.value = shared.invitation ?? "";
    field.select();
  };
  return { element, take, again };
}

/** Whether a link that was pasted has plans, and not just the one that is shown. */
function isElsewhere(text: string): boolean {
  if (!text.includes("#")) return false;
  const [linked, here] = [plansIn(text), plansIn(location.hash)];
  const isSame = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);
  return linked.some(({ plan }) => !here.some((one) => isSame(plan, one.plan)));
}
