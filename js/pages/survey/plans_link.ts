/** Reads links that carry several plans: #plan=A&invitation=x&plan=B&invitation=y. */

import { invitationIn, keepInvitation, recalled, remember } from "../kit/collector.js";

/** One plan of a link, by its id or how that begins, and the invitation to it. */
export interface Linked {
  readonly plan: string;
  readonly invitation: string | null;
}

const KEPT = "plans";

/** The plans of a link, each with the invitation that follows it. */
export function plansIn(link: string): Linked[] {
  const linked: Linked[] = [];
  for (const [name, value] of new URLSearchParams(link.slice(link.indexOf("#") + 1))) {
    if (name === "plan" && !linked.some(({ plan }) => plan === value))
      linked.push({ plan: value, invitation: null });
    const last = linked.at(-1);
    if (name === "invitation" && last)
      linked[linked.length - 1] = { ...last, invitation: invitationIn(value) };
  }
  return linked;
}

/**
 * The plans of the address, if it has several, with their invitations, which move from there to the tab's own
 * memory; else null.
 */
export function followPlans(): Linked[] | null {
  const linked = plansIn(location.hash);
  if (linked.length < 2) return null;
  for (const { plan, invitation } of linked) if (invitation !== null) keepFor(plan, invitation);
  const rest = location.hash.replace(/&invitation=[^&]*/g, "");
  history.replaceState(null, "", location.pathname + location.search + rest);
  return linked.map(({ plan }) => ({ plan, invitation: keptFor(plan) }));
}

/** Whether two plans are one study, of which some questions are asked once and the others again. */
export const isOneStudy = (a: Titled, b: Titled): boolean =>
  a.title !== "" && a.title === b.title && (a.rounds === null) !== (b.rounds === null);

interface Titled {
  readonly title: string;
  readonly rounds: number | null;
}

/** Whether two ids, or how they begin, are of one plan. */
export const isSamePlan = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a);

/** The invitation to a plan that is kept here, whether its link named that plan alone or several. */
export function keptFor(plan: string): string | null {
  const link = kept().find((each) => isSamePlan(each.plan, plan));
  if (link) return link.invitation;
  return isAloneFor(plan) ? invitationIn(recalled("invitation") ?? "") : null;
}

/** Keep the invitation to a plan as long as the tab lives; or forget it (null). */
export function keepFor(plan: string, invitation: string | null): void {
  if (isAloneFor(plan)) keepInvitation(null);
  const others = kept().filter((link) => !isSamePlan(link.plan, plan));
  remember(KEPT, JSON.stringify(invitation === null ? others : [...others, { plan, invitation }]));
}

/** Forget all of them. */
export function forgetPlans(): void {
  remember(KEPT, null);
}

/** Whether the invitation of a link with a single plan is for this one. */
function isAloneFor(plan: string): boolean {
  const invited = recalled("invited");
  return invited !== null && isSamePlan(invited, plan);
}

function kept(): Linked[] {
  return JSON.parse(recalled(KEPT) ?? "[]") as Linked[];
}
