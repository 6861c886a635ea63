"""Remembers the ids of the last reports, by which those that come again are left out."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.randomness.words import Pseudonyms

Names = npt.NDArray[np.uint64]
"""A row for each report: its id in two words, and its round, which is never 0."""

_LEAST = 1 << 12  # reports that a table has room for


class KnownIds:
    """The ids of at least the last so many reports, and at most of twice as many; of all where it is None.

    They are compared as a whole, so that no report is left out for another's id.
    """

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._before, self._last = _make_table(_LEAST), _make_table(_LEAST)
        self._count = 0
        # nobody who chooses ids knows where they go
        self._factors = np.array([secrets.randbits(64) | 1 for _ in range(3)], np.uint64)

    def find_new(self, rounds: Integers, ids: Pseudonyms) -> Integers:
        """The reports that are not known, by their numbers; they are known from now on."""
        names = np.empty((len(ids), 3), np.uint64)
        names[:, :2] = np.frombuffer(ids.tobytes(), np.uint64).reshape(-1, 2)
        names[:, 2] = rounds
        if self._count + len(ids) > len(self._last) // 2:
            known, needed = self._last[self._last[:, 2] > 0], self._count + len(ids)
            room = 8 * needed if self._window is None else min(8 * needed, self._window + len(ids))
            self._last = _make_table(max(needed, room))  # so that it seldom grows
            self._remember(known, _make_table(1))
        new = self._remember(names, self._before)
        self._count += len(new)
        if self._window is not None and self._count >= self._window:
            self._before, self._last, self._count = self._last, _make_table(_LEAST), 0
        return new

    def _remember(self, names: Names, before: Names) -> Integers:
        from deniable.wire.loops import remember  # and numba, which a device does not need

        rows = np.empty(len(names), np.int64)
        return rows[: remember(names, self._factors, before, self._last, rows)]


def _make_table(reports: int) -> Names:
    """A table for so many reports, of which at most half is used."""
    return np.zeros((1 << (2 * reports - 1).bit_length(), 3), np.uint64)
