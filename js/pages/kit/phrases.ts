/** Puts numbers into words; rounding never says less than is true. */

import type { Plan } from "../../src/index.js";
import { count, t } from "./messages.js";

export { count, moment } from "./messages.js";

/** What is said in place of an estimate whose error is larger than what it tells. */
export const NOISY = "too noisy to read";

/** A loss in billionths of a nat, as people read it. */
export function loss(nano: number | null): string {
  return nano === null ? t("no_limit") : count(Math.max(0, Math.ceil(nano / 1e6 - 1e-6)) / 1e3);
}

/** How much likelier a report may be from one person than from another. */
export function likelier(nano: number | null): string {
  if (nano === null) return t("times_any");
  const times = Math.exp(nano / 1e9);
  if (times >= 1e6) return t("times_million");
  const unit = 10 ** Math.max(0, 2 - Math.floor(Math.log10(times)));
  return t("times", { n: Math.ceil(times * unit - 1e-6) / unit });
}

/** How much likelier a report may be from one person than from another, as a bound. */
export function atMost(nano: number | null): string {
  const times = likelier(nano);
  return /^\d/.test(times) ? t("at_most", { times }) : times;
}

/** How often something happens, in words that do not say less. */
export function often(chance: number): string {
  const times = Math.floor(1 / chance);
  if (chance < 0.01 || (times > 1 && 1 / times <= 1.02 * chance)) return t("once_in", { n: times });
  return t("times_in_100", { n: Math.ceil(100 * chance) });
}

/** "1 report", "2 reports", on the dashboard. */
export function several(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}

/** "both rounds", "all 3 rounds", or all of a plan and of those that it continues. */
export function roundsOf({ reports, before }: Pick<Plan, "reports" | "before">): string {
  const n = [...before, { reports }].reduce((sum, plan) => sum + (plan.reports ?? 1), 0);
  if (before.length) return t("continued_rounds", { n });
  return n === 2 ? t("both_rounds") : t("all_rounds", { n });
}

/** A sentence: with a capital and a full stop. */
export function sentence(text: string): string {
  const ended = /[.!?…]$/.test(text) ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}

export function titleOf(title: string, id: string): string {
  return title || t("study", { id: id.slice(0, 8) });
}
