"""Compiles the loops of tables; numpy code gives the same reports from the same words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled
from deniable.randomness.draws import WordArray
from deniable.randomness.kernels import SPAN, ZERO, Address, below, draw

_TOP = np.uint64(63)
_LEAST = 1e-300


class Guide(NamedTuple):
    """An ascending table, and for each range of words where in it to look."""

    table: Array
    low: Array
    high: Array
    shift: np.uint64


def guided(table: WordArray, bits: int, width: int) -> Guide:
    """A guide by the first of `bits` bits that a word has."""
    shift = np.uint64(bits - width)
    first = np.arange(1 << width, dtype=np.uint64) << shift
    last = first + ((np.uint64(1) << shift) - np.uint64(1))
    low, high = (np.searchsorted(table, ends, side="right").astype(np.int32) for ends in (first, last))
    return Guide(table, low, high, shift)


@compiled
def _position(word: np.uint64, table: Array, low: Array, high: Array, shift: np.uint64) -> int:
    """How many entries of the table are at most the word."""
    cell = word >> shift
    first: int = low[cell]
    last: int = high[cell]
    while first < last:
        middle = (first + last) >> 1
        if table[middle] <= word:
            first = middle + 1
        else:
            last = middle
    return first


@compiled
def _moved(
    value: int, word: np.uint64, n: int, table: Array, low: Array, high: Array, shift: np.uint64
) -> int:
    """A value moved by as many steps as the word says, and kept in 0 to n."""
    if word >> _TOP:
        return min(value + n - _position(~word, table, low, high, shift), n)
    return max(value - n + _position(word, table, low, high, shift), 0)


@compiled
def geometric(values: Array, where: Address, guide: Guide, reports: Array) -> None:
    """One word moves one value."""
    words_drawn = np.empty((1, SPAN), np.uint64)
    table, low, high, shift = guide
    n = table.size
    for first in range(0, values.size, SPAN):
        block, out, words = values[first : first + SPAN], reports[first : first + SPAN], words_drawn[0]
        draw(where, first, block.size, words_drawn)
        for i in range(block.size):
            out[i] = _moved(block[i], words[i], n, table, low, high, shift)


@compiled
def planar(values: Array, where: Address, guide: Guide, rows: int, columns: int, reports: Array) -> None:
    """One word moves a cell in both directions at once."""
    words_drawn = np.empty((1, SPAN), np.uint64)
    table, low, high, shift = guide
    wide = 2 * columns - 1
    for first in range(0, values.size, SPAN):
        block, out, words = values[first : first + SPAN], reports[first : first + SPAN], words_drawn[0]
        draw(where, first, block.size, words_drawn)
        for i in range(block.size):
            position = _position(words[i], table, low, high, shift)
            down = position // wide
            row = block[i] // columns
            column = block[i] - row * columns + position - down * wide - columns + 1
            row += down - rows + 1
            out[i] = min(max(row, 0), rows - 1) * columns + min(max(column, 0), columns - 1)


@compiled
def window(
    values: Array, where: Address, others: np.uint64, width: np.uint64, keep: np.uint64, reports: Array
) -> None:
    """A bin of the window that begins at the value, or one of the others."""
    words_drawn = np.empty((2, SPAN), np.uint64)
    for first in range(0, values.size, SPAN):
        block, out = values[first : first + SPAN], reports[first : first + SPAN]
        draw(where, first, block.size, words_drawn)
        for i in range(block.size):
            value = np.uint64(block[i])
            if words_drawn[0, i] < keep:
                out[i] = value + below(words_drawn[1, i], width)
            else:
                other = below(words_drawn[1, i], others)
                out[i] = other + (width if other >= value else ZERO)


@compiled
def decayed(shares: Array, ratios: Array, out: Array) -> None:
    """out[b, j] = sum over i of shares[b, i] times the product of all ratios between i and j: two sweeps, no
    cancellation.

    What decays below the least normal number is taken for nothing: it would stay there forever, a hundred
    times slower.
    """
    last = shares.shape[1] - 1
    for b in range(shares.shape[0]):
        row, into = shares[b], out[b]
        carried = 0.0
        for j in range(last + 1):
            carried = row[j] + carried
            into[j] = carried
            if j < last:
                carried *= ratios[j]
                if abs(carried) < _LEAST:
                    carried = 0.0
        carried = 0.0
        for j in range(last - 1, -1, -1):
            carried = (carried + row[j + 1]) * ratios[j]
            if abs(carried) < _LEAST:
                carried = 0.0
            into[j] += carried
