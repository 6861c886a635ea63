/** Reads numbers whose mean is wanted, and their mechanisms. */

import type { Domain } from "../domains/domain.js";
import { Numbers } from "../domains/number.js";
import { MEANS } from "../mechanisms/means.js";
import type { Mechanism } from "../mechanisms/mechanism.js";
import { checkedBoolean, checkedFields, checkedInteger } from "../strict.js";

const NUMBER = ["low", "high", "digits"];
const ENDS = ["open_low", "open_high"];

export const mechanisms: Readonly<Record<string, (data: unknown) => Mechanism>> = MEANS;

export const domains: Readonly<Record<string, (data: unknown) => Domain>> = {
  number: (data) => {
    const fields = checkedFields(data, "a number", ["kind", ...NUMBER, ...ENDS]);
    const numbers = NUMBER.map((name) => checkedInteger(fields[name], name));
    const ends = ENDS.map((end) => checkedBoolean(fields[end]));
    return new Numbers(...([...numbers, ...ends] as unknown as ConstructorParameters<typeof Numbers>));
  },
};
