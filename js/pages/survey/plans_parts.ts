/** Defines the parts of a survey of several plans, and what these promise together. */

import type { Plan, Report } from "../../src/index.js";
import { rateTogether } from "../../src/losses/protection.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { rich, t } from "../kit/messages.js";
import { likelier } from "../kit/phrases.js";
import { CLASSES, headline, largest, listGuesses, promise, promiseAgain, rated } from "./guarantee.js";
import { asking } from "./language.js";
import type { Reply } from "./question.js";
import type { Offer } from "./visit.js";

/** One plan of the survey: what is asked of it, and the report, where it is made already. */
export interface Part extends Offer {
  /** What the part is called, and the title of the study that it is of. */
  readonly title: string;
  readonly study: string;
  readonly questionNames: readonly string[];
  readonly made: Report | null;
  /** The plans of the same study that this device has answered before, and that are not asked now. */
  readonly answered: readonly Plan[];
}

/** The answers to the questions of each part. */
export type Replies = ReadonlyMap<Part, readonly Reply[]>;

/** "A and B". */
export function joined(titles: readonly string[]): Child {
  const each = [...new Set(titles)];
  return each.map((title, i) => [i > 0 && (i === each.length - 1 ? t("and") : ", "), quoted(title)]);
}

/** The parts without those that say just what others before them say. */
export function distinct(parts: readonly Part[], words: (part: Part) => unknown): Part[] {
  const said = parts.map((part) => JSON.stringify(words(part) ?? null));
  return parts.filter((_, i) => said.indexOf(said[i] as string) === i);
}

/** One part for each text that introduces a study and says who asks. */
export const introducing = (parts: readonly Part[]): Part[] =>
  distinct(parts, ({ plan: { texts } }) => [
    texts?.introduction,
    texts?.responsible,
    texts?.contact,
    texts?.privacy_notice,
  ]);

/** The promise of all parts: the sum of what they and their studies give away, and each promise below it. */
export function promises(parts: readonly Part[], isShort = false): HTMLElement {
  const plans = new Set(parts.flatMap(({ plan, answered }) => [plan, ...answered]));
  if (plans.size === 1)
    return isShort ? promiseAgain((parts[0] as Part).plan) : promise((parts[0] as Part).plan);
  const guesses = parts.flatMap(({ plan }) => listGuesses(plan).map((guess) => ({ ...guess, plan })));
  const easiest = largest(guesses);
  const { level, loss, percent } = rateTogether([...plans]);
  const isOne = new Set(parts.map(({ study }) => study)).size === 1;
  const times = likelier(loss);
  return h(
    "section",
    { class: `promise ${CLASSES[level]}`, "aria-labelledby": "together" },
    rated(level, "together"),
    headline(easiest),
    h("p", { class: "soft" }, rich("easiest", { name: asking(easiest.plan, easiest.name) })),
    easiest.again && h("p", { class: "again" }, easiest.again),
    parts.some(({ plan }) => plan.linked) && h("p", { class: "again" }, t("linked")),
    h(
      "p",
      { class: "again" },
      isOne ? t("parts_together", { times }) : t("plans_together", { n: parts.length, times }),
    ),
    h("p", { class: "again" }, t("picks", { n: percent })),
    !isShort &&
      parts.map(({ plan, title }, i) =>
        h(
          "details",
          { class: "more" },
          h("summary", { id: `part-${i}` }, quoted(title)),
          promise(plan, `-${i}`),
        ),
      ),
  );
}
