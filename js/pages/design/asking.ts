/** Says of whom a question is asked, what a missing answer means, and how many people will answer it. */

import { h } from "../kit/dom.js";
import {
  asValue,
  type Draft,
  howOften,
  importanceOf,
  kindOf,
  type Question,
  readField,
  tableOf,
  type Value,
} from "./draft.js";
import { figure, select, tick } from "./fields.js";

/** Elements that follow other questions: they are told of every change. */
export const FOLLOWS = "follows";
const ROUNDS = 4; // of a question that is asked again, at first

/** The answers of a question on which another can depend; null where there are too many to name. */
function answersOf(question: Question | undefined): readonly Value[] | null {
  if (!question) return null;
  const { values, several } = question.keys;
  const kind = kindOf(question.keys);
  if (kind === "several") return Array.isArray(several) ? several : [];
  if (kind !== "choice" && kind !== "yesno") return null;
  return Array.isArray(values) ? values : ["yes", "no"];
}

const said = (value: Value): string => (value === true ? "yes" : value === false ? "no" : readField(value));

/** Asks who is asked a question: everybody, or people with certain answers to an earlier one. */
export function showCondition(
  { questions }: Draft,
  { id, keys }: Question,
  i: number,
  changed: () => void,
): HTMLElement {
  const place = h("div", { class: `wide ${FOLLOWS}` });
  const condition = (): [string, Value[]] => {
    const [[name, wanted] = ["", []]] = Object.entries(tableOf(keys, "only_if"));
    return [name, Array.isArray(wanted) ? [...wanted] : [wanted as Value]];
  };
  const set = (name: string, values: readonly Value[]): void => {
    if (name === "") delete keys.only_if;
    else keys.only_if = { [name]: values.length === 1 ? (values[0] as Value) : values };
    changed();
  };
  const looked = (): string => {
    const before = questions
      .slice(0, i)
      .map((question) => [question.name, question.keys.known, answersOf(question)]);
    return JSON.stringify([before, condition()[0]]);
  };
  let drawn = "";
  const draw = (): void => {
    drawn = looked();
    const [other, wanted] = condition();
    const before = questions
      .slice(0, i)
      .filter(({ name, keys }) => name !== "" && keys.known !== true)
      .filter((question) => answersOf(question) !== null);
    const names = [...new Set([...before.map(({ name }) => name), other])].filter((name) => name !== "");
    place.hidden = names.length === 0;
    const parent = questions.slice(0, i).find(({ name }) => name === other);
    const isOne = parent !== undefined && kindOf(parent.keys) === "several";
    const known = answersOf(parent) ?? [];
    const lost = wanted.filter((value) => said(value) !== "" && !known.map(said).includes(said(value)));
    const all = [...known, ...lost];
    const chosen = new Set(wanted.map(said));
    const box = (value: Value, j: number): HTMLElement =>
      tick(`q${id}-only_if-${j}`, said(value), chosen.has(said(value)), (on) => {
        if (on && isOne) chosen.clear();
        if (on) chosen.add(said(value));
        else chosen.delete(said(value));
        set(
          other,
          all.filter((value) => chosen.has(said(value))),
        );
        if (!isOne) return;
        draw();
        document.getElementById(`q${id}-only_if-${j}`)?.focus();
      });
    place.replaceChildren(
      select(
        { id: `q${id}-only_if`, label: "Asked of" },
        {
          "": "Everybody",
          ...Object.fromEntries(names.map((name) => [name, `Those who gave “${name}” …`])),
        },
        other,
        (name) => {
          set(name, []);
          draw();
          document.getElementById(`q${id}-only_if`)?.focus();
        },
      ),
      ...(other === ""
        ? []
        : [
            h(
              "fieldset",
              { class: "boxes" },
              h("legend", {}, isOne ? "… this answer" : "… one of these answers"),
              all.map(box),
            ),
          ]),
    );
  };
  place.addEventListener("refresh", () => {
    if (looked() !== drawn) draw();
  });
  draw();
  return place;
}

export function showMissing({ id, keys }: Question, changed: () => void): HTMLElement {
  const policy =
    keys.missing === true ? "value" : keys.missing === false ? "refuse" : readField(keys.missing);
  return select(
    { id: `q${id}-missing`, label: "Who does not answer" },
    {
      "": "As for all questions",
      refuse: "Cannot send",
      value: "“Prefers not to say”",
      random: "Sends a random answer",
    },
    policy,
    (value) => {
      if (value === "") delete keys.missing;
      else keys.missing = value;
      changed();
    },
  );
}

/** Whether the answer is known anyway, and so is sent as it is; then it has no importance. */
export function showKnown(draft: Draft, question: Question, changed: () => void): HTMLElement {
  const { id, keys } = question;
  const label = "You know it of each person anyway: it is sent as it is, and not hidden";
  return tick(`q${id}-known`, label, keys.known === true, (on) => {
    if (on) {
      keys.known = true;
      const [weights, key] = importanceOf(draft, question);
      delete weights[key];
      (document.getElementById(`q${id}-importance`) as HTMLInputElement).value = "";
    } else delete keys.known;
    changed();
  });
}

/** Whether the question is asked again beside others that are asked once, and in how many rounds. */
export function showRepeat(draft: Draft, { id, keys }: Question, changed: () => void): HTMLElement {
  const repeated = (): Question[] => draft.questions.filter(({ keys }) => "repeat" in keys);
  const rounds = figure(
    { id: `q${id}-repeat`, label: "Rounds", hint: "The same for all questions that are asked again." },
    readField(keys.repeat),
    (text) => {
      const value = asValue(text, undefined) ?? "";
      for (const question of repeated()) question.keys.repeat = value;
      changed();
    },
  );
  const box = tick(`q${id}-again`, "Ask it again, such as every week", "repeat" in keys, (on) => {
    if (on) keys.repeat = repeated()[0]?.keys.repeat ?? ROUNDS;
    else delete keys.repeat;
    changed();
  });
  const place = h("div", { class: `wide ${FOLLOWS}` }, box, rounds);
  const follow = (): void => {
    const field = rounds.querySelector("input") as HTMLInputElement;
    if (field !== document.activeElement) field.value = readField(keys.repeat);
    rounds.hidden = !("repeat" in keys);
    place.hidden = howOften(draft) === "again" || (keys.known === true && rounds.hidden);
  };
  place.addEventListener("refresh", follow);
  follow();
  return place;
}

/** The share of people who will answer; only of a question that some may not answer. */
export function showAnswered({ study }: Draft, { id, keys }: Question, changed: () => void): HTMLElement {
  const place = figure(
    {
      id: `q${id}-answered`,
      label: "Share of people who will answer",
      hint: "0.4 is 40 % of all. Margins take it that everybody does, unless this is given.",
    },
    readField(keys.answered),
    (text) => {
      const [, hundredths] = /^\s*([\d.]+)\s*%\s*$/.exec(text) ?? [];
      const share = hundredths === undefined ? text : String(Number((Number(hundredths) / 100).toFixed(9)));
      const value = asValue(share, keys.answered);
      if (value === undefined) delete keys.answered;
      else keys.answered = value;
      changed();
    },
  );
  const follow = (): void => {
    const mayLack = "only_if" in keys || ["value", true].includes((keys.missing ?? study.missing) as string);
    place.hidden = !mayLack && !("answered" in keys);
  };
  place.classList.add(FOLLOWS);
  place.addEventListener("refresh", follow);
  follow();
  return place;
}
