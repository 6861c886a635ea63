/** Lists the rounds, and lets operators open and close them. */

import type { Participation } from "../kit/api.js";
import { type Child, find, h } from "../kit/dom.js";
import { count, moment } from "../kit/phrases.js";
import { counted } from "./panels.js";
import type { View } from "./results.js";
import { table } from "./tables.js";

/** Ask before a round is closed. */
function closing(number: number, close: () => void): void {
  const leave = (): void => {
    dialog.close();
    dialog.remove();
  };
  const sure = (): void => {
    leave();
    close();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "close-title", "aria-describedby": "close-text", close: () => dialog.remove() },
    h("h2", { id: "close-title" }, `Close round ${number}?`),
    h(
      "p",
      { id: "close-text" },
      "After that, the collector refuses its reports, including those that people have made but not sent yet. You can open it again.",
    ),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "bad", click: sure }, "Close it"),
      h("button", { type: "button", click: leave }, "Leave it open"),
    ),
  );
  find("board").append(dialog);
  dialog.showModal();
}

/** Who answered a round and the one before it, person by person. */
const answeredAgain = (participation: readonly Participation[]): Child => [
  h("h3", {}, "Who answered again"),
  table(
    "Who answered again",
    ["Rounds", "Both", "Dropped", "Joined"],
    participation.map(({ since, round, both, dropped, joined }) => [
      `${since}, ${round}`,
      ...[both, dropped, joined].map(counted),
    ]),
  ),
];

/** How many invitations are unused, and how to remind these people; only operators read it. */
function showUnused({ counters, plan }: View): Child {
  const unused = counters?.unused.get(plan.id);
  if (unused === undefined) return null;
  const command = "deniable tokens plan.json --reminders invitations.csv --letters reminders.html";
  return h(
    "details",
    {},
    h("summary", { "data-name": "unused" }, `Invitations not used yet: ${count(unused)}`),
    h(
      "p",
      { class: "soft" },
      "A shell on this machine writes letters to remind these people, from the file that the invitations were written to. It tells who has not answered, so it is logged, and no page does it:",
    ),
    h("p", {}, h("code", {}, command)),
  );
}

/** Open and close rounds. */
export function rounds(view: View, set: (number: number, open: boolean) => void): Child {
  const operates = view.access.role === "operator";
  const most = view.plan.rounds ?? 1;
  const known = view.rounds.map(({ number }) => number);
  const next = Math.max(0, ...known) + 1;
  const open = view.rounds.filter((round) => round.open).map(({ number }) => number);
  const change = (number: number, opening: boolean): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        click: () => (opening ? set(number, true) : closing(number, () => set(number, false))),
        "data-name": `round-${number}`,
        "aria-label": `${opening ? "Open" : "Close"} round ${number}`,
      },
      opening ? "Open" : "Close",
    );
  const timed = view.rounds.some(({ opens, closes }) => opens ?? closes);
  const lines = view.rounds.map(({ number, opens, closes, open: now }, i): Child[] => [
    String(number),
    h("span", { class: now ? "state open" : "state" }, now ? "Open" : "Closed"),
    counted(view.counts[i] ?? null),
    ...(operates ? [change(number, !now)] : []),
    ...(timed ? [[opens && `from ${moment(opens)} `, closes && `until ${moment(closes)}`]] : []),
  ]);
  return [
    h("h2", {}, "Rounds"),
    table(
      "Rounds",
      ["Round", "Now", "Reports", ...(operates ? ["Change"] : []), ...(timed ? ["When"] : [])],
      lines,
    ),
    open.length > 1 &&
      h(
        "p",
        { class: "soft" },
        `Rounds ${open.join(" and ")} are open at the same time. The survey offers each device the newest one that it has not answered.`,
      ),
    showUnused(view),
    operates &&
      next <= most &&
      h(
        "p",
        {},
        h(
          "button",
          { type: "button", click: () => set(next, true), "data-name": "next" },
          `Open round ${next}`,
        ),
      ),
    view.participation.length > 0 && answeredAgain(view.participation),
  ];
}
