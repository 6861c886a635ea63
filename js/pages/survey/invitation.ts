/** Asks for an invitation before anything else, where a study takes them and the link had none. */

import { CODE_LENGTH, deriveInvitation, findPlans, readCode, stripMarks } from "../../src/client/codes.js";
import { askJson, invitationIn, type Summary } from "../kit/collector.js";
import { find, h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import { groupsIn } from "./known_group.js";
import { isSamePlan, type Linked, plansIn } from "./plans_link.js";
import { shared } from "./shared.js";

/** The form for a code or a link; once that is right, the page goes on with the studies that it opens. */
export function askInvitation(wanted: readonly string[], isDamaged = false): HTMLElement {
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
      const found = await readInvitations(field.value, wanted);
      if (typeof found !== "string") return await goOn(found, wanted, field.value);
      complain(found);
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
  const given = text.trim();
  if (!given) return t("invitation_needed");
  if (given.includes("#") || given.includes("invitation=")) {
    const alone = invitationIn(given);
    const linked = plansIn(given).filter(({ invitation }) => invitation !== null);
    if (linked.length) return linked;
    return alone && wanted[0] ? [{ plan: wanted[0], invitation: alone }] : t("invitation_none");
  }
  const parts = given.split(/[\s,;]+/).map(invitationIn); // as they were before there were codes for typing
  const each = parts.filter((one) => one !== null);
  if (each.length && each.length === parts.length) {
    if (!wanted.length) return t("invitation_choose");
    if (each.length < wanted.length) return t("invitation_partly", { n: each.length, all: wanted.length });
    return wanted.map((plan, i) => ({ plan, invitation: each[i] as string }));
  }
  const code = readCode(given);
  if (code === "length") {
    const n = [...stripMarks(given)].length;
    return t("invitation_length", { n, all: CODE_LENGTH });
  }
  if (typeof code === "string") return t("invitation_slip");
  const { plans } = await askJson<{ plans: Summary[] }>("plans");
  const opened = findPlans(
    code,
    plans.filter(({ invited }) => invited).map(({ id }) => id),
    wanted,
  );
  if (!opened) return t("invitation_elsewhere");
  return Promise.all(opened.map(async (plan) => ({ plan, invitation: await deriveInvitation(code, plan) })));
}

/** Go on with these plans, and with those that are shown already where they are among them. */
async function goOn(found: readonly Linked[], wanted: readonly string[], link: string): Promise<void> {
  const isHere = wanted.every((plan) => found.some((one) => isSamePlan(one.plan, plan)));
  const others = plansIn(location.hash).filter(
    ({ plan }) => isHere && !found.some((one) => isSamePlan(one.plan, plan)),
  );
  const all = [...others, ...found].map(({ plan, invitation }) => {
    const given = groupsIn(link, plan);
    const groups = given.length ? given : groupsIn(location.hash, plan);
    const known = groups.map((group) => `&group=${encodeURIComponent(group)}`).join("");
    return `plan=${plan}${invitation ? `&invitation=${invitation}` : ""}${known}`;
  });
  history.pushState(null, "", `${location.pathname}${location.search}#${all.join("&")}`);
  await shared.start();
  const shown = find("study");
  const next = [".part h2", "form", "h1"].map((one) => shown.querySelector<HTMLElement>(one)).find(Boolean);
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView();
}
