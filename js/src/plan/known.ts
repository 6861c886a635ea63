/** Reads the questions whose answers the collector knows anyway: a report names the group as it is. */

import { Attribute } from "../domains/attribute.js";
import { readFactors } from "../domains/product.js";
import { InvalidReport, must, shown, sound } from "../errors.js";
import { checkedInteger } from "../mechanisms/codecs.js";
import type { Said } from "../mechanisms/mechanism.js";
import { isObject } from "../strict.js";

const MOST_GROUPS = 256; // a byte names one
const BETWEEN = " x ";

/** The groups that are known: an answer to each of the questions. */
export class Known {
  readonly size: number;

  /** @internal */
  constructor(
    /** The questions. */
    readonly attributes: readonly Attribute[],
  ) {
    const { names } = this;
    const fits = names.length > 0 && new Set(names).size === names.length;
    must(fits, "known", () => `known questions are one or more different ones, got ${shown(names)}`);
    this.size = attributes.reduce((groups, { domain }) => groups * domain.k, 1);
    must(this.size <= MOST_GROUPS, "known", () => `there are at most ${MOST_GROUPS} known groups`);
  }

  get names(): string[] {
    return this.attributes.map(({ name }) => name);
  }

  /** What the group is called in reports. */
  get name(): string {
    return this.names.join(BETWEEN);
  }

  /** @internal The group of a person: an answer to each question is there. */
  code(answers: Readonly<Record<string, unknown>>): number {
    return this.attributes.reduce(
      (group, question) => group * question.domain.k + Number(question.code(question.answer(answers))),
      0,
    );
  }

  /** A group's name. */
  label(group: number): string {
    let rest = group;
    const labels: string[] = [];
    for (const { domain } of [...this.attributes].reverse()) {
      labels.unshift(domain.label(rest % domain.k));
      rest = Math.floor(rest / domain.k);
    }
    return labels.join(BETWEEN);
  }

  /** @internal A group that the bytes of a report name. */
  read(named: unknown): number {
    try {
      return this.check(named);
    } catch (problem) {
      throw new InvalidReport("form", `${shown(this.name)}: ${(problem as Error).message}`);
    }
  }

  /** @internal The group that a JSON text names, and the rest of what it says. */
  split(said: unknown): [group: number, rest: unknown] {
    if (!isObject(said)) return [0, said];
    const { [this.name]: group, ...rest } = said;
    return [this.check(group), rest];
  }

  /** @internal What a report says of its group. */
  said(group: number): Said {
    return { attribute: this.name, supports: [this.label(group)] };
  }

  private check(data: unknown): number {
    sound(data !== undefined, "size", () => `a report of this plan names its group, ${shown(this.name)}`);
    return checkedInteger(data, 0, this.size);
  }
}

/** Reads the questions whose answers a plan knows anyway; none of them is an attribute. */
export const readKnown = (data: unknown, attributes: readonly Attribute[]): Known => {
  const known = new Known(
    readFactors(data, "known").map(
      ({ name, domain }) => new Attribute(name, domain, "refuse", false, null, null, null, null),
    ),
  );
  const taken = new Set(attributes.flatMap(({ name, questions }) => [name, ...questions]));
  const twice = [...known.names, known.name].find((name) => taken.has(name));
  must(twice === undefined, "known", () => `${shown(twice)} is known, and asked secretly, too`);
  return known;
};
