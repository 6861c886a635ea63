/** Shows what stays on the device and what leaves it. */

import type { Attribute, Plan, Report, Said } from "../src/index.js";
import { perUnit } from "./distances.js";
import { h, quoted } from "./dom.js";
import type { Given } from "./questions.js";

const MOST = 12;

/** The two cards. Without answers they were given before, and nobody has kept them. */
export function cards(plan: Plan, report: Report, given: readonly Given[] | null, sent = false): HTMLElement {
  return h(
    "div",
    { class: "cards" },
    stays(given),
    leaves(plan, report, sent ? "Left this device" : "Leaves this device"),
  );
}

function stays(given: readonly Given[] | null): HTMLElement {
  return h(
    "section",
    { class: "card stays", "aria-labelledby": "stays" },
    h("h3", { id: "stays" }, given ? "Stays on this device" : "Never left this device"),
    given
      ? h(
          "dl",
          {},
          given.map(({ name, shown }) => [h("dt", {}, quoted(name)), h("dd", {}, quoted(shown))]),
        )
      : h("p", {}, "Your answers. This device made the report from them and then deleted them."),
    given && h("p", { class: "soft" }, "Your answers. They are deleted when you leave this page."),
  );
}

function leaves(plan: Plan, report: Report, title: string): HTMLElement {
  const said = new Map(report.readable.map((one) => [one.attribute, one]));
  return h(
    "section",
    { class: "card leaves", "aria-labelledby": "leaves" },
    h("h3", { id: "leaves" }, title),
    h(
      "dl",
      {},
      plan.attributes.map((one) => [
        h("dt", {}, quoted(one.name)),
        h("dd", {}, spoken(said.get(one.name), one, perUnit(plan, one.name) !== undefined)),
      ]),
    ),
    h(
      "p",
      { class: "soft" },
      "A random report. What it points to may or may not be your answer: nobody can be sure, and you can deny it.",
      plan.stated.metric &&
        " Where answers can be near each other, this holds for answers near yours. The report can rule out answers far from yours.",
    ),
    bytesOf(report.bytes),
  );
}

function spoken(said: Said | undefined, { domain }: Attribute, moved: boolean): HTMLElement {
  if (!said) return h("span", { class: "soft" }, "not drawn, and not in the report");
  const { supports, about } = said;
  if (domain.kind === "number")
    return h(
      "span",
      { class: "said" },
      h("span", { class: "soft" }, "stands for "),
      h("bdi", { class: "chip" }, signed(Number(supports[0]))),
      h("span", { class: "soft" }, ", which is correct only on average over many people"),
    );
  const single = domain.kind === "range" && domain.step === 1 && domain.digits === 0;
  const plain = (label: string): string => (single ? label.replace(/^(-?\d+) to under -?\d+$/, "$1") : label);
  if (!supports.length)
    return h(
      "span",
      { class: "soft" },
      about ? `points to none of ${about.length} answers` : "points to no answer",
    );
  const more = supports.length - MOST;
  return h(
    "span",
    { class: "said" },
    h(
      "span",
      { class: "soft" },
      `${moved ? "was moved at random to" : "points to"} ${domain.kind === "grid" ? "the cell " : ""}`,
    ),
    supports
      .slice(0, MOST)
      .map((label, i) => [
        i > 0 && h("span", { class: "soft" }, " or "),
        h("bdi", { class: "chip" }, plain(label)),
      ]),
    more > 0 && h("span", { class: "soft" }, ` or ${more} more`),
  );
}

function signed(number: number): string {
  return number.toLocaleString("en", { maximumFractionDigits: 20 }).replace("-", "−");
}

/** The bytes themselves. */
export function bytesOf(bytes: Uint8Array | string): HTMLElement {
  const text =
    typeof bytes === "string"
      ? bytes
      : Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return h(
    "details",
    { class: "bytes" },
    h("summary", {}, `All ${text.length / 2} bytes`),
    h("code", {}, text.replace(/../g, "$& ").trim()),
  );
}
