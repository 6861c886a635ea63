/** Asks for the invitations that a survey of several plans still needs: by its link, or by their codes. */

import { invitationIn } from "./collector.js";
import { h } from "./dom.js";
import { t } from "./messages.js";
import type { Part } from "./plans.js";
import { keepFor, plansIn } from "./plans_link.js";

/** The field, where anything is missing; what is pasted is kept as soon as it is enough. */
export function askInvitations(parts: readonly Part[]): HTMLElement[] {
  if (!parts.length) return [];
  const complaint = h("p", { class: "complaint", id: "invitation-complaint", role: "alert" });
  const take = (): void => {
    const codes = codesIn(field.value, parts);
    for (const [i, { plan }] of parts.entries()) keepFor(plan.id, codes?.[i] ?? null);
    complaint.textContent = codes || !field.value.trim() ? "" : t("invitation_none");
    field.setAttribute("aria-invalid", String(!codes));
  };
  const field = h("input", {
    id: "invitation",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-describedby": "invitation-hint invitation-complaint",
    input: take,
  });
  return [
    h(
      "div",
      { class: "question" },
      h("label", { class: "legend", for: "invitation" }, t("invitation")),
      h("p", { class: "soft hint", id: "invitation-hint" }, t("invitation_hint")),
      field,
      complaint,
    ),
  ];
}

/** A code for each part, from a link that has them all or from codes in their order; null where one is missing. */
function codesIn(text: string, parts: readonly Part[]): string[] | null {
  const linked = text.includes("#") ? plansIn(text) : null;
  const each = text.trim().split(/\s+/);
  const found = parts.map(({ plan }, i) =>
    linked
      ? (linked.find((one) => one.plan.length >= 8 && plan.id.startsWith(one.plan))?.invitation ?? null)
      : invitationIn(each[i] ?? ""),
  );
  return found.includes(null) ? null : (found as string[]);
}
