/** Defines the contract of a mechanism: one value and some random words become one part of a report. */

import { must } from "../errors.js";
import { type Ratio, wholeNumber } from "../exact.js";
import { type Row, type Threshold, threshold } from "../randomness/words.js";

/** What a report says about one attribute, as it is in JSON. */
export type Part = number | readonly number[] | HashedPart | BitFlipPart | LinearPart;

export interface HashedPart {
  readonly a: number;
  readonly b: number;
  readonly bucket: number;
}

export interface BitFlipPart {
  readonly about: readonly number[];
  readonly set: readonly number[];
}

export interface LinearPart {
  /** The bits of a matrix, in hexadecimal. */
  readonly bits: string;
  readonly bucket: number;
}

/** How a part is written. */
export interface Codec<P extends Part = Part> {
  /** In bytes. */
  readonly size: number;
  write(part: P, bytes: Uint8Array, at: number): void;
  /** Reads what `write` has written, which is still to be checked. */
  read(bytes: Uint8Array, at: number): unknown;
  /** A part that was read, or that is in JSON; what is not canonical is refused. */
  check(data: unknown): P;
}

/** What a report says about one attribute, for people. */
export interface Said {
  readonly attribute: string;
  /** The values that the report speaks for: one of them may be the true one, or none. */
  readonly supports: readonly string[];
  /** The values that it is about at all, where these are not all. */
  readonly about?: readonly string[];
  /** A random matrix in hexadecimal, and one of so many buckets, where the values cannot be listed. */
  readonly hash?: { readonly bits: string; readonly bucket: number; readonly buckets: number };
}

/** A mechanism whose report supports a set of values. */
export interface Mechanism<P extends Part = Part> {
  /** The number of values; they are 0 to k - 1. */
  readonly k: number;
  /** How many 64-bit words one report takes. */
  readonly words: number;
  /**
   * At least the largest ratio of two values' probabilities of one report: e^loss, with the bias of `below`
   * counted.
   */
  readonly ratio: Ratio;
  readonly codec: Codec<P>;
  /** The report of a value that is known to be in the domain. */
  encode(value: number, row: Row): P | Promise<P>;
  /** Whether a report supports a value, where it does not just name those that it supports. */
  supports?(part: P, value: number): boolean;
  /** What a report says in labels, where that is more than the values that it supports. */
  say?(part: P, label: (code: number) => string): Omit<Said, "attribute">;
  /** Whether it is for values that are too many to list: numbers, and what nobody listed. */
  readonly isUnlisted?: boolean;
  /** The value that a report stands for, where it names none; it may lie beyond all of them. */
  stands?(part: P): number;
  /** How often an attacker is right at most, and about what, where that is known better than by the ratio. */
  readonly guess?: Guess;
  /** The report of nobody, where there is one. */
  readonly nobody?: Nobody<P>;
  /** How the bucket of a report is made, where it has one. */
  readonly buckets?: Buckets;
  /**
   * The least and the largest weight of what a report supports that tells two values apart, where these are not
   * the smallest weight and all others, or, of reports that are values, the largest. Weights are words out of 2^64.
   */
  cover?(weights: BigUint64Array): readonly [least: bigint, largest: bigint];
}

/**
 * The report of nobody, which hides real ones: each of these is either of two numbers of times as likely, by
 * whether it supports its value.
 */
export interface Nobody<P extends Part = Part> {
  readonly words: number;
  /** How many times likelier a report is of a person whose value it supports. */
  readonly more: Ratio;
  /** How many times as likely a report is of a person whose value it does not support. */
  readonly less: Ratio;
  /** Among how many cells the draws of a report by `below` choose, all together. */
  readonly cells: number;
  /** Whether a report is about one value, and says nothing of all others. */
  readonly isAboutOne?: boolean;
  encode(row: Row): P | Promise<P>;
}

/** Reports of a bucket, whose hash function no value changes; a report that is a value is its own bucket. */
export interface Buckets {
  /** How many buckets there are. */
  readonly k: number;
  readonly keep: bigint;
  /** The threshold of a second round, where the first is kept. */
  readonly again?: bigint;
}

export interface Guess {
  readonly chance: Ratio;
  /** Among how many that are equally likely. */
  readonly among: number;
  /** What is guessed, where it is not the value. */
  readonly what?: string;
}

export const checkedK = (k: number, most: number): number =>
  wholeNumber("k", "k, the number of values,", k, 2, most);

/** A threshold strictly between 0 and 2^64. */
export const checkedThreshold = (whole: bigint): Threshold => {
  must(whole > 0n && !(whole >> 64n), "threshold", () => `a threshold is from 1 to 2^64 - 1, got ${whole}`);
  return threshold(whole);
};

/** Whether a mechanism has no value for no answer: metric ones, and those for means and text. */
export const isFull = (part: Mechanism): boolean => part.isUnlisted || "perUnit" in part;
