"""Draws the words of large batches in compiled loops.

Each room keeps its loops in `loops.py`. They are compiled on first use and cached on disk. Every loop
computes exactly what the numpy code of its caller computes, from the same words; the one exception says so
(`shapes.coins.unary_bits`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled, inlined

ZERO, ONE = np.uint64(0), np.uint64(1)
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
SPAN = 256  # small tables that stay in the nearest cache


@inlined
def mix(state: np.uint64) -> np.uint64:
    """The word of a state (the finalizer of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inlined
def below(word: np.uint64, bound: np.uint64) -> np.uint64:
    """word * bound // 2^64, for bounds below 2^32: the mask makes two short products of two long ones."""
    bound &= LOW
    return ((word >> HALF) * bound + (((word & LOW) * bound) >> HALF)) >> HALF


@compiled
def fill_seeded(key: np.uint64, gamma: np.uint64, start: np.uint64, words: Array) -> None:
    """words[i] = the seeded word number start + i."""
    state = key + gamma * (start + ONE)
    for i in range(words.size):
        words[i] = mix(state)
        state += gamma


class Address(NamedTuple):
    """Where the words of a batch are: in a list, or computed from a key (gamma > 0). Row i begins at position
    + stride * i.
    """

    key: np.uint64
    gamma: np.uint64
    position: np.uint64
    stride: np.uint64
    rows: Array
    """Which rows to take, in order; empty for all of them."""
    words: Array


@inlined
def row_start(position: np.uint64, stride: np.uint64, rows: Array, i: int) -> np.uint64:
    """The number of the first word of the i-th report."""
    return position + stride * np.uint64(rows[i] if rows.size else i)


@compiled
def draw(where: Address, first: int, size: int, words_drawn: Array) -> None:
    """drawn[c, j] = word c of report first + j."""
    # taken apart once: a part of a tuple is costly to reach in a loop
    key, gamma, position, stride, rows, words = where
    step = gamma * stride
    numbers = rows[first : first + size]
    for c in range(words_drawn.shape[0]):
        into = words_drawn[c]
        if gamma == ZERO:
            for j in range(size):
                into[j] = words[row_start(position, stride, rows, first + j) + np.uint64(c)]
        elif rows.size:
            state = key + gamma * (position + np.uint64(c) + ONE)
            for j in range(size):
                into[j] = mix(state + step * np.uint64(numbers[j]))
        else:
            state = key + gamma * (row_start(position, stride, rows, first) + np.uint64(c) + ONE)
            for j in range(size):
                into[j] = mix(state)
                state += step


@compiled
def draw_attributes(where: Address, d: np.uint64, attributes: Array) -> None:
    """attributes[i] = the attributes of record i, all different, by Floyd's sampling."""
    n, count = attributes.shape
    words_drawn = np.empty((count, SPAN), np.uint64)
    for first in range(0, n, SPAN):
        block = attributes[first : first + SPAN]
        draw(where, first, len(block), words_drawn)
        for number in range(count):
            last = d - np.uint64(count) + np.uint64(number)
            for i in range(len(block)):
                attribute = below(words_drawn[number, i], last + ONE)
                for earlier in range(number):
                    if block[i, earlier] == attribute:
                        attribute = last
                        break
                block[i, number] = attribute


@compiled
def group(attributes: Array, columns: Array, ends: Array, who: Array, values: Array) -> None:
    """Sort records by the attribute they picked, each with its value; ends[j] is where j's records end."""
    ends[:] = 0
    for i in range(attributes.size):
        ends[attributes[i]] += 1
    position = 0
    # where the next record of each attribute goes: in the end, where its records end
    for j in range(ends.size):
        ends[j], position = position, position + ends[j]
    for i in range(attributes.size):
        attribute = attributes[i]
        slot = ends[attribute]
        who[slot] = i
        values[slot] = columns[attribute, i]
        ends[attribute] = slot + 1


@inlined
def _excess(low: float, high: float, width: float) -> float:
    if high <= 0.0:
        return 0.0
    if low >= 0.0:
        return width * (low + high) / 2
    return width * high * high / (2 * (high - low))


@inlined
def shift_pair(low: np.uint64, high: np.uint64, by: int) -> np.uint64:
    """The low word of two, after both were shifted right by less than 64."""
    return (low >> np.uint64(by)) | ((high << ONE) << np.uint64(63 - by))


@inlined
def parity(word: np.uint64) -> np.uint64:
    """Whether an odd number of bits is set."""
    word ^= word >> HALF
    word ^= word >> np.uint64(16)
    word ^= word >> np.uint64(8)
    word ^= word >> np.uint64(4)
    word ^= word >> np.uint64(2)
    word ^= word >> ONE
    return word & ONE


@compiled
def uncovered(k: int, g: float) -> float:
    """The share of the circle that no arc of 1 / g covers, over all fractions of denominators below k."""
    arc = 1.0 / g
    total = 0.0
    c, d = 1, k - 1
    while True:
        left, right = 1.0 / c, 1.0 / d
        width = left * right
        total += (k - c) * _excess(-arc, right - arc, width)
        total += (k - d) * _excess(-arc, left - arc, width)
        total += (c + d - k) * _excess(min(left, right) - arc, max(left, right) - arc, width)
        if d == 1:
            return total
        c, d = d, (k - 1 + c) // d * d - c
