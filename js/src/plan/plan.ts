/**
 * Reads and verifies a plan: what is asked, how a record becomes a report, and what that gives away.
 *
 * A plan holds integers only. Anyone who holds it can recompute from its thresholds what it gives away, and
 * refuse.
 */

import { type Answers, type Attribute, type Missing, POLICIES, readAttribute } from "../domains/attribute.js";
import { checkedText } from "../domains/values.js";
import { InvalidParameter, InvalidValue, must, NOT_CANONICAL, shown } from "../errors.js";
import { isWhole, logUp, toNano, wholeNumber } from "../exact.js";
import { hexadecimal } from "../hexadecimal.js";
import { bestGuess } from "../losses/best_guess.js";
import type { BestGuess } from "../losses/guesses.js";
import { type Losses, type Recipe, statedLosses } from "../losses/losses.js";
import type { Together } from "../losses/together.js";
import { verifyLosses } from "../losses/verify.js";
import { isFull, type Mechanism } from "../mechanisms/mechanism.js";
import { isRepeated } from "../mechanisms/repeated.js";
import { type Code, subtle } from "../randomness/words.js";
import { readRecordMechanism } from "../records/record_json.js";
import type { Group, RecordMechanism } from "../records/records.js";
import {
  canonical,
  checkedFields,
  checkedInteger,
  checkedList,
  checkedString,
  type Fields,
  isObject,
  parseJson,
} from "../strict.js";
import { addTogether, checkChain, listOrigins, MOST_BEFORE, type Origin } from "./chain.js";
import { type Known, readKnown } from "./known.js";
import { type PlanMap, readMaps } from "./maps.js";
import { checkNear, checkQuestions, encodeAnswers } from "./questions.js";
import { readTexts, type Texts } from "./texts.js";
import { checkViews } from "./views.js";

const VERSION = 2;
const MOST_ROUNDS = 1000;

// A page must not freeze on a plan that somebody made for that.
const MOST_BYTES = 1 << 22;
const MOST_ATTRIBUTES = 4096;
const MOST_WORDS = 1 << 22;

/** A document that was found to be in its canonical form, to fit together and to say what is true. */
export class Plan implements Recipe {
  readonly title: string;
  /** How many are expected to answer. */
  readonly people: number;
  readonly missing: Missing;
  /** For how many collections the repeated losses are stated; null where people are asked once. */
  readonly rounds: number | null;
  /** In how many of the rounds a device answers, which it draws once; null for all of them. */
  readonly turns: number | null;
  /**
   * Where invitations are exchanged for tickets: the modulus of the key that signs these, in hexadecimal;
   * else null.
   */
  readonly ticketKey: string | null;
  readonly attributes: readonly Attribute[];
  /** What the survey says in the operator's own words; null where that is nothing. */
  readonly texts: Texts | null;
  /** Which questions a device asks: all, or only those that it has drawn for the report. */
  readonly ask: "all" | "sampled";
  /** Whether a report's id is its person's pseudonym, the same in every round of this plan and of no other. */
  readonly linked: boolean;
  /** What a survey draws under the cells of grids, by attribute. */
  readonly maps: Readonly<Record<string, PlanMap>>;
  /** What the collector knows anyway: a report names it as it is, outside of all losses; else null. */
  readonly known: Known | null;
  /** The losses that the plan states. */
  readonly stated: Losses;
  /** How a record becomes a report. */
  readonly mechanism: RecordMechanism;
  /** @internal The plans whose words are kept: for the record, then for each attribute. */
  readonly origins: readonly Origin[];
  private readonly hasQuestions: boolean;
  /** @internal What reports to the plans that it continues give away with its own. */
  readonly together: Together;
  private truth: Losses | undefined;

  private constructor(
    /** The SHA-256 of the canonical text without the id, in hexadecimal. */
    readonly id: string,
    /** @internal The document without its id. */
    readonly data: Fields,
    /** The plans that it continues: the first, and all that followed. */
    readonly before: readonly Plan[],
  ) {
    const key = (this.ticketKey = "ticket_key" in data ? checkedString(data.ticket_key, "ticket_key") : null);
    must(
      key === null || /^[89a-f]([0-9a-f]{2}){255,511}[13579bdf]$/.test(key),
      "ticket-key",
      () => "a ticket key is an odd modulus of 2,048 to 4,096 bits in hexadecimal",
    );
    checkedFields(data, "the plan", [
      "attributes",
      "losses",
      "mechanism",
      "missing",
      "people",
      "rounds",
      ...["ask", "continues", "known", "linked", "maps", "texts", "ticket_key", "turns"].filter(
        (name) => name in data,
      ),
      "title",
      "version",
    ]);
    this.stated = statedLosses(data.losses);
    this.title = checkedString(data.title, "title");
    if (this.title) checkedText(this.title, "a title");
    const people = checkedInteger(data.people, "people");
    this.people = wholeNumber("people", "people", people, 1, Number.MAX_SAFE_INTEGER);
    const missing = (this.missing = data.missing as Missing);
    must(
      POLICIES.includes(missing),
      "missing",
      () => `${shown(missing)} is not a policy for missing answers`,
    );
    const attributes = checkedList(data.attributes, "attributes");
    const isShort = attributes.length <= MOST_ATTRIBUTES;
    must(isShort, "attributes", () => `a plan has at most ${MOST_ATTRIBUTES} attributes`);
    this.mechanism = readRecordMechanism(data.mechanism);
    const [many, parts] = [attributes.length, this.mechanisms.length];
    must(parts === many, "parts", () => `there are ${many} attributes, but mechanisms for ${parts}`);
    this.attributes = attributes.map((attribute, j) =>
      readAttribute(attribute, missing, isFull(this.mechanisms[j] as Mechanism)),
    );
    this.hasQuestions = this.attributes.some(({ onlyIf, several, answers }) => onlyIf ?? several ?? answers);
    this.checkSizes();
    this.rounds = data.rounds === null ? null : checkedInteger(data.rounds, "rounds");
    if (this.mechanisms.some(isRepeated)) {
      wholeNumber("rounds", "rounds", data.rounds, 1, MOST_ROUNDS);
      this.refuseFresh(data.mechanism as never);
    } else must(data.rounds === null, "rounds", () => "rounds are for plans that ask again");
    this.turns = "turns" in data ? checkedTurns(data.turns, this.rounds) : null;
    this.linked = "linked" in data && checkedLinked(data.linked, this.rounds);
    checkViews(this.attributes, this.mechanism.groups);
    if (this.hasQuestions) checkQuestions(this.attributes);
    checkNear(this.attributes, this.mechanism.groups);
    this.ask = "ask" in data ? checkedAsk(data.ask, this.mechanism.groups, this.hasQuestions) : "all";
    this.maps = "maps" in data ? readMaps(data.maps, this.attributes) : {};
    this.known = "known" in data ? readKnown(data.known, this.attributes) : null;
    this.texts =
      "texts" in data ? readTexts(data.texts, this.title, this.open.concat(this.attributes)) : null;
    const plans = [...before, this];
    if (before.length) checkChain(plans);
    this.origins = listOrigins(plans);
    this.together = addTogether(plans);
  }

  /** Read and verify a document; whatever is wrong with it is refused with the reason. */
  static async fromJson(text: string): Promise<Plan> {
    const isShort = text.length <= MOST_BYTES && new TextEncoder().encode(text).length <= MOST_BYTES;
    must(isShort, "length", () => `a plan has at most ${MOST_BYTES} bytes`);
    const data = parseJson(text);
    must(isObject(data), "json", () => "a plan is a JSON object");
    const { id, ...body } = data;
    const written = canonical(body);
    must(body.version === VERSION, "version", () => wrongVersion(body.version));
    const truth = await idOf(written);
    const changed = "the plan was changed after it was made";
    must(id === truth, "id", () => `${changed}: its id is ${truth}, not ${shown(id)}`);
    const plan = new Plan(truth, body, "continues" in body ? await Plan.readBefore(body.continues) : []);
    plan.verify();
    must(
      text.trim() === canonical({ ...body, id }),
      "canonical",
      () => `the plan ${NOT_CANONICAL} (sorted keys, no spaces)`,
    );
    return plan;
  }

  /** The plans that a plan continues, each verified as it was. */
  private static async readBefore(data: unknown): Promise<readonly Plan[]> {
    const states = checkedList(data, "continues");
    const isRight = isWhole(states.length, 1, MOST_BEFORE);
    must(isRight, "continues", () => `a plan continues 1 to ${MOST_BEFORE} others, got ${states.length}`);
    const plans: Plan[] = [];
    for (const [i, state] of states.entries()) {
      must(isObject(state), "type", () => "a plan before is an object");
      const isPlain = !("id" in state || "continues" in state);
      must(isPlain, "fields", () => "a plan before has no id, and no plans before it");
      must(state.version === VERSION, "version", () => wrongVersion(state.version));
      const body = i ? { ...state, continues: states.slice(0, i) } : state;
      const plan = new Plan(await idOf(canonical(body)), body, [...plans]);
      plan.verify();
      plans.push(plan);
    }
    return plans;
  }

  /**
   * What people are asked: the attributes, but the questions of tables in their place, each once; what is
   * known comes first.
   */
  get asked(): readonly Attribute[] {
    const names = new Set<string>();
    const isNew = ({ name }: Attribute): unknown => !names.has(name) && names.add(name);
    return this.open.concat(this.attributes.flatMap(({ parts }) => parts)).filter(isNew);
  }

  /** The questions whose answers are known and sent as they are. */
  get open(): readonly Attribute[] {
    return this.known?.attributes ?? [];
  }

  /** How many reports a device makes at most, one in each of its rounds; null where people are asked once. */
  get reports(): number | null {
    return this.turns ?? this.rounds;
  }

  /** @internal The mechanisms, one per attribute. */
  get mechanisms(): readonly Mechanism[] {
    return this.mechanism.mechanisms;
  }

  /**
   * @internal How many words one record takes: the mechanism's, then one per attribute if answers may be
   * random.
   */
  get words(): number {
    const draws = this.attributes.some((attribute) => attribute.draws);
    return this.mechanism.words + (draws ? this.mechanisms.length : 0);
  }

  /** @internal What one of several reports of one person gives away, in billionths. */
  get linkedLoss(): number {
    const loss = this.mechanism.loss(({ ratio }) => logUp(ratio), true);
    return Math.max(this.stated.record, Number(toNano(loss)));
  }

  /** Recompute the losses from the integers alone; refuse a plan that leaks more than it states. */
  verify(): Losses {
    this.truth ??= verifyLosses(this, this.stated, this.together);
    return this.truth;
  }

  /**
   * How often an attacker, to whom all answers to this question were equally likely before, guesses it
   * right at most, if the other answers are known or say nothing about it. Questions that depend on each
   * other say something: of these it is a bound, by the whole report.
   */
  bestGuess(attribute: string): BestGuess {
    const question = [...this.asked, ...this.attributes].find(({ name }) => name === attribute);
    const guess = question && bestGuess(this, this.verify(), question);
    if (!guess) throw new InvalidParameter(`${shown(attribute)} is not an attribute of this plan`);
    return guess;
  }

  /**
   * @internal Answers as integers; one that is left out is missing; -1 where one is to be random, and 0 where
   * it is not asked.
   */
  encode(answers: Answers, names = this.attributes.map(({ name }) => name)): Code[] {
    if (!isObject(answers)) throw new InvalidValue(`answers are an object, got ${shown(answers)}`);
    // misspelt, it would be taken as no answer
    const drawn = new Set(names);
    const columns = this.attributes.filter(({ name }) => drawn.has(name)).flatMap(({ columns }) => columns);
    const several = this.attributes.map((attribute) => attribute.several);
    const known = new Set([...columns, ...several, ...this.open.map(({ name }) => name)]);
    const unknown = Object.keys(answers).find((name) => !known.has(name));
    if (unknown !== undefined)
      throw new InvalidParameter(`${shown(unknown)} is not asked (${shown(columns)})`);
    if (this.hasQuestions) return encodeAnswers(this.attributes, answers);
    return this.attributes.map((attribute) =>
      drawn.has(attribute.name) ? attribute.code(attribute.answer(answers)) : 0,
    );
  }

  /** Refuses answers with fresh noise in every round whose losses do not simply add up. */
  private refuseFresh(record: {
    readonly kind: string;
    readonly parts?: readonly { readonly kind: string }[];
  }): void {
    const isNear = [record, ...(record.parts ?? [])].some(({ kind }) => kind.startsWith("near-"));
    const isFaked = this.mechanism.groups.flatMap(({ size, named, real }) =>
      Array<boolean>(size).fill(!named && real < size),
    );
    const isAllowed = this.mechanisms.every(
      (part, j) =>
        isRepeated(part) || (!isFaked[j] && (!isFull(part) || this.attributes[j]?.domain.kind === "number")),
    );
    must(
      isAllowed && !isNear,
      "rounds",
      () => "metric values, text, near reports and fakes have no fresh noise beside answers that are kept",
    );
  }

  private checkSizes(): void {
    const names = new Set<string>();
    for (const [j, { name, domain, k, extras, missing, onlyIf }] of this.attributes.entries()) {
      must(!names.has(name), "names", () => `the attribute ${shown(name)} occurs twice`);
      names.add(name);
      const labels = domain.kind === "categories" ? domain.labels : [];
      const taken = extras.find((label) => labels.includes(label));
      must(taken === undefined, "no-answer", () => `${shown(name)} has a value ${shown(taken)} already`);
      const part = this.mechanisms[j] as Mechanism;
      const many = isFull(part) ? domain.k : k;
      const fits = part.k === many && !part.isUnlisted === !domain.isUnlisted;
      must(fits, "fit", () => `${shown(name)} has ${many} values, its mechanism ${part.k}`);
      const isText = domain.isUnlisted && domain.kind !== "number";
      const isValue = isFull(part) && (missing === "value" || (isText && onlyIf));
      must(
        !isValue,
        "no-answer",
        () => `${shown(name)} is a number, metric or text: no answer is not its value`,
      );
    }
    must(this.words <= MOST_WORDS, "words", () => `a report takes at most ${MOST_WORDS} words`);
  }
}

/** The id of a document whose canonical text without it this is. */
const idOf = async (text: string): Promise<string> =>
  hexadecimal(new Uint8Array(await subtle().digest("SHA-256", new TextEncoder().encode(text))));

/** Only reports of several rounds can be linked. */
const checkedLinked = (linked: unknown, rounds: number | null): true => {
  must(typeof linked === "boolean", "linked", () => `${shown(linked)} is not whether reports are linked`);
  must(linked, "canonical", () => `the plan ${NOT_CANONICAL}: reports are not linked anyway`);
  must(rounds !== null, "linked", () => "only reports of several rounds are linked");
  return true;
};

/** A device answers in some of the rounds, and not in all. */
const checkedTurns = (data: unknown, rounds: number | null): number => {
  const turns = checkedInteger(data, "turns");
  must(turns >= 1 && turns < (rounds ?? 1), "turns", () => `${turns} turns of ${rounds} rounds are not some`);
  return turns;
};

/** Only what a report names, and does not hold anyway, can be left out. */
const checkedAsk = (ask: unknown, groups: readonly Group[], isTied: boolean): "sampled" => {
  must(ask === "sampled" || ask === "all", "ask", () => `${shown(ask)} is not which questions to ask`);
  must(ask === "sampled", "canonical", () => `the plan ${NOT_CANONICAL}: all questions are asked anyway`);
  const isHidden = groups.some(({ named, real, size }) => !named && real < size);
  const isPartial = groups.some(({ named, size }) => named && named < size);
  must(!isTied, "ask", () => "questions that depend on each other are all asked");
  must(isPartial && !isHidden, "ask", () => "only questions that a report names can be asked alone");
  return ask;
};

const wrongVersion = (version: unknown): string => {
  const newer = (typeof version === "number" || typeof version === "bigint") && version > VERSION;
  const advice = newer
    ? "a newer program wrote it, so upgrade this one"
    : "make it again with `deniable plan`";
  return `this plan has version ${shown(version)}, and this program reads version ${VERSION}: ${advice}`;
};
