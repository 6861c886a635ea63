/** Reads codes that people type from paper, and derives the invitation to each plan from one. */

import { remembered } from "./words.js";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // Crockford's: no I, L, O or U
const MODULUS = 1021; // a code, read as a number, is a multiple of this
/** Symbols of a code. */
export const CODE_LENGTH = 20;

/** The symbols of a code, and what its first two say of its plans. */
export interface Code {
  readonly symbols: string;
  readonly tag: number;
}

/** What is wrong with a text that is no code. */
export type CodeProblem = "length" | "symbol" | "slip";

/** A code that somebody typed, in any case, with or without hyphens and spaces; or what is wrong with it. */
export function readCode(text: string): Code | CodeProblem {
  const symbols = text.replace(/[\s-]/g, "").toUpperCase().replace(/[IL]/g, "1").replaceAll("O", "0");
  if ([...symbols].length !== CODE_LENGTH) return "length";
  const values = Array.from(symbols, (one) => SYMBOLS.indexOf(one));
  if (values.includes(-1)) return "symbol";
  if (values.reduce((rest, one) => (32 * rest + one) % MODULUS, 0)) return "slip";
  return { symbols, tag: 32 * (values[0] as number) + (values[1] as number) };
}

/** What the first two symbols of a code say of plans: the first ten bits of each id, combined by XOR. */
export const tagPlans = (ids: readonly string[]): number =>
  ids.reduce((tag, id) => tag ^ (Number.parseInt(id.slice(0, 3), 16) >> 2), 0);

/** The invitation to one plan that a code stands for. */
export async function deriveInvitation({ symbols }: Code, plan: string): Promise<string> {
  const memory = await remembered(new TextEncoder().encode(symbols), plan);
  const words = (await memory(["invitation"], 0, 3)).slice(0, 6);
  return btoa(String.fromCharCode(...new Uint8Array(words.buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
