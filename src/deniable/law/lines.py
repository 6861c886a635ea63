"""Computes how likely a report by a function of a public pool supports two values at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.law.pairs import Pairs
from deniable.randomness.pool import HashPool

_CELLS = 1 << 20  # of tables that are summed at once


@final
@dataclass(frozen=True)
class Lines(Pairs):
    """A bucket of a function of the pool, which is the true value's with probability p.

    Any two values share a bucket equally often. A third one shares it as often if it is on the line of the
    two, and otherwise less.
    """

    pool: HashPool
    p: float

    def squares(self, weights: Floats) -> Floats:
        sums = self.pool.sum_buckets(np.asarray(weights, dtype=np.float64)) ** 2
        overall = sums.sum(axis=(-2, -1))[..., None]
        same = self.pool.sum_support(sums)
        return np.asarray((self._other * overall + (self.p - self._other) * same) / self.pool.size)

    def mean_squares(self, table: Floats) -> Floats:
        """By how many values each bucket holds, without a sum for every true value."""
        k = self.pool.k
        chances = self._other + (self.p - self._other) * self.pool.sum_buckets(np.ones(k)) / k
        sums_found = np.empty(len(table))
        step = max(1, _CELLS // self.pool.cells)
        for low in range(0, len(table), step):
            sums = self.pool.sum_buckets(np.asarray(table[low : low + step], dtype=np.float64)) ** 2
            sums_found[low : low + step] = (sums * chances).sum(axis=(1, 2))
        return sums_found / self.pool.size

    @property
    def slopes(self) -> tuple[float, float]:
        others = (self.p - self._other) * self._three
        return (self.p - self._other) * self._two - others, others

    def joint(self, shares: Floats) -> Floats:
        total = float(shares.sum())
        same = self._three * total + (self._two - self._three) * self._sum_lines(shares)
        np.fill_diagonal(same, self._two * total + (1 - self._two) * shares)
        overall = np.where(np.eye(shares.size, dtype=bool), 1.0, self._two)
        return np.asarray(self._other * overall + (self.p - self._other) * same)

    def joint_with_size(self, shares: Floats) -> Floats:
        """By the sums of a bucket: of the shares, and of how many values it holds."""
        reached, sizes = self.pool.sum_buckets(np.stack([shares, np.ones(shares.size)]))
        chances = self._other * float(shares.sum()) + (self.p - self._other) * reached
        return np.asarray(self.pool.sum_support(chances * sizes) / self.pool.size)

    def joint_if_pushed(self, k: int, q: float, gain: float) -> Floats:
        """By chance means by a function that sends both to one bucket, and all on their line along."""
        along = self._sum_lines(np.ones(k))
        line = along * (1 - q) / gain * self._two
        rest = (k - along) * (self._three / self._two - q) / gain * self._three
        return np.asarray(self._other * self._two + (self.p - self._other) * (line + rest))

    @property
    def _other(self) -> float:
        return (1 - self.p) / (self.pool.g - 1)

    @property
    def _two(self) -> float:
        return float(self.pool.collision)

    @property
    def _three(self) -> float:
        return float(self.pool.collision_of_three)

    def _sum_lines(self, shares: Floats) -> Floats:
        """The sum of the shares on the line of each two values, these among them."""
        k, g = shares.size, self.pool.g
        padded = np.zeros(g**self.pool.digits)
        padded[:k] = shares
        digits = np.arange(k)[:, None] // g ** np.arange(self.pool.digits) % g
        sums_found = shares[:, None] + shares
        for step in range(2, g):  # from one value by 0 and 1 steps one comes to the two themselves
            at = np.zeros((k, k), dtype=np.int64)
            for place, digit in enumerate(digits.T):
                at += (digit[:, None] * (1 - step) + digit * step) % g * g**place
            sums_found += padded[at]
        return np.asarray(sums_found)
