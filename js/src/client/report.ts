/** Writes and reads reports: one byte string and one JSON text each. Any other form is refused. */

import { InvalidReport, NOT_CANONICAL, type Reason, shown, sound } from "../errors.js";
import { isWhole } from "../exact.js";
import { fromHexadecimal, hexadecimal } from "../hexadecimal.js";
import { checkedFields, readInteger, writeInteger } from "../mechanisms/codecs.js";
import type { Codec, Mechanism, Part, Said } from "../mechanisms/mechanism.js";
import type { Plan } from "../plan/plan.js";
import type { Bytes } from "../randomness/words.js";
import type { Parts } from "../records/records.js";
import { byCodePoint, isObject, parseJson } from "../strict.js";

const VERSION = 1;
const PREFIX = 8; // bytes of the plan's id
const ID = 16;
const HEADER = 1 + PREFIX + 4 + ID;

/** One person's report for one round of a plan. */
export class Report {
  /** The canonical bytes. */
  readonly bytes: Bytes;

  /** @internal */
  constructor(
    private readonly plan: Plan,
    readonly round: number,
    private readonly name: Uint8Array,
    private readonly parts: Parts,
    /** The known group; 0 where none is. */
    private readonly group: number,
  ) {
    this.bytes = toBytes(plan, round, name, parts, group);
  }

  /** @internal What follows the header. */
  get body(): Bytes {
    return this.bytes.slice(HEADER);
  }

  /** The report's id, in hexadecimal: a report that is sent twice is counted once. */
  get id(): string {
    return hexadecimal(this.name);
  }

  /** The canonical JSON text. */
  get json(): string {
    const { known } = this.plan;
    const said = [...(known ? [[known.name, this.group] as const] : []), ...this.reported]
      .sort(([a], [b]) => byCodePoint(a, b))
      .map(([name, part]) => `${JSON.stringify(name)}:${JSON.stringify(part)}`);
    const header = `{"id":"${this.id}","plan":"${prefix(this.plan)}","report":{`;
    return `${header}${said.join(",")}},"round":${this.round},"version":${VERSION}}`;
  }

  /** What the report says, attribute by attribute, in labels. */
  get readable(): readonly Said[] {
    const { known } = this.plan;
    const said = this.reported.map(([attribute, part, j]) => {
      const label = (code: number): string => this.plan.attributes[j]?.label(code) as string;
      const mechanism = this.plan.mechanisms[j] as Mechanism;
      const labels = mechanism.say?.(part, label) ?? { supports: supported(mechanism, part).map(label) };
      return { attribute, ...labels };
    });
    return known ? [known.said(this.group), ...said] : said;
  }

  private get reported(): [name: string, part: Part, attribute: number][] {
    return this.plan.attributes.flatMap(({ name }, j) => {
      const part = this.parts[j];
      return part === undefined ? [] : [[name, part, j]];
    });
  }
}

/** A report from its bytes; what is not canonical is refused with a reason. */
export const fromBytes = (plan: Plan, bytes: Uint8Array): Report => {
  sound(
    bytes.length >= HEADER,
    "malformed",
    () => `a report has at least ${HEADER} bytes, got ${bytes.length}`,
  );
  const made = hexadecimal(bytes.subarray(1, 1 + PREFIX));
  const round = checkedHeader(plan, bytes[0], made, readInteger(4, bytes, 1 + PREFIX));
  const body = bytes.subarray(HEADER);
  checkLength(plan, body.length);
  const named = namedBytes(plan);
  const group = plan.known?.read(body[0]) ?? 0;
  const parts = fromBody(plan, body.subarray(named));
  return new Report(plan, round, bytes.slice(HEADER - ID, HEADER), parts, group);
};

/** A report from its JSON text; what is not canonical is refused with a reason. */
export const fromJson = (plan: Plan, text: string): Report => {
  const {
    id,
    plan: made,
    report,
    round: number,
    version,
  } = checkedFields(parseJson(text), "id,plan,report,round,version");
  const round = checkedHeader(plan, version, checkedHexadecimal(made, PREFIX), number);
  const name = fromHexadecimal(checkedHexadecimal(id, ID));
  const [group, said] = plan.known?.split(report) ?? [0, report];
  const decoded = new Report(plan, round, name, fromSaid(plan, said), group);
  sound(decoded.json === text, "form", () => `the report ${NOT_CANONICAL}`);
  return decoded;
};

/** A report from its bytes or its JSON text. */
export const decode = (plan: Plan, report: Uint8Array | string): Report =>
  typeof report === "string" ? fromJson(plan, report) : fromBytes(plan, report);

/** The round of a report of this version, for this plan. */
const checkedHeader = (plan: Plan, version: unknown, made: string, round: unknown): number => {
  const rounds = plan.rounds ?? 1;
  sound(
    version === VERSION,
    "version",
    () => `this is a report of version ${shown(version)}; only ${VERSION} is known`,
  );
  sound(
    made === prefix(plan),
    "plan",
    () => `the report was made for plan ${made}..., this plan is ${prefix(plan)}...`,
  );
  sound(Number.isInteger(round), "malformed", () => `round must be a number, got ${shown(round)}`);
  sound(
    isWhole(round, 1, rounds),
    "round",
    () => `the report is of round ${round}; the plan has 1 to ${rounds}`,
  );
  return round as number;
};

const toBytes = (plan: Plan, round: number, name: Uint8Array, parts: Parts, group: number): Bytes => {
  const { groups } = plan.mechanism;
  const start = HEADER + namedBytes(plan);
  const names = groups.reduce((sum, { size, named }) => sum + named * widthOf(size), start);
  const bytes = new Uint8Array(
    parts.reduce<number>((sum, part, j) => sum + (part === undefined ? 0 : codecOf(plan, j).size), names),
  );
  bytes.set([VERSION, ...fromHexadecimal(prefix(plan))]);
  writeInteger(round, 4, bytes, 1 + PREFIX);
  bytes.set(name, HEADER - ID);
  if (plan.known) bytes[HEADER] = group;
  let [at, first] = [start, 0];
  for (const { size, named } of groups) {
    const width = widthOf(size);
    let index = at;
    at += named * width;
    for (let j = first; j < first + size; j++) {
      const part = parts[j];
      if (part === undefined) continue;
      if (named) writeInteger(j - first, width, bytes, index);
      index += width;
      const { size: length, write } = codecOf(plan, j);
      write(part, bytes, at);
      at += length;
    }
    first += size;
  }
  return bytes;
};

const checkLength = (plan: Plan, length: number): void => {
  const [least, most] = lengthsOf(plan).map((length) => length + namedBytes(plan)) as [number, number];
  sound(
    length >= least && length <= most,
    "size",
    () => `a report of this plan has ${least} to ${most} bytes after its header, got ${length}`,
  );
};

/** How many bytes name the known group. */
const namedBytes = ({ known }: Plan): number => (known ? 1 : 0);

const fromBody = (plan: Plan, body: Uint8Array): Parts => {
  const starts: (number | undefined)[] = [];
  let at = 0;
  for (const { size, named } of plan.mechanism.groups) {
    const [width, first, index] = [widthOf(size), starts.length, at];
    at += named * width;
    const positions = Array.from({ length: named || size }, (_, i) =>
      named ? readInteger(width, body, index + i * width) : i,
    );
    const ascends = positions.every((j, i) => j < size && (!i || j > (positions[i - 1] as number)));
    sound(ascends, "form", () => "a report's attributes must ascend");
    starts.length += size;
    for (const j of positions) {
      starts[first + j] = at;
      at += codecOf(plan, first + j).size;
    }
  }
  sound(
    body.length === at,
    "form",
    () => `such a report has ${at} bytes after its header, got ${body.length}`,
  );
  return checkedMarks(
    plan,
    Array.from(starts, (start, j) =>
      start === undefined ? undefined : about(plan, j, codecOf(plan, j).read(body, start), "form"),
    ),
  );
};

/** Parts of which each is canonical; together, no more and no fewer may say yes than a near report does. */
const checkedMarks = (plan: Plan, parts: Parts): Parts => {
  let first = 0;
  for (const { size, marked } of plan.mechanism.groups) {
    const yes = parts.slice(first, (first += size)).filter((part) => part === 0).length;
    const fits = !marked || (yes >= marked[0] && yes <= marked[1]);
    sound(fits, "form", () => `a report names ${marked?.join(" to ")} options, got ${yes}`);
  }
  return parts;
};

/** How many bytes a report of a plan has after its header: at least, and at most. */
const lengthsOf = (plan: Plan): [least: number, most: number] => {
  let [least, most, first] = [0, 0, 0];
  for (const { size, named } of plan.mechanism.groups) {
    const sizes = Array.from({ length: size }, (_, j) => codecOf(plan, first + j).size).sort((a, b) => a - b);
    const [names, count] = [named * widthOf(size), named || size];
    least += sizes.slice(0, count).reduce((sum, bytes) => sum + bytes, names);
    most += sizes.slice(size - count).reduce((sum, bytes) => sum + bytes, names);
    first += size;
  }
  return [least, most];
};

const fromSaid = (plan: Plan, said: unknown): Parts => {
  sound(isObject(said), "malformed", () => "report must be an object, a field per attribute");
  const names = plan.attributes.map(({ name }) => name);
  const known = new Set(names);
  for (const name of Object.keys(said))
    sound(known.has(name), "form", () => `${shown(name)} is not an attribute of this plan`);
  let first = 0;
  for (const { size, named } of plan.mechanism.groups) {
    const group = names.slice(first, (first += size));
    const [wanted, present] = [named || size, group.filter((name) => Object.hasOwn(said, name)).length];
    sound(
      present === wanted,
      "size",
      () => `a report of this plan holds ${wanted} of ${shown(group)}, got ${present}`,
    );
  }
  return checkedMarks(
    plan,
    plan.attributes.map(({ name }, j) =>
      Object.hasOwn(said, name) ? about(plan, j, said[name]) : undefined,
    ),
  );
};

/** What is said about one attribute, checked; its name is put before what is refused. */
const about = (plan: Plan, j: number, said: unknown, reason?: Reason): Part => {
  try {
    return codecOf(plan, j).check(said);
  } catch (problem) {
    const { reason: usual, message } = problem as InvalidReport;
    throw new InvalidReport(reason ?? usual, `${shown(plan.attributes[j]?.name)}: ${message}`);
  }
};

/** The values that a part supports, in order. */
const supported = (mechanism: Mechanism, part: Part): readonly number[] => {
  if (mechanism.supports)
    return [...Array(mechanism.k).keys()].filter((value) => mechanism.supports?.(part, value));
  return typeof part === "number" ? [mechanism.stands?.(part) ?? part] : (part as readonly number[]);
};

const checkedHexadecimal = (data: unknown, size: number): string => {
  const isRight = typeof data === "string" && data.length === 2 * size && /^[0-9a-f]*$/.test(data);
  sound(isRight, "malformed", () => `plan and id have ${2 * size} digits of lower-case hexadecimal`);
  return data as string;
};

const prefix = (plan: Plan): string => plan.id.slice(0, 2 * PREFIX);

/** How many bytes name one of these attributes. */
const widthOf = (attributes: number): number => (attributes <= 256 ? 1 : 2);

const codecOf = (plan: Plan, j: number): Codec => (plan.mechanisms[j] as Mechanism).codec;
