/** Defines values with names. */

import { InvalidValue, must, shown } from "../errors.js";
import { checkedFields, checkedList, checkedString } from "../strict.js";
import { checkedText, checkedValues, isMissing, labelOf, NO_ANSWER, type Values } from "./values.js";

const SHOWN = 8;

/** Values with names and no order that matters. Numbers and booleans are known by their text. */
export class Categories implements Values {
  readonly kind = "categories";
  readonly k: number;
  private readonly codes: ReadonlyMap<string, number>;

  constructor(readonly labels: readonly string[]) {
    const codes = new Map<string, number>();
    for (const [code, label] of labels.entries()) {
      const isNew = !codes.has(checkedText(label, "a label"));
      must(
        isNew,
        "labels",
        () => `the label ${shown(label)} occurs twice; every value needs a name of its own`,
      );
      must(label === label.normalize(), "canonical", () => `the label ${shown(label)} is not in NFC`);
      codes.set(label, code);
    }
    must(labels.length > 1, "labels", () => `an attribute needs two values, got ${labels.length}`);
    checkedValues(labels.length);
    this.codes = codes;
    this.k = labels.length;
  }

  label(code: number): string {
    return this.labels[code] as string;
  }

  code(answer: unknown, name: string): number {
    if (isMissing(answer)) return NO_ANSWER;
    const code = this.codes.get(labelOf(answer));
    if (code !== undefined) return code;
    const more = this.k > SHOWN ? `, and ${this.k - SHOWN} more` : "";
    throw new InvalidValue(
      `${shown(answer)} is not a value of ${shown(name)} (${this.labels.slice(0, SHOWN).join(", ")}${more})`,
    );
  }
}

/** Reads categories from a plan. */
export const readCategories = (data: unknown): Categories => {
  const { labels } = checkedFields(data, "categories", ["kind", "labels"]);
  return new Categories(checkedList(labels, "labels").map((label) => checkedString(label, "a label")));
};
