/** Shows the sliders for epsilon and people, and what else holds for the whole study. */

import { h } from "../kit/dom.js";
import { count } from "../kit/phrases.js";
import { FOLLOWS } from "./asking.js";
import {
  asValue,
  type Draft,
  howOften,
  type Keys,
  type Language,
  readField,
  readText,
  tableOf,
  writeText,
} from "./draft.js";
import { area, figure, line, select, tick } from "./fields.js";
import { otherTexts, showFirst, showLanguage } from "./languages.js";

const STEPS = 200;
const LIMITS = { epsilon: [0.05, 10], people: [50, 1_000_000] } as const;
type Scale = keyof typeof LIMITS;

/** Where a number is on a logarithmic slider, and back; rounded as people write it. */
function position(scale: Scale, value: number): number {
  const [low, high] = LIMITS[scale];
  return Math.round((STEPS * Math.log(Math.min(high, Math.max(low, value)) / low)) / Math.log(high / low));
}

function valueAt(scale: Scale, at: number): number {
  const [low, high] = LIMITS[scale];
  return Number((low * (high / low) ** (at / STEPS)).toPrecision(2));
}

/** A slider, and a field for the same number. */
function slider(
  scale: Scale,
  label: string,
  hint: string,
  value: number,
  changed: (value: number) => void,
): HTMLElement {
  const shown = (number: number): string =>
    scale === "people" ? `${count(number)} people` : `epsilon ${number}`;
  const range = h("input", {
    type: "range",
    id: `${scale}-slider`,
    min: 0,
    max: STEPS,
    value: position(scale, value),
    "aria-label": `${label}, as a slider`,
    "aria-valuetext": shown(value),
  });
  const field = figure({ id: scale, label, hint }, String(value), (text) => {
    const number = asValue(text.replace(scale === "people" ? /[,_ ]/g : /^$/, ""), undefined);
    range.value = String(position(scale, typeof number === "number" ? number : value));
    range.setAttribute("aria-valuetext", shown(Number(number)));
    changed((number ?? Number.NaN) as number);
  });
  range.addEventListener("input", () => {
    const number = valueAt(scale, Number(range.value));
    (field.querySelector("input") as HTMLInputElement).value = String(number);
    range.setAttribute("aria-valuetext", shown(number));
    changed(number);
  });
  return h("div", { class: "slider" }, field, range);
}

export interface Settings {
  readonly draft: Draft;
  budget: number;
  language(): Language;
  /** Write texts in this language; null for the first one. */
  write(language: string | null): void;
  changed(): void;
}

/**
 * How often people are asked. Where some questions are asked again, the study has epsilons for them, and the section
 * follows when the first of them is so, or the last one is no more.
 */
function settleRepeat(section: HTMLElement, settings: Settings): ReturnType<typeof howOften> {
  const { draft } = settings;
  if (section.dataset.often === "some" && howOften(draft) === "again") delete draft.study.repeat;
  const often = howOften(draft);
  if (often === "some" && !("repeat" in draft.study))
    draft.study.repeat = { epsilon_first: settings.budget / 2, epsilon_forever: settings.budget };
  section.dataset.often = often;
  if (!section.classList.contains(FOLLOWS)) {
    section.classList.add(FOLLOWS);
    section.addEventListener("refresh", () => {
      if (section.dataset.often !== howOften(draft)) showBudget(section, settings);
    });
  }
  return often;
}

/** People and budget. */
export function showBudget(section: HTMLElement, settings: Settings): void {
  const { draft, changed } = settings;
  const { study } = draft;
  const often = settleRepeat(section, settings);
  const set = (keys: Keys, key: string, text: string): void => {
    const value = asValue(text, undefined);
    if (value === undefined) delete keys[key];
    else keys[key] = value;
    changed();
  };
  const repeat = tableOf(study, "repeat");
  const again = (value: string): void => {
    if (value === "some") return;
    section.dataset.often = value;
    for (const { keys } of draft.questions) delete keys.repeat;
    if (value === "once") delete study.repeat;
    else {
      study.repeat = { epsilon_first: settings.budget, epsilon_forever: 2 * settings.budget, rounds: 10 };
      delete study.epsilon;
    }
    showBudget(section, settings);
    document.getElementById("asked")?.focus();
    changed();
  };
  const several = (key: string, label: string, hint: string): HTMLElement =>
    figure({ id: key, label, hint }, readField(repeat[key]), (text) => set(repeat, key, text));
  const option = (key: string, label: string, options: Record<string, string>, usual: string): HTMLElement =>
    select({ id: key, label }, options, readField(study[key]) || usual, (value) => {
      if (value === usual) delete study[key];
      else study[key] = value;
      changed();
    });
  section.replaceChildren(
    h("h2", {}, "People and budget"),
    slider("people", "People who will answer", "", draft.people, (value) => {
      draft.people = value;
      changed();
    }),
    ...(often === "again"
      ? []
      : [
          slider(
            "epsilon",
            often === "some" ? "Epsilon of what is asked once" : "Epsilon of one report",
            "Smaller hides more, and errs more.",
            settings.budget,
            (value) => {
              settings.budget = value;
              changed();
            },
          ),
        ]),
    ...(often === "once"
      ? []
      : [
          several(
            "epsilon_first",
            `Epsilon of one report${often === "some" ? " of what is asked again" : ""}`,
            "",
          ),
          several(
            "epsilon_forever",
            "Epsilon of any number of reports",
            "Of an answer that does not change.",
          ),
          ...(often === "again" ? [several("rounds", "Rounds", "")] : []),
          several("turns", "Rounds in which each device answers", "All unless given. Each draws its own."),
          tick(
            "linked",
            "Link the reports of each person: changes are known better, and you see in which rounds a person answered",
            repeat.linked === true,
            (on) => {
              if (on) repeat.linked = true;
              else delete repeat.linked;
              changed();
            },
          ),
        ]),
    h(
      "details",
      { class: "more" },
      h("summary", {}, "More about the budget"),
      h(
        "div",
        { class: "fields" },
        select(
          { id: "asked", label: "People are asked" },
          {
            once: "Once",
            again: "Again and again",
            ...(often === "some" ? { some: "Some questions again, others once" } : {}),
          },
          often,
          again,
        ),
        option(
          "per",
          "Epsilon is about",
          { record: "All answers together", attribute: "One answer" },
          "record",
        ),
        option(
          "missing",
          "Who does not answer a question",
          { refuse: "Cannot send", value: "Gives “no answer”", random: "Sends a random answer" },
          "refuse",
        ),
        option(
          "mechanism",
          "A report holds",
          {
            "": "What errs least",
            split: "All answers",
            sample: "One answer, sampled",
            faked: "One answer, and fake ones",
            near: "Options or yes/no answers together, near the truth",
          },
          "",
        ),
      ),
    ),
    h("p", { class: "complaint", id: "study-complaint" }),
  );
}

const TEXTS: readonly (readonly [string, string, number, string])[] = [
  ["introduction", "Introduction", 4, "An empty line begins a paragraph."],
  ["responsible", "Who is responsible", 2, ""],
  ["contact", "How to reach you", 1, "An address, or a link that begins with https:// or mailto:."],
  ["privacy_notice", "Link to a privacy notice", 1, "It begins with https:// or mailto:."],
  ["thanks", "Thanks, after the report was sent", 2, ""],
];

/** The title and what the survey says. */
export function showTexts(section: HTMLElement, settings: Settings): void {
  const { draft, language, changed } = settings;
  const { study } = draft;
  const title = readText(study, "title", language());
  const survey = tableOf(study, "survey");
  const keep = (): void => {
    if (Object.keys(survey).length) study.survey = survey;
    else delete study.survey;
    changed();
  };
  const text = ([key, label, rows, hint]: (typeof TEXTS)[number]): HTMLElement => {
    const wording = readText(survey, key, language());
    const about = { id: key, label, wide: true, hint: otherTexts(wording, language(), hint) };
    const set = (words: string): void => {
      writeText(survey, key, language(), words);
      keep();
    };
    return rows > 1 ? area(about, wording.text, rows, set) : line(about, wording.text, set);
  };
  const consent =
    survey.consent === true ? { text: "", first: "", others: [] } : readText(survey, "consent", language());
  const about = {
    id: "consent",
    label: "Consent that must be given",
    hint: otherTexts(consent, language()),
  };
  const consentField = area(about, consent.text, 3, (words) => {
    writeText(survey, "consent", language(), words);
    keep();
  });
  consentField.hidden = survey.consent === true;
  const generated = tick("consent-made", "Write the consent from the plan", survey.consent === true, (on) => {
    consentField.hidden = on;
    if (on) survey.consent = true;
    else delete survey.consent;
    (consentField.querySelector("textarea") as HTMLTextAreaElement).value = "";
    keep();
  });
  const asking = select(
    { id: "ask", label: "Each person is asked", wide: true },
    { all: "All questions", sampled: "Only what the report will hold, where it holds some answers" },
    readField(survey.ask) || "all",
    (value) => {
      if (value === "all") delete survey.ask;
      else survey.ask = value;
      keep();
    },
  );
  const first = showFirst(draft, language(), (code) => {
    if (code === "en") delete survey.language;
    else survey.language = code;
    keep();
    section.replaceChildren(); // the switch names the first language
    settings.write(null);
    section.querySelector("details")?.setAttribute("open", "");
    document.getElementById("language")?.focus();
  });
  const isOpen = section.querySelector("details")?.open ?? false;
  const all = section.querySelector<HTMLElement>(".all-texts") ?? h("div", { class: "all-texts" });
  if (!all.isConnected) {
    // once, since whoever types the name of a language in it goes on typing
    section.replaceChildren(
      h("h2", { class: "unseen" }, "Title and texts"),
      showLanguage(draft, language(), settings.write),
      all,
    );
  }
  all.replaceChildren(
    line(
      {
        id: "title",
        label: "Title",
        wide: true,
        hint: otherTexts(title, language()),
      },
      title.text,
      (words) => {
        writeText(study, "title", language(), words);
        changed();
      },
    ),
    h(
      "details",
      { class: "more", open: isOpen },
      h("summary", {}, "What the survey says"),
      h(
        "div",
        { class: "fields" },
        TEXTS.map(text),
        h("div", { class: "wide" }, generated),
        consentField,
        asking,
        first,
      ),
    ),
  );
}
