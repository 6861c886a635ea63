"""Computes what a public pool of hashes adds to the variances of sums: it ties some values together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law
from deniable.law.lines import Lines
from deniable.law.pairs import Alike
from deniable.ranges.scatter import Scatter

_TABLED = 256  # nodes of a level whose ties are all kept in a table
_STEPS = 1 << 16  # nodes times places of many people that are looked at in larger levels
_HEAVY = 0.05  # the share of people from which a node of such a level is a place of many


@final
@dataclass(frozen=True, eq=False)
class Ties:
    """What the variance of a weighted sum is beyond that of `Scatter`, from one report of a level.

    Any two values share a bucket of the pool equally often. A third one shares it more often where it is on
    the line of the two. On average over people who are spread, `Scatter` counts that; where many people have
    one value, the lines through it say how the sum scatters. Small levels count all their people. In large
    ones each person moves less, so that only values of many people count.
    """

    pairs: Lines
    alike: Alike
    gain: float
    shares: Floats
    """The share of each node."""
    heaviest: Integers
    """The nodes whose lines are looked at, where there is no table of all."""

    @staticmethod
    def find(law: Law, shares: Floats, n: int) -> Ties | None:
        """Those of a level, if its reports are of a pool and enough people have one value."""
        if not isinstance(law.pairs, Lines):
            return None
        pairs = Alike.of_sizes(law.k, law.p, law.q, law.sizes, law.inside, law.outside)
        least = max(_HEAVY, 4 * math.sqrt(Scatter.of(law).own / n))
        heaviest = np.argsort(-shares, kind="stable")[: max(1, _STEPS // law.k)]
        heaviest = heaviest[shares[heaviest] > least]
        found = Ties(law.pairs, pairs, law.gain, shares, heaviest)
        return found if law.k <= _TABLED or heaviest.size else None

    def add(self, weights: Floats) -> float:
        """How much it adds; it may be less than nothing."""
        if weights.size <= _TABLED:
            return float(weights @ self._table @ weights)
        rates = self._rates
        total, own = float(weights.sum()), float(np.square(weights).sum())
        found = 0.0
        for node, lines in zip(self.heaviest.tolist(), self._lines, strict=True):
            mine = float(weights[node])
            on_lines = float(np.square(np.bincount(lines, weights)).sum()) - own
            others = (total - mine) ** 2 - (own - mine**2)
            found += float(self.shares[node]) * (rates[0] * on_lines + rates[1] * others)
        return found

    @cached_property
    def _rates(self) -> tuple[float, float]:
        """How much each two nodes add that are on a line with the person's, and each two others."""
        pool, p = self.pairs.pool, self.pairs.p
        other = (1 - p) / (pool.g - 1)
        two, three = float(pool.collision), float(pool.collision_of_three)
        apart = other * two + (p - other) * three
        return (p - other) * (two - three) / self.gain**2, (apart - self.alike.apart) / self.gain**2

    @cached_property
    def _lines(self) -> Sequence[Integers]:
        """For each of the heaviest nodes, on which line through it each node is."""
        lines = (self.pairs.pool.lines_through(node) for node in self.heaviest.tolist())
        return [np.unique(one, return_inverse=True)[1] for one in lines]

    @cached_property
    def _table(self) -> Floats:
        """What each two nodes add, by all people."""
        k = self.shares.size
        tied, kept = np.zeros((k, k)), np.arange(k)
        for node, share in enumerate(self.shares.tolist()):
            lines = self.pairs.pool.lines_through(node)
            tied += share * (lines[:, None] == lines)
        # a person is on no line with oneself, so that two others are all that count
        others = self.shares.sum() - self.shares[:, None] - self.shares
        found = self._rates[0] * tied + self._rates[1] * others
        found[kept, kept] = 0.0
        return np.asarray(found)
