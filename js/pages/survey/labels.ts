/** Names values in the person's language. */

import type { Attribute, Plan } from "../../src/index.js";
import { count, month, spoken, t } from "../kit/messages.js";
import { labelsOf } from "./language.js";

/** A value's name in the person's language. */
export function localized(plan: Plan, attribute: Attribute, label: string): string {
  const { name, domain } = attribute;
  if (attribute.onlyIf && label === "not applicable") return t("not_applicable");
  if (attribute.several ?? attribute.answers) return label === "yes" || label === "no" ? t(label) : nothing();
  if (domain.kind === "range" && domain.unit && attribute.labels.indexOf(label) < domain.k)
    return counted(domain.unit, label);
  if (domain.kind === "categories") {
    const code = domain.labels.indexOf(label);
    return code < 0 ? nothing() : (labelsOf(plan, name)?.[code] ?? label);
  }
  if (domain.kind === "grid" && !attribute.extras.includes(label)) return cellName(label);
  if (domain.kind !== "range") return label;
  const number = (text: string): string => count(Number(text));
  const [, low, high] = /^(-?[\d.]+) to under (-?[\d.]+)$/.exec(label) ?? [];
  if (low && high) return t("bin", { low: number(low), high: number(high) });
  const [, end] = /^under (-?[\d.]+)$/.exec(label) ?? [];
  if (end) return t("bin_under", { high: number(end) });
  const [, start] = /^(-?[\d.]+) or more$/.exec(label) ?? [];
  if (start) return t("bin_more", { low: number(start) });
  return /^-?[\d.]+$/.test(label) ? number(label) : nothing();
}

/** A cell by its sides in degrees, as the locale writes them. */
export function cellName(label: string): string {
  const names = t("directions").split(" ");
  const named = (letter = ""): string => names["NSEW".indexOf(letter)] ?? "";
  const side = (text: string): string => {
    const [, low = "", lowSide, high = "", highSide] =
      /^([\d.]+)( [NSEW])? to ([\d.]+) ([NSEW])$/.exec(text) ?? [];
    const from = lowSide ? `${degrees(low)} ${named(lowSide.trim())}` : degrees(low);
    return t("side", { low: from, high: `${degrees(high)} ${named(highSide)}` });
  };
  const [latitude = "", longitude = ""] = label.split(", ");
  return t("sides", { latitude: side(latitude), longitude: side(longitude) });
}

/** A number of degrees with all its digits. */
export function degrees(text: string): string {
  const digits = text.split(".")[1]?.length ?? 0;
  return Number(text).toLocaleString(spoken().tag, { minimumFractionDigits: digits });
}

/** A whole number, month or year as the locale writes it. */
function counted(unit: string, label: string): string {
  if (unit === "year") return label;
  return unit === "month" ? month(label) : count(Number(label)).replace("-", "−");
}

/** The value of those who do not answer, as it stands among others. */
function nothing(): string {
  const words = t("no_answer");
  return words.charAt(0).toLowerCase() + words.slice(1);
}
