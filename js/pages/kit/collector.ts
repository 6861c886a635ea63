/** Asks the collector that served the pages. */

import { t } from "./messages.js";

/** The collector's address: both pages lie directly below it. */
export const HERE = new URL(".", location.href).href;

/** The collector refused, or could not be reached. */
export class Refused extends Error {
  constructor(
    /** The collector's word for the reason; "offline" where there was no answer. */
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

export interface Asking {
  readonly token?: string;
  readonly method?: string;
  readonly body?: string;
  /** Milliseconds to wait for the answer. */
  readonly patience?: number;
}

/** Ask, and wait for the whole answer, at most 20 seconds or as long as is said. */
export async function ask(
  path: string,
  { token, method = "GET", body, patience = 20_000 }: Asking = {},
): Promise<Response> {
  let answer: Response;
  let content: Blob;
  try {
    answer = await fetch(HERE + path, {
      method,
      headers: token ? { authorization: `Bearer ${token}` } : {},
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body }),
    });
    content = await answer.blob(); // the time may be up, or the connection lost, after the head of the answer
  } catch {
    throw new Refused("offline", t("unreachable"));
  }
  if (answer.ok) return new Response(content.size ? content : null, answer);
  const { reason, detail } = understood(await content.text());
  throw new Refused(reason, detail || `The collector answered with status ${answer.status}.`);
}

export async function askJson<T>(path: string, asking?: Asking): Promise<T> {
  return (await (await ask(path, asking)).json()) as T;
}

/** The reason and the sentence of a refusal, wherever in a text they are. */
export function understood(text: string): { reason: string; detail: string } {
  try {
    const { reason = "", detail = "" } = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    return { reason: String(reason), detail: String(detail) };
  } catch {
    return { reason: "", detail: "" };
  }
}

/** What the address says after #; `taken` is moved from there to the tab's own memory, out of sight. */
export function fragment(taken: string): { values: URLSearchParams; secret: string | null } {
  const values = new URLSearchParams(location.hash.slice(1));
  const secret = values.get(taken);
  if (secret) {
    remember(taken, secret);
    values.delete(taken);
    const rest = values.toString();
    history.replaceState(null, "", location.pathname + location.search + (rest && `#${rest}`));
  }
  return { values, secret: recalled(taken) };
}

const INVITATION = /^[\w-]{32}$/; // as `deniable tokens` makes them

/**
 * The invitation in a text that somebody has pasted: a link that has one, or the bare code; null where
 * there is none.
 */
export function invitationIn(text: string): string | null {
  const pasted = text.trim();
  const hash = pasted.indexOf("#");
  const invitation =
    hash < 0 ? pasted : (new URLSearchParams(pasted.slice(hash + 1)).get("invitation") ?? "").trim();
  const code = invitation.replace(/[^\w-]+$/, ""); // a full stop or a bracket that was copied with it
  return INVITATION.test(code) ? code : null;
}

/** Keep an invitation for the plan that its link names, or for any (null); or forget it (null). */
export function keepInvitation(code: string | null, plan: string | null = null): void {
  remember("invitation", code);
  remember("invited", code === null ? null : plan);
}

/** Whether the invitation that is kept may be shown to the collector with a report of this plan. */
export function isInvitedTo(plan: string): boolean {
  return plan.startsWith(recalled("invited") ?? "");
}

/** Keep a text as long as the tab lives; where that is not allowed, as long as the page does. */
export function remember(name: string, text: string | null): void {
  kept.set(name, text);
  try {
    if (text === null) sessionStorage.removeItem(`deniable.${name}`);
    else sessionStorage.setItem(`deniable.${name}`, text);
  } catch {
    // it is kept in `kept`
  }
}

const kept = new Map<string, string | null>();

export function recalled(name: string): string | null {
  try {
    return kept.get(name) ?? sessionStorage.getItem(`deniable.${name}`);
  } catch {
    return kept.get(name) ?? null;
  }
}
