/** Lists what people are asked, page by page: a question may be several attributes, or apply only to some. */

import type { Attribute, Plan } from "../../src/index.js";

const MOST = 6; // questions of a page, unless the plan names its pages

/** One question. */
export interface Item {
  readonly name: string;
  /** Its attribute, or its options. */
  readonly attributes: readonly Attribute[];
  /** Its number among all that is asked. */
  readonly j: number;
  /** Whether people may give no answer. */
  readonly optional: boolean;
  /** To whom it applies: people with one of these answers to another question. */
  readonly onlyIf: { readonly name: string; readonly values: readonly string[] } | null;
}

/** The questions of each page. */
export function pagesOf(plan: Plan): Item[][] {
  const { attributes } = plan;
  const about = new Map(attributes.map((one) => [one.name, one]));
  const items = new Map<string, Item>();
  for (const [j, one] of plan.asked.entries()) {
    const name = one.several ?? one.name;
    if (one.answers !== null || items.has(name)) continue;
    const asked = one.several === null ? [one] : attributes.filter((each) => each.several === one.several);
    const before = one.onlyIf && about.get(one.onlyIf.name);
    // whether it is answered is asked with the question itself
    const isAnswered = before?.answers === one.name;
    const optional = isAnswered || one.missing !== "refuse";
    const condition = isAnswered ? before.onlyIf : one.onlyIf;
    const parent = condition && about.get(condition.name);
    const onlyIf = parent?.several
      ? { name: parent.several, values: [parent.option] }
      : condition && { name: condition.name, values: condition.values };
    items.set(name, { name, attributes: asked, j, optional, onlyIf });
  }
  const named = plan.texts?.pages?.map((page) => page.map((name) => items.get(name) as Item));
  return named ?? divide([...items.values()]);
}

/** Pages of about the same length, where there are more questions than a page holds. */
function divide(items: readonly Item[]): Item[][] {
  const pages = Math.ceil(items.length / MOST);
  const start = (page: number): number => Math.floor((items.length * page) / pages);
  return Array.from({ length: pages }, (_, page) => items.slice(start(page), start(page + 1)));
}

/** Whether a plan has questions of a kind that is loaded on demand. */
export function hasRareQuestions(plan: Plan): boolean {
  return (
    pagesOf(plan).length > 1 ||
    plan.asked.some(
      ({ several, onlyIf, domain }) => several ?? onlyIf ?? (domain.kind === "range" && domain.unit),
    )
  );
}

/** Whether a plan asks for text or codes, or has levels: their field, and words for guesses, are loaded on demand. */
export function hasText(plan: Plan): boolean {
  return plan.attributes.some(({ domain: { kind } }) => /text|co[ad]/.test(kind));
}
