/** Lists the kinds of values that an attribute can have, and reads them from a plan. */

import { checkedKind } from "../strict.js";
import { type Categories, readCategories } from "./categories.js";
import { type Coarse, readCoarse } from "./coarse.js";
import { type Codes, type FreeText, readCodes, readFreeText } from "./free_text.js";
import { type Grid, readGrid } from "./grid.js";
import { type Numbers, readNumbers } from "./numbers.js";
import { type Product, readProduct } from "./product.js";
import { type Range, readRange } from "./range.js";
import type { Values } from "./values.js";

/** The values an attribute can have, in order. */
export type Domain = (Categories | Range | Grid | Numbers | Product | Coarse | FreeText | Codes) & Values;

const KINDS: Readonly<Record<string, (data: unknown) => Domain>> = {
  categories: readCategories,
  range: readRange,
  grid: readGrid,
  number: readNumbers,
  product: readProduct,
  coarse: readCoarse,
  text: readFreeText,
  code: readCodes,
};

/** Reads the values of an attribute from a plan. */
export const readDomain = (data: unknown): Domain => {
  const kind = checkedKind(data, "a domain", Object.keys(KINDS));
  return (KINDS[kind] as (data: unknown) => Domain)(data);
};
