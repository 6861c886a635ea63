/** Asks for an invitation before anything else, where a study takes them and the link had none. */

import { CODE_LENGTH, deriveInvitation, findPlans, readCode, stripMarks } from "../../src/client/codes.js";
import type { Plans } from "../kit/api.js";
import { askJson, invitationIn } from "../kit/collector.js";
import { find, h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import { groupsIn } from "./known_group.js";
import { isSamePlan, type Linked, plansIn } from "./plans_link.js";
import type { Visit } from "./visit.js";

/** The form for a code or a link; once that is right, the page goes on with the studies that it opens. */
export function askInvitation(visit: Visit, wanted: readonly string[], isDamaged = false): HTMLElement {
  const problem = isDamaged ? t("invitation_damaged") : "";
  const complaint = h("p", { class: "complaint", id: "invitation-complaint", role: "alert" }, problem);
  const field = h("input", {
    id: "invitation",
    type: "text",
    autocomplete: "off",
    autocapitalize: "characters",
    spellcheck: "false",
    "aria-invalid": String(problem !== ""),
    "aria-describedby": "invitation-hint invitation-complaint",
    input: () => complain(""),
  });
  const complain = (words: string): void => {
    complaint.textContent = words;
    field.setAttribute("aria-invalid", String(words !== ""));
  };
  const take = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const opened = await readInvitations(field.value, wanted);
      if (typeof opened !== "string") return await goOn(visit, opened, wanted, field.value);
      complain(opened);
    } catch (refused) {
      complain((refused as Error).message);
    }
    field.focus();
  };
  return h(
    "form",
    { class: "question invited", novalidate: true, submit: (event: Event) => void take(event) },
    h("label", { class: "legend", for: "invitation" }, t("invitation")),
    h("p", { class: "soft hint", id: "invitation-hint" }, t("invitation_hint")),
    h("div", { class: "row" }, field, h("button", { type: "submit", class: "main" }, t("invitation_go"))),
    complaint,
  );
}

/** The plans that a text opens, each with its invitation; or what is wrong with it. */
async function readInvitations(text: string, wanted: readonly string[]): Promise<Linked[] | string> {
  const written = text.trim();
  if (!written) return t("invitation_needed");
  if (written.includes("#") || written.includes("invitation=")) {
    const alone = invitationIn(written);
    const linked = plansIn(written).filter(({ invitation }) => invitation !== null);
    if (linked.length) return linked;
    return alone && wanted[0] ? [{ plan: wanted[0], invitation: alone }] : t("invitation_none");
  }
  const parts = written.split(/[\s,;]+/).map(invitationIn); // as they were before there were codes for typing
  const each = parts.filter((part) => part !== null);
  if (each.length && each.length === parts.length) {
    if (!wanted.length) return t("invitation_choose");
    if (each.length < wanted.length) return t("invitation_partly", { n: each.length, all: wanted.length });
    return wanted.map((plan, i) => ({ plan, invitation: each[i] as string }));
  }
  const code = readCode(written);
  if (code === "length") {
    const n = [...stripMarks(written)].length;
    return t("invitation_length", { n, all: CODE_LENGTH });
  }
  if (typeof code === "string") return t("invitation_slip");
  const { plans } = await askJson<Plans>("plans");
  const opened = findPlans(
    code,
    plans.filter(({ invited }) => invited).map(({ id }) => id),
    wanted,
  );
  if (!opened) return t("invitation_elsewhere");
  return Promise.all(opened.map(async (plan) => ({ plan, invitation: await deriveInvitation(code, plan) })));
}

/** Go on with these plans, and with those that are shown already where they are among them. */
async function goOn(
  visit: Visit,
  opened: readonly Linked[],
  wanted: readonly string[],
  link: string,
): Promise<void> {
  const isOpened = (plan: string): boolean => opened.some((linked) => isSamePlan(linked.plan, plan));
  const isHere = wanted.every(isOpened);
  const others = plansIn(location.hash).filter(({ plan }) => isHere && !isOpened(plan));
  const all = [...others, ...opened].map(({ plan, invitation }) => {
    const named = groupsIn(link, plan);
    const groups = named.length ? named : groupsIn(location.hash, plan);
    const known = groups.map((group) => `&group=${encodeURIComponent(group)}`).join("");
    return `plan=${plan}${invitation ? `&invitation=${invitation}` : ""}${known}`;
  });
  history.pushState(null, "", `${location.pathname}${location.search}#${all.join("&")}`);
  await visit.start();
  const shown = find("study");
  const next = [".part h2", "form", "h1"]
    .map((selector) => shown.querySelector<HTMLElement>(selector))
    .find(Boolean);
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView();
}
