/** Says what comes next: the commands of this study, and what is downloaded for them. */

import { h } from "../kit/dom.js";
import { FOLLOWS } from "./asking.js";
import { type Draft, howOften, readField, tableOf } from "./draft.js";
import { button, figure, line } from "./fields.js";

const MOST_LETTERS = 10_000;

/** What the panel works with. */
export interface Coming {
  readonly file: string;
  readonly draft: Draft;
  /** Give the plan, the notebook and so many letters, which lead to this address; none without one. */
  download(url: string, letters: number): Promise<void>;
}

/** A step in words, and its commands. */
export type Step = readonly [string, ...string[]];

/** What is done in the shell, from the file that is downloaded to results. */
export function listSteps({ file, draft }: Pick<Coming, "file" | "draft">, url: string): Step[] {
  const folder = file.replace(/\.toml$/, "");
  const isKnown = draft.questions.some(({ keys }) => keys.known === true);
  // what is asked once and what is asked again are two plans
  const files = howOften(draft) === "some" ? ["plan.json", "plan-repeated.json"] : ["plan.json"];
  const plans = files.join(" ");
  const estimates = files.map((plan) => `deniable estimate ${plan} --from sqlite:///reports.db`);
  const unpacked: Step = ["Unpack what was downloaded.", `unzip ${folder}.zip && cd ${folder}`];
  const serve: readonly Step[] = url
    ? [
        [
          "Let the invitations of the letters in; before, no code works. Then print letters.html in a browser.",
          `deniable tokens ${plans} --register invitations.csv`,
        ],
        [
          "Serve the survey, and the dashboard for you, at that address. It must be reached by HTTPS.",
          `deniable serve ${plans} --invited --url ${url}`,
        ],
      ]
    : [
        [
          "Serve the survey, and the dashboard for you. Anybody who has the address can answer.",
          `deniable serve ${plans}`,
        ],
      ];
  const results: Step = isKnown
    ? [
        "Look at results: at /dashboard, with the token in operator.token; in study.ipynb; or here. weights.csv has the sizes of the groups that you know, in the columns question, answer, size.",
        ...estimates,
        ...estimates.map((estimate) => `${estimate} --weights weights.csv`),
      ]
    : [
        "Look at results: at /dashboard, with the token in operator.token; in study.ipynb; or here.",
        ...estimates,
      ];
  return [unpacked, ...serve, results];
}

/** The panel; its commands follow the study. */
export function showNext(section: HTMLElement, coming: Coming): void {
  const { draft, download } = coming;
  let url = "";
  let letters: number | null = null; // as many as people, unless somebody writes another number
  const steps = h("ol", { class: "steps" });
  const silent = h("p", { class: "soft" });
  const usual = (): number => Math.min(MOST_LETTERS, draft.people || 1);
  const number = figure(
    { id: "letters", label: "Letters", hint: `At most ${MOST_LETTERS.toLocaleString("en")}.` },
    String(usual()),
    (text) => {
      letters = Number(text);
    },
  );
  const draw = (): void => {
    number.hidden = url === "";
    if (letters === null) (number.querySelector("input") as HTMLInputElement).value = String(usual());
    const sender = readField(tableOf(draft.study, "survey").responsible);
    silent.textContent =
      url && !sender
        ? "The letters will not say who asks: write who is responsible, in the texts above."
        : "";
    steps.replaceChildren(
      ...listSteps(coming, url).map(([words, ...commands]) =>
        h("li", {}, h("p", {}, words), h("pre", {}, commands.join("\n"))),
      ),
    );
  };
  section.classList.add(FOLLOWS);
  section.addEventListener("refresh", draw);
  section.append(
    h("h2", {}, "What comes next"),
    h(
      "p",
      {},
      "Download the plan and a notebook of this study, which runs before anybody has answered. With the survey’s address, there are letters with codes, too. What is not saved is saved first.",
    ),
    h(
      "div",
      { class: "fields joining" },
      line(
        {
          id: "url",
          label: "The survey’s address",
          hint: "Where people will open it, such as https://survey.example.org. Empty: no letters.",
        },
        url,
        (text) => {
          url = text.trim();
          draw();
        },
      ),
      number,
    ),
    silent,
    button("Download", () => void download(url, letters ?? usual()), {
      id: "download",
      class: "main",
    }),
    steps,
  );
  draw();
}
