/** Asks for a location. The fields and the map are loaded once the first question can be seen. */

import type { Grid } from "../../src/index.js";
import type { PlanMap } from "../../src/plan/maps.js";
import { h } from "../kit/dom.js";
import { t } from "../kit/messages.js";
import { loadMore } from "./language.js";
import { framed } from "./question_frame.js";
import type { About, Question } from "./questions.js";

type LocationFields = typeof import("./location.js");

let loaded: LocationFields | null = null;
let waiting: (() => Promise<void>)[] = []; // questions that are shown without their fields

/** Load the fields of the questions that are shown; nothing is loaded where none asks for a location. */
export async function loadPlaces(): Promise<void> {
  const fill = waiting;
  waiting = [];
  await Promise.all(fill.map((one) => one()));
}

async function load(): Promise<LocationFields> {
  loaded = await loadMore(import("./location.js"), "fields");
  return loaded;
}

/** The question; `allowed` says which locations are taken. */
export function askPlace(grid: Grid, map: PlanMap | undefined, allowed: string, about: About): Question {
  const { j, complaint } = about;
  const none = about.optional ? h("input", { type: "checkbox", id: `q${j}-none` }) : null;
  const place = h("div", { class: "place" });
  const fields: HTMLInputElement[] = [];
  let asked: ReturnType<LocationFields["askLocation"]> | null = null;
  const fill = ({ askLocation, exampleOf }: LocationFields): void => {
    const example = t("paste_both", { example: exampleOf(grid) });
    const hint = h("p", { class: "soft hint", id: `hint-${j}` }, allowed, " ", example);
    asked = askLocation(grid, map, j, none, complaint, hint);
    fields.push(...(asked.fields as readonly HTMLInputElement[]));
    place.replaceChildren(asked.element);
  };
  const come = (): Promise<void> =>
    load().then(fill, () => {
      const again = h("button", { type: "button", click: () => void come() }, t("try_again"));
      place.replaceChildren(h("p", { class: "notice bad", role: "alert" }, t("unreachable")), again);
    });
  if (loaded) {
    fill(loaded); // another language keeps what was answered in the fields
  } else {
    place.append(h("p", { class: "soft loading", role: "status" }, t("map_loading")));
    waiting.push(come);
  }
  return {
    element: framed(
      about,
      "",
      place,
      none && h("label", { class: "choice none" }, none, h("span", {}, about.none)),
    ),
    complaint,
    fields,
    say: (answer) => asked?.say(answer) ?? answer,
    suspect: (answer) => asked?.suspect?.(answer) ?? "",
    read: () => (asked ? asked.read() : none?.checked ? null : undefined),
  };
}
