/** Reads numbers as people write them: 2500,50 and 2.500 and 2 500 and 2,500.00. Nothing is guessed. */

/** What a text says: one number, two numbers between which only its writer can decide, or none. */
export type Reading =
  | { readonly number: string }
  | { readonly either: readonly [decimal: string, grouped: string] }
  | null;

const SPACES = /[\s\u00a0\u202f\u2009'’]/g;

/** The locale's sign between thousands. */
function groupSign(locale: string): string | undefined {
  const parts = new Intl.NumberFormat(locale).formatToParts(1e8);
  return parts.find(({ type }) => type === "group")?.value;
}

/**
 * The number in a text, in digits with a point. A point or comma with three digits after it is a sign between
 * thousands where the locale has it so; elsewhere both may be meant.
 */
export function readNumber(text: string, locale: string): Reading {
  const digits = western(text.trim());
  const [, sign = "", body = ""] = /^([+-]?)\s*(.*)$/.exec(digits) ?? [];
  const minus = sign === "-" ? "-" : "";
  const spaced = body.replace(SPACES, " ");
  if (!/^[\d., ]*\d[\d., ]*$/.test(spaced)) return null;
  const signs = [...new Set(spaced.replace(/\d/g, ""))];
  const last = spaced.match(/[.,](?=\d*$)/)?.[0];
  const read = (decimal: string | undefined): string | null => {
    const [whole = "", part, ...more] = decimal === undefined ? [spaced] : spaced.split(decimal);
    const others = signs.filter((each) => each !== decimal);
    const isWhole = others.length === 0 ? /^\d*$/ : others.length === 1 ? grouped(others[0] as string) : null;
    if (more.length > 0 || !isWhole?.test(whole) || !/^\d*$/.test(part ?? "") || !/\d/.test(spaced))
      return null;
    const digits = whole.replace(/\D/g, "") || "0";
    return `${minus}${digits}${part ? `.${part}` : ""}`;
  };
  if (last === undefined) return reading(read(undefined));
  const [asDecimal, asGroup] = [read(last), read(undefined)];
  if (asDecimal === null || asGroup === null) return reading(asDecimal ?? asGroup);
  return groupSign(locale) === last ? { number: asGroup } : { either: [asDecimal, asGroup] };
}

const reading = (number: string | null): Reading => (number === null ? null : { number });

/** Digits in groups of three. */
const grouped = (sign: string): RegExp => new RegExp(`^[1-9]\\d{0,2}([${sign}]\\d{3})*$`);

/** Arabic and Persian digits and signs as they are elsewhere. */
function western(text: string): string {
  return text
    .replace(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replace(/\u066b/g, ",")
    .replace(/\u066c/g, ".")
    .replace(/\u2212/g, "-");
}
