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
  const found: Linked[] = [];
  for (const [name, value] of new URLSearchParams(link.slice(link.indexOf("#") + 1))) {
    if (name === "plan" && !found.some(({ plan }) => plan === value))
      found.push({ plan: value, invitation: null });
    const last = found.at(-1);
    if (name === "invitation" && last) found[found.length - 1] = { ...last, invitation: invitationIn(value) };
  }
  return found;
}

/**
 * The plans of the address, if it has several, with their invitations, which move from there to the tab's own
 * memory; else null.
 */
export function followPlans(): Linked[] | null {
  const given = plansIn(location.hash);
  if (given.length < 2) return null;
  for (const { plan, invitation } of given) if (invitation !== null) keepFor(plan, invitation);
  const rest = location.hash.replace(/&invitation=[^&]*/g, "");
  history.replaceState(null, "", location.pathname + location.search + rest);
  return given.map(({ plan }) => ({ plan, invitation: keptFor(plan) }));
}

/** Whether two ids, or how they begin, are of one plan. */
export const isSamePlan = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);

/** The invitation to a plan that is kept here, whether its link named that plan alone or several. */
export function keptFor(plan: string): string | null {
  const found = kept().find((one) => isSamePlan(one.plan, plan));
  if (found) return found.invitation;
  return isAloneFor(plan) ? invitationIn(recalled("invitation") ?? "") : null;
}

/** Keep the invitation to a plan as long as the tab lives; or forget it (null). */
export function keepFor(plan: string, invitation: string | null): void {
  if (isAloneFor(plan)) keepInvitation(null);
  const others = kept().filter((one) => !isSamePlan(one.plan, plan));
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
