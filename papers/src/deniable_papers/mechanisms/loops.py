"""Compiles the loops of tables of any metric; numpy code gives the same reports from the same words."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled
from deniable.randomness.kernels import SPAN, Address, draw


@compiled
def tabled(values: Array, where: Address, sums: Array, reports: Array) -> None:
    """One word finds its output in the row of a value."""
    words_drawn = np.empty((1, SPAN), np.uint64)
    for first in range(0, values.size, SPAN):
        block, out, words = values[first : first + SPAN], reports[first : first + SPAN], words_drawn[0]
        draw(where, first, block.size, words_drawn)
        for i in range(block.size):
            row, word = sums[block[i]], words[i]
            low, high = 0, row.size
            while low < high:
                middle = (low + high) >> 1
                if row[middle] <= word:
                    low = middle + 1
                else:
                    high = middle
            out[i] = low


@compiled
def worst_gaps(logs: Array, worst: Array) -> None:
    """worst[x, z] = the largest of logs[x, y] - logs[z, y]; what neither can send is left out."""
    for x in range(logs.shape[0]):
        for z in range(logs.shape[0]):
            best = 0.0
            for y in range(logs.shape[1]):
                gap = logs[x, y] - logs[z, y]
                if gap > best:
                    best = gap
            worst[x, z] = best
