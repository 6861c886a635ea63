/** Defines one small tree of errors. Every message says what was given, what is allowed and what to do. */

/** The root: catch this to catch everything the library refuses. */
export class DeniableError extends Error {
  override get name(): string {
    return "DeniableError";
  }
}

/** A parameter that nothing can be built from. */
export class InvalidParameter extends DeniableError {
  override get name(): string {
    return "InvalidParameter";
  }
}

/** An answer that is not in the domain. It is never passed on: a value sent as it is discloses itself. */
export class InvalidValue extends DeniableError {
  override get name(): string {
    return "InvalidValue";
  }
}

/**
 * A plan that was changed, is not in its canonical form, does not fit together or leaks more than it
 * states.
 */
export class InvalidPlan extends DeniableError {
  override get name(): string {
    return "InvalidPlan";
  }

  constructor(
    /** Why, in a word that is the same for every client: spec/wire.md lists them. */
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

/** Why a report is refused, in a word. */
export type Reason = "malformed" | "version" | "plan" | "round" | "size" | "form";

/** A report that the plan cannot have sent, or that is not in its canonical form. */
export class InvalidReport extends DeniableError {
  override get name(): string {
    return "InvalidReport";
  }

  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

/** A plan that is sound, but gives away more than the person has allowed. */
export class AboveCap extends DeniableError {
  override get name(): string {
    return "AboveCap";
  }
  /** The word for it, beside those of InvalidPlan. */
  readonly reason = "cap";
}

/** A report that the collector refused, or that did not arrive; it can be sent again as it is. */
export class NotSent extends DeniableError {
  override get name(): string {
    return "NotSent";
  }
  /** The collector's word for the reason; empty where it gave none. */
  readonly reason: string;
  /** The collector's sentence. */
  readonly detail: string;

  constructor(
    message: string,
    /** The collector's answer; 0 where there was none. */
    readonly status: number,
    said: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.reason = `${said.reason ?? ""}`;
    this.detail = `${said.detail ?? ""}`;
  }
}

/** Said of a plan or a report. */
export const NOT_CANONICAL = "is not in its canonical form";

/** Refuse a plan of which this does not hold. */
export function must(holds: unknown, reason: string, otherwise: () => string): asserts holds {
  if (!holds) throw new InvalidPlan(reason, otherwise());
}

/** Refuse a report of which this does not hold. */
export function sound(holds: unknown, reason: Reason, otherwise: () => string): asserts holds {
  if (!holds) throw new InvalidReport(reason, otherwise());
}

/** A value in an error message: short, on one line. */
export const shown = (value: unknown): string => {
  const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
};
