/** Holds the state of one visit of the survey page. */

import type { Ledger, Plan } from "../../src/index.js";
import type { Summary } from "../kit/api.js";

/** A study that may be answered now. */
export interface Offer {
  readonly plan: Plan;
  readonly summary: Summary;
  readonly round: number;
}

/** The forms of all parts of the survey, the part that is shown, and how to show another. */
export interface Answering {
  readonly forms: readonly HTMLFormElement[];
  readonly part: number;
  show(part: number): void;
}

/** The value of each field of a form, and whether it is checked, by a key that stays in another language. */
export type FieldValues = ReadonlyMap<string, readonly [value: string, isChecked: boolean]>;

/** What changes while the page is open. */
export class Visit {
  /** The invitation of the link that was followed, or that was typed. */
  invitation: string | null = null;
  /** Whether the invitation in the link that was followed cannot be read. */
  isDamaged = false;
  /** What the link that was followed says after its #. */
  arrived = "";
  /** Counts how often the page has begun: what was begun before the last time is not shown any more. */
  turn = 0;
  /** What is being answered. */
  answering: Answering | null = null;
  /** Answers to questions that the person's limit refuses now; a higher limit brings them back. */
  refusedAnswers: FieldValues | null = null;
  /** Ends the wait for a ticket when something else is shown. */
  shown = new AbortController();
  /** Ends what is being sent when everything was forgotten. */
  remembering = new AbortController();
  private opened: Ledger | null = null;

  /** `begin` shows the study of the address from its beginning. */
  constructor(private readonly begin: (visit: Visit, isForgotten: boolean) => Promise<void>) {}

  /** What this device remembers. */
  get ledger(): Ledger {
    if (!this.opened) throw new Error("the ledger is opened before anything is offered");
    return this.opened;
  }

  set ledger(ledger: Ledger) {
    this.opened = ledger;
  }

  /** Whether the device could be asked what it remembers. */
  get hasLedger(): boolean {
    return this.opened !== null;
  }

  /** Begin again; after everything was forgotten, without what this visit remembers. */
  start(isForgotten = false): Promise<void> {
    return this.begin(this, isForgotten);
  }
}
