/** Says what changed since the round before. */

import type { Changed, Difference, Row } from "../kit/api.js";
import { type Child, h } from "../kit/dom.js";
import { count, NOISY, sentence } from "../kit/phrases.js";
import { figured, signed } from "./readings.js";
import { table } from "./tables.js";

/** What changed since the round before, of what is shown: rows, or the shares of people who chose each option. */
export function change(
  changed: Changed | string | null,
  name: string,
  rows: readonly Row[],
  areOptions: boolean,
): Child {
  if (!changed) return null;
  if (typeof changed === "string") return h("p", { class: "soft" }, sentence(changed));
  const points = (share: number): string => signed((100 * share).toFixed(1));
  const lines = rows.flatMap(({ attribute, value }) => {
    const match = changed.rows.findLast(
      (row) =>
        row.attribute === attribute &&
        row.kind !== "mean" &&
        (row.value === value || (areOptions && row.value === "yes")),
    );
    return match ? [lineOf(match, String(value), points)] : [];
  });
  const mean = changed.rows.find((row) => row.attribute === name && row.kind === "mean");
  if (mean) lines.push(lineOf(mean, "Mean", (figure) => figured(figure, mean)));
  const since = `Change since round ${changed.since}`;
  return h(
    "div",
    { class: "change" },
    h("h3", {}, since),
    h(
      "p",
      { class: "soft" },
      `In percentage points, or in the unit of the mean: ${changed.validity}. `,
      changed.both != null &&
        `${count(changed.both)} people did; ${count(changed.dropped ?? 0)} answered the earlier round only, ${count(changed.joined ?? 0)} the later one only. `,
      changed.caveat && sentence(changed.caveat),
    ),
    table(`${since}: ${name}`, ["Value", "Change", "From", "To"], lines),
  );
}

function lineOf(
  { noisy, difference, low, high }: Difference,
  label: string,
  format: (figure: number) => string,
): string[] {
  return [label, noisy ? NOISY : format(difference), format(low), format(high)];
}
