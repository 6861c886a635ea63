/** Loads what only some plans have, all at once. The survey page takes `rare_groups.ts` in its place. */

type RareKinds = typeof import("./rare_kinds.js");

export const loadRareKinds = (_text: string): Promise<RareKinds> => import("./rare_kinds.js");
