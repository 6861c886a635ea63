/** Defines one question of the survey: its fields, what they say, and where to complain. */

import { type Child, h } from "../kit/dom.js";

/** An answer as the client takes it, and as the person reads it. */
export interface Reply {
  readonly name: string;
  readonly answer: string | readonly string[] | null;
  readonly shown: string;
  /** Whether the link named it, so that it was not asked. */
  readonly isKnown?: boolean;
  /** What the person noted beside it, which is never sent. */
  readonly note?: string;
}

/** One question: its fields, what they say now, and where to complain. */
export interface Question {
  readonly element: HTMLElement;
  /** The answer, or all that apply; null for none; undefined where nothing was chosen. */
  read(): string | readonly string[] | null | undefined;
  /** What may be entered, in words, where that is more than its kind says. */
  readonly wanted?: string;
  /** What may be wrong with an answer that is not taken; empty where nobody knows. */
  suspect?(answer: string): string;
  /** An answer as it stays, where that is more than the answer; refused where it is not taken. */
  say?(answer: string): string;
  /** What to ask back, where what was written can be read in two ways. */
  doubt?(): Child;
  /** What is noted beside an answer that is not listed. */
  note?(): string;
  readonly complaint: HTMLElement;
  readonly fields: readonly (HTMLInputElement | HTMLSelectElement)[];
}

/** What is the same for all kinds of questions. */
export interface About {
  readonly j: number;
  readonly optional: boolean;
  /** What people choose to give no answer. */
  readonly none: string;
  readonly complaint: HTMLElement;
  readonly title: HTMLElement;
  readonly help: HTMLElement | null;
}

/** What describes a field: the operator's help, a hint below the title where there is one, and a complaint. */
export function described({ j, complaint, help }: About, hasHint = false): string {
  return [help && `help-${j}`, hasHint && `hint-${j}`, complaint.id].filter(Boolean).join(" ");
}

/** A group of fields that belong to one question, and below them what is wrong. */
export function framed(about: About, extra: string, ...children: readonly Child[]): HTMLElement {
  const { title, help, complaint } = about;
  const properties = { class: `question ${extra}`.trim() };
  return h("fieldset", properties, h("legend", {}, title), help, ...children, complaint);
}
