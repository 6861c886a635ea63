/** Writes bytes as text, and reads them back. */

import { InvalidParameter } from "./errors.js";

/** Bytes as text. */
export const hexadecimal = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Bytes from text. */
export const fromHexadecimal = (text: string): Uint8Array<ArrayBuffer> => {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new InvalidParameter("bytes are lower-case hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => Number(`0x${digits}`));
};
