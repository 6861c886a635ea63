/** Says on which level of a question a report is: the first letters of a text, or a group of values. */

import type { Attribute, Plan } from "../../src/index.js";
import { h } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { localized } from "./labels.js";

/** The attributes of each question; those with levels have several. */
export function levelsOf(plan: Plan): readonly (readonly Attribute[])[] {
  const byQuestion = new Map<string, Attribute[]>();
  for (const attribute of plan.attributes) {
    const name = nameOf(attribute);
    byQuestion.set(name, [...(byQuestion.get(name) ?? []), attribute]);
  }
  return [...byQuestion.values()];
}

/** The question that an attribute is a level of, or its own name. */
export function nameOf({ name, domain }: Attribute): string {
  return domain.kind === "coarse" ? domain.question : name;
}

/** What is reported on a level. */
export function nameLevel({ domain }: Attribute): string {
  if (domain.kind !== "coarse") return t(domain.isUnlisted ? "level_whole" : "level_value");
  const [base] = domain.factors;
  if (!domain.isUnlisted) return t("level_groups", { n: domain.divisor });
  if (domain.divisor === 1) return t("level_whole");
  const bits = Math.log2(domain.k);
  const letters = base?.domain.kind === "text" ? (bits * base.domain.longest) / base.domain.bits : 0;
  return letters > 0 && Number.isInteger(letters)
    ? t("level_letters", { n: letters })
    : t("level_bits", { n: bits, all: Math.log2(base?.domain.k ?? 1) });
}

/** What a report says of a text: its hash and its bucket. */
export function sayHash(hash: {
  readonly bits: string;
  readonly bucket: number;
  readonly buckets: number;
}): HTMLElement {
  return h(
    "span",
    { class: "soft" },
    rich("hash_said", {
      hash: h("code", { class: "chip" }, hash.bits),
      all: String(hash.buckets),
      n: h("bdi", { class: "chip" }, String(hash.bucket + 1)),
    }),
  );
}

/** A group of values of a range: a bin's name, or those of two values where these are counted one by one. */
export function nameGroup(plan: Plan, { parts, domain }: Attribute, label: string): string {
  const base = parts[0] as Attribute;
  const isCounted = base.domain.kind === "range" && base.domain.unit;
  if (domain.kind !== "coarse" || !isCounted) return localized(plan, base, label);
  const [low = "", high] = label.split(" to ").map((end) => localized(plan, base, end));
  return high === undefined ? low : t("side", { low, high });
}
