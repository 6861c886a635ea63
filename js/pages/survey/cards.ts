/** Shows what stays on the device and what leaves it. */

import type { Attribute, Plan, Report, Said } from "../../src/index.js";
import { perUnit } from "../kit/distances.js";
import { type Child, h, quoted } from "../kit/dom.js";
import { count, rich, t } from "../kit/messages.js";
import { localized } from "./labels.js";
import { asking } from "./language.js";
import { levelsOf, nameGroup, nameLevel, sayHash } from "./levels.js";
import type { Reply } from "./question.js";

const MOST = 12;
const HEADER = 29; // bytes before those of the answers

/** The two cards. Without answers they were given before, and nobody has kept them. A page with several has keys. */
export function cards(
  plan: Plan,
  report: Report,
  replies: readonly Reply[] | null,
  sent = false,
  key = "",
): HTMLElement {
  const left = leaves(plan, report, t(sent ? "left" : "leaves"), key);
  return h("div", { class: "cards" }, stays(plan, replies, key), left);
}

/** The headings that name a card: its own and, among several, that of the study. */
const named = (id: string, key: string): string => (key ? `${id}${key} part${key}` : id);

function stays(plan: Plan, replies: readonly Reply[] | null, key: string): HTMLElement {
  return h(
    "section",
    { class: "card stays", "aria-labelledby": named("stays", key) },
    h("h3", { id: `stays${key}` }, t(replies ? "stays" : "stayed")),
    replies
      ? answersOf(
          plan,
          replies.filter(({ name }) => !plan.known?.names.includes(name)),
        )
      : h("p", {}, t("stayed_hint")),
    replies && h("p", { class: "soft" }, t("stays_hint")),
  );
}

/** The answers next to their questions. */
export function answersOf(plan: Plan, replies: readonly Reply[], edit?: (name: string) => void): HTMLElement {
  const line = ({ name, shown, isKnown, note }: Reply): HTMLElement[] => {
    const question = asking(plan, name);
    const label = `${t("change_one")}: ${question.textContent}`;
    const back =
      edit &&
      !isKnown &&
      h(
        "button",
        { type: "button", class: "link", "aria-label": label, click: () => edit(name) },
        t("change_one"),
      );
    return [
      h("dt", {}, question, back),
      h("dd", {}, h("bdi", {}, shown), note && [" ", soft("other_noted", { note: quoted(note) })]),
    ];
  };
  return h("dl", {}, replies.map(line));
}

function leaves(plan: Plan, report: Report, title: string, key: string): HTMLElement {
  const said = new Map(report.readable.map((part) => [part.attribute, part]));
  return h(
    "section",
    { class: "card leaves", "aria-labelledby": named("leaves", key) },
    h("h3", { id: `leaves${key}` }, title),
    h(
      "dl",
      {},
      plan.known && [
        h(
          "dt",
          {},
          plan.known.attributes.map(({ name }, i) => [i > 0 && " × ", asking(plan, name)]),
        ),
        h(
          "dd",
          {},
          t("known_sent"),
          h("bdi", { class: "chip" }, said.get(plan.known.name)?.supports[0] ?? ""),
        ),
      ],
      levelsOf(plan).map((levels) => {
        const level = levels.find(({ name }) => said.has(name)) ?? (levels[0] as Attribute);
        const drawn = levels.length > 1 && said.has(level.name);
        return [
          h(
            "dt",
            {},
            level.parts.map(({ name }, i) => [i > 0 && " × ", asking(plan, name)]),
          ),
          h(
            "dd",
            {},
            drawn && [soft("level_drawn", { level: nameLevel(level) }), " "],
            spoken(plan, said.get(level.name), level),
          ),
        ];
      }),
    ),
    h("p", { class: "soft" }, t("leaves_hint"), plan.stated.metric && ` ${t("leaves_metric")}`),
    bytesOf(report.bytes),
  );
}

function spoken(plan: Plan, said: Said | undefined, attribute: Attribute): HTMLElement {
  if (!said) return h("span", { class: "soft" }, t("not_drawn"));
  const { domain, name } = attribute;
  const moved = perUnit(plan, name) !== undefined;
  const { supports, about, hash } = said;
  if (hash) return sayHash(hash);
  if (domain.kind === "number")
    return h(
      "span",
      { class: "said" },
      soft("stands_for", { number: h("bdi", { class: "chip" }, signed(Number(supports[0]))) }),
    );
  const single = domain.kind === "range" && domain.step === 1 && domain.digits === 0;
  const plain = (label: string): string => {
    if (domain.kind === "coarse") return nameGroup(plan, attribute, label);
    if (domain.kind !== "product")
      return localized(plan, attribute, single ? label.replace(/^(-?\d+) to under -?\d+$/, "$1") : label);
    if (attribute.extras.includes(label)) return localized(plan, attribute.parts[0] as Attribute, label);
    const codes = domain.split(attribute.labels.indexOf(label));
    return attribute.parts
      .map((part, i) => localized(plan, part, part.label(codes[i] as number)))
      .join(" × ");
  };
  if (!supports.length)
    return h("span", { class: "soft" }, about ? t("points_none_of", { n: about.length }) : t("points_none"));
  const more = supports.length - MOST;
  return h(
    "span",
    { class: "said" },
    soft(domain.kind === "grid" ? (moved ? "moved_cell" : "points_cell") : moved ? "moved_to" : "points_to", {
      answers: [
        supports
          .slice(0, MOST)
          .map((label, i) => [i > 0 && t("or"), h("bdi", { class: "chip" }, plain(label))]),
        more > 0 && t("or_more", { n: more }),
      ],
    }),
  );
}

function signed(number: number): string {
  return count(number).replace("-", "−");
}

/** A message in a softer color, but for the chips in it. */
function soft(key: Parameters<typeof rich>[0], values: Parameters<typeof rich>[1]): HTMLElement {
  return h("span", { class: "soft" }, rich(key, values) as Child);
}

/** The bytes themselves. */
export function bytesOf(bytes: Uint8Array | string): HTMLElement {
  const text =
    typeof bytes === "string"
      ? bytes
      : Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const n = text.length / 2;
  return h(
    "details",
    { class: "bytes" },
    h("summary", {}, t("all_bytes", { n, header: HEADER, body: n - HEADER })),
    h("code", {}, text.replace(/../g, "$& ").trim()),
  );
}
