/** Puts into words what is promised about metric answers; nothing here says less than is true. */

import type { Plan } from "../../src/index.js";
import { t } from "./messages.js";
import { atMost, count, likelier } from "./phrases.js";

const CLOSE = 0.7; // a loss at which the one is at most about twice as likely
const FAR = 2.5; // about twelve times

/** How far apart two answers are, and what a report loses about them at most: in billionths. */
interface Apart {
  readonly words: string;
  readonly loss: number;
}

/** The loss per unit that a plan states of an attribute; none where it is not metric. */
export function perUnit(
  plan: Plan,
  name: string,
): { readonly unit: "step" | "kilometer"; readonly loss: number } | undefined {
  return plan.verify().metric?.units.find((unit) => unit.name === name);
}

/** What two answers apart by a unit lose, by what name. */
export function unitName(plan: Plan, name: string): string {
  const domain = plan.attributes.find((attribute) => attribute.name === name)?.domain;
  return domain?.kind === "range" ? `per ${count(domain.step / 10 ** domain.digits)} in` : "per kilometer in";
}

/** What a report reveals about people near you, about some farther away, and in the worst case. */
export interface ByDistance {
  readonly name: string;
  readonly near: string;
  readonly worst: string;
  /** The loss in the worst case, in billionths. */
  readonly loss: number;
}

/** In sentences; null where it is not metric. */
export function byDistance(plan: Plan, name: string): ByDistance | null {
  const unit = perUnit(plan, name);
  if (!unit) return null;
  const j = plan.attributes.findIndex((attribute) => attribute.name === name);
  const domain = plan.attributes[j]?.domain;
  const nats = unit.loss / 1e9;
  const apart: Apart[] = [];
  if (domain?.kind === "range") {
    const step = domain.step / 10 ** domain.digits;
    const far = nice(FAR / nats);
    for (const steps of far > 1 && far < domain.bins ? [1, far] : [1])
      apart.push({
        words: t("off_by", { n: Number((steps * step).toPrecision(12)) }),
        loss: steps * unit.loss,
      });
  } else {
    for (const limit of [CLOSE, FAR]) {
      const kilometers = nice(limit / nats);
      const words = kilometers < 1 ? `${count(Math.round(kilometers * 1000))} m` : `${count(kilometers)} km`;
      apart.push({ words: t("away", { n: words }), loss: kilometers * unit.loss });
    }
  }
  const [first, ...more] = apart as [Apart, ...Apart[]];
  const others = more
    .map(({ words, loss }) => t("near_other", { apart: words, times: likelier(loss) }))
    .join("");
  const [n, d] = plan.mechanism.ratios[j] as readonly [bigint, bigint];
  const loss = Math.ceil(Math.log(Number(n) / Number(d)) * 1e9) + 1;
  const whom = t(domain?.kind === "grid" ? "whom_area" : "whom_answer");
  const near = { times: likelier(first.loss), apart: first.words, others };
  return {
    name,
    near: t(first.loss <= CLOSE * 1e9 ? "near_hidden" : "near", near),
    worst: t(loss > FAR * 1e9 ? "worst_far" : "worst", { times: atMost(loss), whom }),
    loss,
  };
}

/** The largest of 1, 2, 5, 10, 20, 50 and so on that is not above this, fractions of them too. */
function nice(limit: number): number {
  const power = 10 ** Math.floor(Math.log10(limit));
  const first = [5, 2, 1].find((digit) => digit * power <= limit * (1 + 1e-9)) ?? 1;
  return Number((first * power).toPrecision(1));
}
