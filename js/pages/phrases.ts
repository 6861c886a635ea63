/** Puts numbers into words; rounding never says less than is true. */

/** A loss in billionths of a nat, as people read it. */
export function loss(nano: number | null): string {
  return nano === null ? "no limit" : String(Math.ceil(nano / 1e6 - 1e-6) / 1e3);
}

/** How much likelier a report may be from one person than from another. */
export function likelier(nano: number | null): string {
  if (nano === null) return "any number of times";
  const times = Math.exp(nano / 1e9);
  if (times >= 1e6) return "more than a million times";
  const unit = 10 ** Math.max(0, 2 - Math.floor(Math.log10(times)));
  return `${count(Math.ceil(times * unit - 1e-6) / unit)} times`;
}

/** The same as a bound. */
export function atMost(nano: number | null): string {
  const times = likelier(nano);
  return /^\d/.test(times) ? `at most ${times}` : times;
}

export function count(number: number): string {
  return number.toLocaleString("en");
}

/** "1 report", "2 reports". */
export function several(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}

/** "both rounds", "all 3 rounds". */
export function allRounds(rounds: number | null): string {
  return rounds === 2 ? "both rounds" : `all ${rounds} rounds`;
}

/** A sentence: with a capital and a full stop. */
export function sentence(text: string): string {
  const ended = /[.!?…]$/.test(text) ? text : `${text}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}

export function moment(text: string): string {
  return new Date(text).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}

export function titleOf(title: string, id: string): string {
  return title || `Study ${id.slice(0, 8)}…`;
}
