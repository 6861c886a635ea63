/** Asks for text that nobody listed, or for a code: which letters there are, and what of it is reported. */

import type { Codes, FreeText } from "../../src/index.js";
import { h, quoted } from "../kit/dom.js";
import { plural, rich, t } from "../kit/messages.js";
import { sentence } from "../kit/phrases.js";
import { type About, described, type Question } from "./question.js";

/** One field, with the letters that are allowed, how many there are, and what is cut off. */
export function askText(domain: FreeText | Codes, about: About): Question {
  const { j, complaint } = about;
  const wanted =
    domain.kind === "text"
      ? t("text_of", { letters: domain.letters })
      : t("code_below", { bits: domain.bits });
  const counter = h("p", { class: "soft counter", id: `count-${j}` });
  const cut = h("p", { class: "cut", role: "status" });
  const field = h("input", {
    type: "text",
    id: `q${j}`,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    dir: "auto",
    "aria-describedby": `${described(about, true)} ${counter.id}`,
    input: () => count(),
  });
  const none = h("input", {
    type: "checkbox",
    id: `q${j}-none`,
    change: () => void (field.disabled = none.checked),
  });
  const written = (): string => field.value.trim().normalize();
  const typed = (): string => (domain.kind === "text" ? domain.fold(written()) : written()); // as it is reported
  const isCut = (text: string): boolean => domain.kind === "text" && text.length > domain.longest;
  const count = (): void => {
    if (domain.kind !== "text") return;
    counter.textContent = isCut(typed())
      ? plural("text_longest", domain.longest)
      : t("text_count", { n: typed().length, all: domain.longest });
    cut.replaceChildren(...shown(domain));
  };
  const shown = (text: FreeText): Node[] => {
    const kept = quoted(text.cutText(typed()));
    if (text.cut && isCut(typed())) return [h("span", {}, rich("text_cut", { text: kept }))];
    return typed() === written() ? [] : [h("span", {}, rich("text_folded", { text: kept }))];
  };
  count();
  const limit = domain.kind === "text" ? ` ${plural("text_longest", domain.longest)}` : "";
  return {
    element: h(
      "div",
      { class: "question" },
      h("label", { for: field.id, class: "legend" }, about.title),
      about.help,
      h("p", { class: "soft hint", id: `hint-${j}` }, sentence(wanted), limit),
      h(
        "div",
        { class: "number" },
        field,
        about.optional && h("label", { class: "choice none" }, none, h("span", {}, about.none)),
      ),
      domain.kind === "text" && counter,
      domain.kind === "text" && cut,
      complaint,
    ),
    complaint,
    fields: [field],
    wanted,
    suspect: (answer) => suspect(domain, answer),
    say: (answer) => {
      domain.code(answer, ""); // refuses what is none
      return isCut(answer)
        ? t("text_prefix", { text: (domain as FreeText).cutText(answer), n: (domain as FreeText).longest })
        : answer;
    },
    read: () => {
      if (none.checked) return null;
      return typed() === "" ? undefined : typed();
    },
  };
}

/** What is wrong with a text: it is too long, or has other letters. */
function suspect(domain: FreeText | Codes, answer: string): string {
  if (domain.kind !== "text") return "";
  if (!domain.cut && answer.length > domain.longest) return plural("text_longest", domain.longest);
  const letter = [...answer].find((sign) => !domain.alphabet.includes(sign));
  return letter === undefined ? "" : t("text_letter", { letter });
}
