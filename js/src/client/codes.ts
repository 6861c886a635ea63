/** Reads codes that people type from paper, and derives the invitation to each plan from one. */

import { remembered } from "../randomness/words.js";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // Crockford's: no I, L, O or U
const MODULUS = 1021; // a code, read as a number, is a multiple of this
/** Symbols of a code. */
export const CODE_LENGTH = 22;
const CHECK_SYMBOLS = 2;
const TAG_SYMBOLS = 4;
const TAG_DIGITS = 5; // hexadecimal: 20 bits, as four symbols have
const MOST_PLANS = 3; // of one code
const MARKS = /[\p{Z}\p{Pd}\p{Cc}\p{Cf}\u2212]/gu; // spaces, dashes, what nobody sees, and the minus sign

/** The symbols of a code, and what its first four say of its plans. */
export interface Code {
  readonly symbols: string;
  readonly tag: number;
}

/** What is wrong with a text that is no code. */
export type CodeProblem = "length" | "symbol" | "slip";

/** What is left of a code without the marks that people put between its symbols or after them. */
export const stripMarks = (text: string): string => text.replace(MARKS, "").replace(/\.$/, "").toUpperCase();

/** A code that somebody typed, in any case, with dashes, spaces and a final full stop; or what is wrong with it. */
export function readCode(text: string): Code | CodeProblem {
  const symbols = stripMarks(text).replace(/[IL]/g, "1").replaceAll("O", "0");
  if ([...symbols].length !== CODE_LENGTH) return "length";
  const values = Array.from(symbols, (symbol) => SYMBOLS.indexOf(symbol));
  if (values.includes(-1)) return "symbol";
  if (values.reduce((rest, value) => (32 * rest + value) % MODULUS, 0)) return "slip";
  if (toNumber(values.slice(-CHECK_SYMBOLS)) >= MODULUS) return "slip"; // no code is written so
  return { symbols, tag: toNumber(values.slice(0, TAG_SYMBOLS)) };
}

const toNumber = (values: readonly number[]): number => values.reduce((sum, value) => 32 * sum + value, 0);

/** What the first four symbols of a code say of plans: the first 20 bits of each id, combined by XOR. */
export const tagPlans = (ids: readonly string[]): number =>
  ids.reduce((tag, id) => tag ^ Number.parseInt(id.slice(0, TAG_DIGITS), 16), 0);

/**
 * The plans that a code names, of all that take invitations. Another set may fit by chance: then it is the smallest with
 * those that are shown, or else the smallest.
 */
export function findPlans(
  { tag }: Pick<Code, "tag">,
  plans: readonly string[],
  shown: readonly string[],
): string[] | null {
  const fitting: string[][] = [];
  for (let size = 1; size <= MOST_PLANS; size++)
    for (const set of chooseSets(plans, size)) if (tagPlans(set) === tag) fitting.push(set);
  return fitting.find((set) => shown.every((plan) => set.includes(plan))) ?? fitting[0] ?? null;
}

function* chooseSets(plans: readonly string[], size: number): Generator<string[]> {
  if (!size) yield [];
  else
    for (const [place, plan] of plans.entries())
      for (const others of chooseSets(plans.slice(place + 1), size - 1)) yield [plan, ...others];
}

/** The invitation to one plan that a code stands for. */
export async function deriveInvitation({ symbols }: Code, plan: string): Promise<string> {
  const memory = await remembered(new TextEncoder().encode(symbols), plan);
  const words = (await memory(["invitation"], 0, 3)).slice(0, 6);
  return btoa(String.fromCharCode(...new Uint8Array(words.buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
