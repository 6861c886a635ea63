/** Makes the tables of the dashboard. */

import { type Child, h, quoted } from "../kit/dom.js";

export function table(
  caption: string,
  heads: readonly string[],
  lines: readonly (readonly Child[])[],
): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((head) => h("th", { scope: "col" }, head)),
        ),
      ),
      h(
        "tbody",
        {},
        lines.map(([first, ...rest]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, typeof first === "string" ? quoted(first) : first),
            rest.map((cell) => h("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}
