/** Computes what a report gives away about one answer, which may be several attributes. */

import type { Attribute } from "../domains/attribute.js";
import { logUp, type Ratio, toNano } from "../exact.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import type { Losses, Recipe } from "./losses.js";

const MOST_JOINED = 256; // questions of several attributes, whose losses are computed one by one

/** The attributes that an answer to each question can change: its own, and all that depend on these. */
const listChanged = (attributes: readonly Attribute[]): Map<string, Set<string>> => {
  const changedBy = new Map<string, Set<string>>();
  for (const { name, questions } of attributes)
    for (const question of questions)
      changedBy.set(question, (changedBy.get(question) ?? new Set()).add(name));
  for (const changed of changedBy.values())
    for (const before of changed)
      for (const { name, onlyIf } of attributes) if (onlyIf?.name === before) changed.add(name);
  return changedBy;
};

/** The loss of an answer, at most, in billionths of a nat; null where each answer changes one attribute only. */
export const answerLoss = (
  { attributes, mechanism }: Recipe,
  { record, attribute }: Losses,
): number | null => {
  const joined = [...listChanged(attributes).values()].filter(({ size }) => size > 1);
  if (!joined.length) return null;
  if (joined.length > MOST_JOINED) return record;
  const among = (names: ReadonlySet<string>): number => {
    const inside = new Set(mechanism.mechanisms.filter((_, j) => names.has(attributes[j]?.name ?? "")));
    const of = (part: Mechanism): bigint => (inside.has(part) ? logUp(part.ratio as Ratio) : 0n);
    return Number(toNano(mechanism.loss(of)));
  };
  return Math.max(attribute, ...joined.map(among));
};
