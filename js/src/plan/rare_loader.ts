/** Loads what only some plans have, all at once but for text. The survey page takes `rare_groups.ts` in its place. */

import type { RareKinds } from "./rare_kinds.js";

export const loadRareKinds = async (text: string): Promise<RareKinds> =>
  (await import("./rare_kinds.js")).load(text);
