"""What several reports of the same people say together, as it comes in."""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.attack.likelihoods import Part, likelihoods, width
from deniable.mechanisms import Unary
from deniable.rounds import BitFlip, HashedMemoized, Memoized
from deniable.words.hashing import hash_values


@final
class Pooled:
    """How likely all reports of n people are for each value, whose noise is kept, where the mechanism keeps
    any, or is not.
    """

    def __init__(self, part: Part, n: int, memoized: bool) -> None:
        self._part = part
        self._times: Integers = np.zeros(n, dtype=np.int64)
        self._kept = part if memoized and isinstance(part, Memoized | HashedMemoized) else None
        self._once = memoized and isinstance(part, BitFlip)  # nothing in it is ever drawn anew
        self._bits = isinstance(self._kept, Memoized) and isinstance(self._kept.first, Unary)
        self._buckets = (
            np.zeros((n, part.k), dtype=np.int64) if isinstance(self._kept, HashedMemoized) else None
        )
        self._sums = np.zeros((n, self._kept.g if isinstance(self._kept, HashedMemoized) else width(part)))

    @property
    def reported(self) -> Integers:
        """Who reported at all."""
        return np.flatnonzero(self._times)

    def add(self, rows: Integers, reports: Array) -> None:
        """One more report of each of these people."""
        if self._once:
            fresh = self._times[rows] == 0
            rows, reports = rows[fresh], reports[fresh]
        if not rows.size:
            return
        if isinstance(self._kept, HashedMemoized) and self._buckets is not None:
            self._sums[rows] += np.log(likelihoods(self._kept.buckets.second, reports["bucket"]))
            self._buckets[rows] = hash_values(reports["a"], reports["b"], self._part.k, self._kept.g)
        elif self._bits:
            self._sums[rows] += self._part.support(reports)
        elif isinstance(self._kept, Memoized):
            self._sums[rows] += np.log(likelihoods(self._kept.second, reports))
        else:
            self._sums[rows] += np.log(likelihoods(self._part, reports))
        self._times[rows] += 1

    def table(self) -> Floats:
        """Of those who reported: how likely their reports are for each value, up to a factor of
        each person.
        """
        asked = self.reported
        if self._bits and isinstance(self._kept, Memoized):
            return _kept_bits(self._kept, self._sums[asked], self._times[asked, None])
        sums = self._sums[asked]
        table = np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf))
        if isinstance(self._kept, HashedMemoized) and self._buckets is not None:
            return np.take_along_axis(_kept_value(self._kept.buckets, table), self._buckets[asked], axis=1)
        return _kept_value(self._kept, table) if isinstance(self._kept, Memoized) else table


def _kept_value(part: Memoized, second: Floats) -> Floats:
    """From how likely the reports are for each kept value to how likely they are for each true one."""
    law = part.first.law
    return np.asarray(law.q * second.sum(axis=1, keepdims=True) + (law.p - law.q) * second)


def _kept_bits(part: Memoized, counts: Floats, times: Integers) -> Floats:
    """The same for bits: each kept bit was set or not, and shows so many times of all."""
    first, second = part.first.law, part.second.law
    up, down = np.log(second.p / second.q), np.log((1 - second.p) / (1 - second.q))
    evidence = np.exp(np.clip(counts * up + (times - counts) * down, -700, 700))
    ratio = (first.p * evidence + 1 - first.p) / (first.q * evidence + 1 - first.q)
    return np.asarray(ratio / ratio.max(axis=1, keepdims=True, initial=0.0))
