"""Turns tables of integers, and finds what is too large in them, without waiting for memory."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.draws import WordArray

_ROWS = 128  # rows of a table that are compared at a time


def turn_table(table: Array) -> Array:
    """A row for each column, in blocks that stay in the nearest cache."""
    columns = np.empty(table.shape[::-1], dtype=table.dtype)
    for start in range(0, len(table), 1024):
        columns[:, start : start + 1024] = table[start : start + 1024].T
    return columns


def find_largest(columns: WordArray) -> WordArray:
    """The largest value of each column (0 where there is none), many rows of a table at a time."""
    d, n = columns.shape
    many = n // _ROWS * _ROWS
    if columns.flags.c_contiguous or not columns.flags.f_contiguous or not many:
        return np.asarray(columns.max(axis=1, initial=0))
    most = columns[:, :many].T.reshape(-1, _ROWS * d).max(axis=0).reshape(_ROWS, d).max(axis=0)
    return np.asarray(np.maximum(most, columns[:, many:].max(axis=1, initial=0)))
