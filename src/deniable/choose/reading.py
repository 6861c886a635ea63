"""Says what will be read of an attribute, and how far off it would be: by this its protocol is judged.

Nobody reads a hundred shares of single years, or the cells of a map one by one. Of a long range people read
groups and the mean, of a map its blocks, of a number its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.domain.groups import list_groups
from deniable.domain.number import Number
from deniable.law import ReportLaw
from deniable.metric import Averages


@final
@dataclass(frozen=True, eq=False)
class Reading:
    """Weighted sums of an attribute's shares; its error is their variance, averaged over the sums."""

    what: str
    """What it is, for one of them: "share", "group", "block", "mean", "median"."""
    table: Floats | None = None
    """The weights of every sum, by rows; None for the share of each value, and for the mean of a number."""
    width: float | None = None
    """How many units of the attribute 1 is worth, where it is no share."""

    def noise(self, law: ReportLaw, f: float | None = None) -> float:
        """The variance from one report of a person who answered; with f, at that share."""
        return law.error(1, f) if self.table is None else _average_noise(self, law)

    def spread(self, law: ReportLaw) -> float:
        """The variance of what one person adds, if people are spread evenly over the values."""
        if self.table is not None:
            return self._own_spread
        return law.spread if isinstance(law, Averages) else (1 - 1 / law.k) / law.k

    @cached_property
    def _own_spread(self) -> float:
        assert self.table is not None
        return float(self.table.var(axis=1).mean())

    def count(self, law: ReportLaw) -> int:
        """How many sums there are."""
        return law.k if self.table is None else len(self.table)


@lru_cache(maxsize=1 << 12)
def _average_noise(reading: Reading, law: ReportLaw) -> float:
    """Once for each: the same part is compared in many choices."""
    assert reading.table is not None
    return float(law.sum_errors(reading.table).mean())


SHARES = (Reading("share"),)
"""What is read of an attribute unless its domain says more: the share of each value."""


@lru_cache(maxsize=256)
def list_readings(domain: Domain, k: int) -> tuple[Reading, ...]:
    """What will be read of an attribute with k values: those of its domain, and "no answer" where it is one.

    >>> [reading.what for reading in list_readings(Range(0, 100), 100)]
    ['group', 'mean']
    >>> [reading.what for reading in list_readings(Range(0, 100, step=10, open_high=True), 10)]
    ['share', 'median']
    """
    if isinstance(domain, Number):
        return (Reading("mean", width=domain.high - domain.low),)
    groups = [values for _, values in list_groups(domain)]
    if groups:
        table = np.zeros((len(groups) + k - domain.k, k))
        table[len(groups) :, domain.k :] = np.eye(k - domain.k)
        for row, values in zip(table, groups, strict=False):
            row[values] = 1.0
        first = Reading("block" if isinstance(domain, Grid) else "group", table)
    else:
        first = SHARES[0]
    return (first, _middle(domain, k)) if isinstance(domain, Range) else (first,)


def _middle(domain: Range, k: int) -> Reading:
    """The mean of a range; where an end is open, or some give no answer, its median, which needs no ends.

    The median is off by as much of the range as the share of people below it is, if they are spread evenly.
    """
    width, bins = float(domain.step) * domain.bins, domain.bins
    weights = np.zeros((1, k))
    if k > bins or domain.open_low or domain.open_high:
        weights[0, : bins // 2] = 1.0
        return Reading("median", weights, width)
    weights[0] = (np.arange(bins) + 0.5) / bins - 0.5
    return Reading("mean", weights, width)


def combine(variances: Sequence[float]) -> float:
    """The geometric mean, which does not depend on the unit of any of them."""
    if min(variances) <= 0.0 or math.inf in variances:
        return min(variances) if min(variances) <= 0.0 else math.inf
    return math.exp(math.fsum(map(math.log, variances)) / len(variances))
