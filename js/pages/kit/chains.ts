/** Tells plans that continue each other apart. */

import type { Summary } from "./api.js";

/** The plans that no other one continues: of a chain, the last. */
export function lastOf<P extends Pick<Summary, "id" | "continues">>(plans: readonly P[]): readonly P[] {
  const before = new Set(plans.flatMap(({ continues }) => continues));
  return plans.filter(({ id }) => !before.has(id));
}
