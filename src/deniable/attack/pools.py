"""Puts several reports of the same people together, by what their devices keep between rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.attack.likelihoods import CELLS, Part, likelihoods, width
from deniable.metric import MetricMechanism
from deniable.randomness.hashing import hash_values
from deniable.rounds import BitFlip, HashedMemoized, Memoized, MemoizedMean


class Pool(ABC):
    """What several reports of the same n people say together, as it comes in."""

    def __init__(self, n: int, wide: int) -> None:
        self._times: Integers = np.zeros(n, dtype=np.int64)
        self._sums = np.zeros((n, wide))

    @property
    def reported(self) -> Integers:
        """The people who reported at all."""
        return np.flatnonzero(self._times)

    def add(self, rows: Integers, reports: Array) -> None:
        """One more report of each of these people."""
        if rows.size:
            self._add(rows, reports)
            self._times[rows] += 1

    @abstractmethod
    def _add(self, rows: Integers, reports: Array) -> None:
        """Put what the reports say into the sums."""

    def table(self) -> Floats:
        """How likely each person's reports are for each value, up to a factor of the person: a row for each
        person who reported.
        """
        sums = self._sums[self.reported]
        return np.asarray(np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf)))


class _Fresh(Pool):
    """All noise is fresh: likelihoods multiply."""

    def __init__(self, part: Part, n: int) -> None:
        super().__init__(n, width(part))
        self._part = part

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += np.log(likelihoods(self._part, reports))


@final
class _Once(_Fresh):
    """Nothing in a report is ever drawn again: the first one counts."""

    def add(self, rows: Integers, reports: Array) -> None:
        fresh = self._times[rows] == 0
        super().add(rows[fresh], reports[fresh])


@final
class _KeptValue(Pool):
    """Fresh noise on a value that is kept: reports say which one that is."""

    def __init__(self, part: Memoized, n: int) -> None:
        super().__init__(n, part.k)
        self._part = part

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += np.log(likelihoods(self._part.second, reports))

    def table(self) -> Floats:
        return _kept_value(self._part, super().table())


@final
class _KeptBits(Pool):
    """Fresh noise on bits that are kept: it is counted how often each of them is set."""

    def __init__(self, part: Memoized, n: int) -> None:
        super().__init__(n, part.k)
        self._part = part

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += self._part.support(reports)

    def table(self) -> Floats:
        reporters = self.reported
        return _kept_bits(self._part, self._sums[reporters], self._times[reporters, None])


@final
class _KeptBucket(Pool):
    """Fresh noise on a bucket that is kept, of a hash that stays the same."""

    def __init__(self, part: HashedMemoized, n: int) -> None:
        super().__init__(n, part.g)
        self._part, self._buckets = part, np.zeros((n, part.k), dtype=np.int64)

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += np.log(likelihoods(self._part.buckets.second, reports["bucket"]))
        self._buckets[rows] = hash_values(reports["a"], reports["b"], self._part.k, self._part.g)

    def table(self) -> Floats:
        kept = _kept_value(self._part.buckets, super().table())
        return np.take_along_axis(kept, self._buckets[self.reported], axis=1)


@final
class _KeptSide(Pool):
    """Fresh noise on whether a number is above a line, both of which are kept."""

    def __init__(self, part: MemoizedMean, n: int) -> None:
        super().__init__(n, part.bit.k)
        self._part = part

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += np.log(likelihoods(self._part.bit.second, reports))

    def table(self) -> Floats:
        below, above = _kept_value(self._part.bit, super().table()).T[:, :, None]
        cells = (np.arange(CELLS) + 0.5) / CELLS
        return np.asarray(below * (1 - cells) + above * cells)


def make_pool(part: Part, n: int, memoized: bool) -> Pool:
    """For n people, whose first answers are kept where the mechanism keeps any, or drawn again."""
    return _pool_kept(part, n) if memoized else _Fresh(part, n)


@singledispatch
def _pool_kept(part: Part, n: int) -> Pool:
    return _Fresh(part, n)


@_pool_kept.register
def _(part: Memoized, n: int) -> Pool:
    return _KeptBits(part, n) if part.bitwise else _KeptValue(part, n)


@_pool_kept.register
def _(part: HashedMemoized, n: int) -> Pool:
    return _KeptBucket(part, n)


@_pool_kept.register
def _(part: MemoizedMean, n: int) -> Pool:
    return _KeptSide(part, n)


@_pool_kept.register
def _(part: MetricMechanism, n: int) -> Pool:
    return _Once(part, n) if part.kept else _Fresh(part, n)


@_pool_kept.register
def _(part: BitFlip, n: int) -> Pool:
    return _Once(part, n)


def _kept_value(part: Memoized, second: Floats) -> Floats:
    """From how likely the reports are for each kept value to how likely they are for each true one."""
    law = part.first.law
    return np.asarray(law.q * second.sum(axis=1, keepdims=True) + (law.p - law.q) * second)


def _kept_bits(part: Memoized, counts: Floats, times: Integers) -> Floats:
    """How likely the reports are for each true value, up to a factor of each person, where bits are kept.

    Each kept bit was set or not, and shows in some of all reports.
    """
    first, second = part.first.law, part.second.law
    up, down = np.log(second.p / second.q), np.log((1 - second.p) / (1 - second.q))
    evidence = np.exp(np.clip(counts * up + (times - counts) * down, -700, 700))
    ratio = (first.p * evidence + 1 - first.p) / (first.q * evidence + 1 - first.q)
    return np.asarray(ratio / ratio.max(axis=1, keepdims=True, initial=0.0))
