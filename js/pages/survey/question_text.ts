/** Asks for text that nobody listed, or for a code: which letters there are, and what of it is reported. */

import type { BestGuess, Codes, Domain, FreeText } from "../../src/index.js";
import { h, quoted } from "../kit/dom.js";
import { type Messages, plural, rich, speak, spoken, t } from "../kit/messages.js";
import { sentence } from "../kit/phrases.js";
import type { About, Question } from "./questions.js";

type Catalog = () => Promise<Readonly<Record<string, Messages>>>;

/** The messages that only such fields have. */
const CATALOGS: Readonly<Record<string, Catalog>> = {
  en: () => import("../kit/messages/en_texts.js"),
  de: () => import("../kit/messages/de_texts.js"),
  fr: () => import("../kit/messages/fr_texts.js"),
  es: () => import("../kit/messages/es_texts.js"),
  pt: () => import("../kit/messages/pt_texts.js"),
};

/** Speak of text, in the language that is spoken. */
export async function speakTexts(): Promise<void> {
  const { catalog, tag } = spoken();
  const found = await CATALOGS[document.documentElement.lang]?.();
  speak(Object.assign({}, catalog, ...Object.values({ ...found })), tag);
}

/** What is guessed: which of two texts it is, or in which group of values; empty for other answers. */
export function nameGuess({ kind }: Domain, { groups }: BestGuess): string {
  if (groups) return t("guess_groups", { n: groups });
  return kind === "text" || kind === "code" ? t("guess_two") : "";
}

/** One field, with the letters that are allowed, how many there are, and what is cut off. */
export function askText(domain: Domain, about: About): Question | undefined {
  return domain.kind === "text" || domain.kind === "code" ? ask(domain, about) : undefined;
}

function ask(domain: FreeText | Codes, about: About): Question {
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
    "aria-describedby": [about.help && `help-${j}`, `hint-${j}`, counter.id, complaint.id]
      .filter(Boolean)
      .join(" "),
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
  const letter = [...answer].find((one) => !domain.alphabet.includes(one));
  return letter === undefined ? "" : t("text_letter", { letter });
}
