/** Says estimates in words: a number, where the true one is, and whether it can be read. */

import type { Mean, Quantile, Row } from "../kit/api.js";
import { count, loss, NOISY } from "../kit/phrases.js";

const NEAR = 1000; // billionths of a nat

/** A written number with a true minus; what is rounded to zero has none. */
export function signed(number: string): string {
  return number.replace(/^-(?=[0.]*$)/, "").replace("-", "−");
}

/**
 * A loss in billionths of a nat, rounded up to thousandths. Less than a millionth above one of them does not
 * count, as it does not where Python writes a plan in one line.
 */
export function roundLoss(nano: number | null): string {
  if (nano === null) return loss(null);
  const whole = Math.round(nano / 1e6) * 1e6;
  return loss(Math.abs(nano - whole) < NEAR ? whole : nano);
}

/** A loss with all nine decimals that a plan states. */
export function exactLoss(nano: number | null): string {
  return nano === null ? loss(null) : count(nano / 1e9);
}

export function percent(share: number, digits = 1): string {
  return `${signed((100 * share).toFixed(digits))} %`;
}

/** What was done to an unbiased share that is far from the one that is shown; nothing where it is near. */
export function moved({ moved_from: from }: { readonly moved_from?: number | null }): string {
  if (from == null) return "";
  const rounded = signed(count(Number((100 * from).toPrecision(3))));
  return `${from < 0 || from > 1 ? "cut" : "moved"} from ${rounded} %`;
}

/** A share and where the true one is: intervals are not symmetric, so that both ends are said. */
export function within({ share, low, high, noisy }: Row): string {
  if (noisy) return `${NOISY} (${percent(low, 0).replace(" %", "")} to ${percent(high, 0)})`;
  return `${percent(share)} (${percent(low).replace(" %", "")} to ${percent(high).replace(" %", "")})`;
}

/** A number with as many digits as its error leaves; four digits have no comma, as years have none. */
export function figured(number: number, { low, high }: { low: number; high: number }): string {
  const digits = Math.max(0, Math.min(9, Math.ceil(1.5 - Math.log10(Math.max((high - low) / 2, 1e-9)))));
  return signed(
    number.toLocaleString("en", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      useGrouping: Math.abs(number) >= 10_000,
    }),
  );
}

/** A median and where the true one is, of a scale by its points; an open end is infinitely far out. */
export function inside({ quantile, low, high, noisy, label, low_label, high_label }: Quantile): string {
  if (label) return `${noisy ? NOISY : label} (${low_label} to ${high_label})`;
  const text = (number: number | null): string => {
    if (number === null) return "beyond the open end";
    if (low === null || high === null) return signed(count(Number(number.toPrecision(4))));
    return figured(number, { low, high });
  };
  return `${noisy ? NOISY : text(quantile)} (${text(low)} to ${text(high)})`;
}

/** A mean and where the true one is. */
export function around(estimate: Mean): string {
  if (estimate.noisy)
    return `${NOISY} (${figured(estimate.low, estimate)} to ${figured(estimate.high, estimate)})`;
  const from = estimate.moved_from ?? null;
  const cut = from === null ? "" : `, cut from ${figured(from, estimate)}`;
  return `${figured(estimate.mean, estimate)} (${figured(estimate.low, estimate)} to ${figured(estimate.high, estimate)})${cut}`;
}

/** What comes on top of a mean's interval, in the words of `deniable estimate`. */
export function besides({ within }: Mean): string {
  return within
    ? `, and up to ${Number(within.toPrecision(6))} more either way, since answers are counted in bins`
    : "";
}

export function spoken(row: Row): string {
  const ends = `from ${percent(row.low)} to ${percent(row.high)}`;
  const beside = row.noisy ? "" : moved(row);
  return `${row.value} ${row.noisy ? NOISY : percent(row.share)}, ${ends}${beside && `, ${beside}`}`;
}
