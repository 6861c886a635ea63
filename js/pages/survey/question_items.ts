/** Lists what people are asked, page by page: a question may be several attributes, or apply only to some. */

import type { Attribute, Plan } from "../../src/index.js";

const MOST = 6; // questions of a page, unless the plan names its pages

/** One question. */
export interface Item {
  readonly name: string;
  /** The question's attribute, or its options. */
  readonly attributes: readonly Attribute[];
  /** The question's number among all that is asked. */
  readonly j: number;
  /** Whether people may give no answer. */
  readonly optional: boolean;
  /** To whom it applies: people with one of these answers to another question. */
  readonly onlyIf: { readonly name: string; readonly values: readonly string[] } | null;
}

/** The questions of each page. */
export function pagesOf(plan: Plan): Item[][] {
  const { attributes } = plan;
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const items = new Map<string, Item>();
  for (const [j, question] of plan.asked.entries()) {
    const name = question.several ?? question.name;
    if (question.answers !== null || items.has(name)) continue;
    const options = attributes.filter(({ several }) => several === question.several);
    const before = question.onlyIf && byName.get(question.onlyIf.name);
    // whether it is answered is asked with the question itself
    const isAnswered = before?.answers === question.name;
    const optional = isAnswered || question.missing !== "refuse";
    const condition = isAnswered ? before.onlyIf : question.onlyIf;
    const parent = condition && byName.get(condition.name);
    const onlyIf = parent?.several
      ? { name: parent.several, values: [parent.option] }
      : condition && { name: condition.name, values: condition.values };
    items.set(name, {
      name,
      attributes: question.several === null ? [question] : options,
      j,
      optional,
      onlyIf,
    });
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
