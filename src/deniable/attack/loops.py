"""Ranks every target against every record, in loops that are compiled on first use."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled

_BLOCK = 2048


@compiled
def rank_sums(
    columns: Array, first: Array, about: Array, tables: Array, true_records: Array, above: Array, tied: Array
) -> None:
    """For each target, how many records score more than its own, and how many as much (its own among them).

    Target t has the clues first[t] to first[t + 1]; clue c adds tables[c, value] by the value of column
    about[c]. The tables' type must hold their sums.
    """
    n = columns.shape[1]
    score, sums = np.empty(_BLOCK, dtype=tables.dtype), np.empty(1, dtype=tables.dtype)
    for t in range(first.size - 1):
        sums[0] = 0
        for c in range(first[t], first[t + 1]):
            sums[0] += tables[c, columns[about[c], true_records[t]]]
        mine, more, same = sums[0], 0, 0
        for start in range(0, n, _BLOCK):
            size = min(_BLOCK, n - start)
            score[:size] = 0
            for c in range(first[t], first[t + 1]):
                table, column = tables[c], columns[about[c], start : start + size]
                for i in range(size):
                    score[i] += table[column[i]]
            for i in range(size):
                more += score[i] > mine
                same += score[i] == mine
        above[t], tied[t] = more, same


@compiled
def rank_products(
    columns: Array, about: Array, tables: Array, fixed: Array, true_records: Array, above: Array, tied: Array
) -> None:
    """For each target, how many records score more than its own, and how many as much, where a score is a
    product: over surveys s, of fixed[t, s] plus the sum over attributes j of tables[t, s, j, value of column
    about[s, j]], where that column is known (about is not -1).

    Each sum is scaled by that of the target's own record, so that no product of many leaves what floats hold
    unnoticed.
    """
    n = columns.shape[1]
    score, total = np.empty(_BLOCK), np.empty(_BLOCK)
    scale = np.empty(about.shape[0])
    low, high = 1 - 1e-9, 1 + 1e-9
    for t in range(true_records.size):
        for s in range(about.shape[0]):
            part = fixed[t, s]
            for j in range(about.shape[1]):
                if about[s, j] >= 0:
                    part += tables[t, s, j, columns[about[s, j], true_records[t]]]
            scale[s] = 1 / part
        more, same = 0, 0
        for start in range(0, n, _BLOCK):
            size = min(_BLOCK, n - start)
            score[:size] = 1.0
            for s in range(about.shape[0]):
                total[:size] = fixed[t, s]
                for j in range(about.shape[1]):
                    if about[s, j] >= 0:
                        table, column = tables[t, s, j], columns[about[s, j], start : start + size]
                        for i in range(size):
                            total[i] += table[column[i]]
                for i in range(size):
                    score[i] *= total[i] * scale[s]
            for i in range(size):
                more += score[i] > high
                same += low <= score[i] <= high
        above[t], tied[t] = more, same
