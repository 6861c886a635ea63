"""Says what will be read of an attribute, and how far off it would be: by this its protocol is judged.

Nobody reads a hundred shares of single years, or the cells of a map one by one. Of a long range people read
groups and the mean, of a map its blocks, of a number its mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Domain, Product, Range
from deniable.domain.grid import Grid
from deniable.domain.groups import list_groups
from deniable.domain.number import Number
from deniable.law.law import ReportLaw
from deniable.metric.means import Averages


@final
@dataclass(frozen=True, eq=False)
class Reading:
    """Weighted sums of an attribute's shares; its error is their variance, averaged over the sums."""

    what: str
    """What it is, for one of them: "share", "group", "block", "mean", "median"; "cell" of a table, and the
    "row share" of a cell among the people of its row.
    """
    table: Floats | None = None
    """The weights of every sum, by rows; None for the share of each value, and for the mean of a number."""
    width: float | None = None
    """How many units of the attribute 1 is worth, where it is no share."""
    answered: float = 1.0
    """The share of people who are expected to answer; what is read is then of these."""
    answers: int | None = None
    """How many of the values are answers, where people without one have values of their own. Else a random
    value stands for each of them.
    """

    def noise(self, law: ReportLaw, f: float | None = None) -> float:
        """The variance from one report of a person who answered; with f, at that share."""
        noise = law.error(1, f) if self.table is None else _average_noise(self, law)
        return noise / self.answered**2

    def spread(self, law: ReportLaw) -> float:
        """The variance of what one person adds, if people are spread evenly over the values."""
        if self.answers is not None:  # people without an answer add nothing
            return self._own_spread / self.answered
        if self.table is not None:
            spread = self._own_spread
        else:
            spread = law.spread if isinstance(law, Averages) else (1 - 1 / law.k) / law.k
        return spread / self.answered**2

    @cached_property
    def _own_spread(self) -> float:
        if self.table is None:
            assert self.answers is not None
            return (1 - 1 / self.answers) / self.answers
        return float(self.table[:, : self.answers].var(axis=1).mean())

    importance: float = 1.0
    """How much it weighs among what is read of the attribute, where errors are taken as they are."""
    parts: int | None = None
    """Into how many parts a whole is divided, where that is not by all of them."""
    people: Callable[[float], int] | None = None
    """How many people a margin takes, where the error does not fall with the root of their number."""

    def count(self, law: ReportLaw) -> int:
        """How many sums there are; of row shares, in each row."""
        if self.parts is not None:
            return self.parts
        if self.table is not None:
            return len(self.table)
        return law.k if self.answers is None else self.answers


@lru_cache(maxsize=1 << 12)
def _average_noise(reading: Reading, law: ReportLaw) -> float:
    """Once for each: the same part is compared in many choices."""
    assert reading.table is not None
    return float(law.sum_errors(reading.table).mean())


FOUND = "found"
"""What is read of values that nobody listed: those that are found."""
COMMON = 20
"""A value that one person in so many has is common, where values are not listed."""
_MOST_WEIGHTS = 1 << 20  # of sums of cells, which are looked at one by one
_MOST_ALONE = 256  # shares of more values are so small that their sum does not matter to each
SHARES = (Reading("share"),)
"""What is read of an attribute unless its domain says more: the share of each value."""


@lru_cache(maxsize=256)
def list_readings(domain: Domain, k: int, answered: float = 1.0) -> tuple[Reading, ...]:
    """What will be read of an attribute with k values: those of its domain, and "no answer" where it is one.

    If only a part of the people are expected to have `answered`, it is what will be read of these.

    >>> [reading.what for reading in list_readings(Range(0, 100), 100)]
    ['group', 'mean']
    >>> [reading.what for reading in list_readings(Range(0, 100, step=10, open_high=True), 10)]
    ['share', 'median']
    """
    if answered < 1.0:
        return tuple(_among(reading, domain, k, answered) for reading in list_readings(domain, k))
    if isinstance(domain, Number):
        return (Reading("mean", width=domain.high - domain.low),)
    if isinstance(domain, Product):
        return tuple(_read_cells(domain, k))
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


def _read_cells(domain: Product, k: int) -> Iterator[Reading]:
    """The cells of every pair of questions, and of a pair the shares of a row's people."""
    cells = np.arange(domain.k).reshape(domain.shape)
    pairs = list(combinations(range(cells.ndim), 2))
    sizes = [domain.shape[a] * domain.shape[b] for a, b in pairs]
    if sum(sizes) * k > _MOST_WEIGHTS:
        yield Reading("cell")
        return
    for (a, b), size in zip(pairs, sizes, strict=True):
        if len(pairs) == 1 and k == domain.k:
            yield Reading("cell")
        else:
            table = np.zeros((size, k))
            for row, values in zip(table, np.moveaxis(cells, (a, b), (0, 1)).reshape(size, -1), strict=True):
                row[values] = 1.0
            yield Reading("cell", table)
    if len(pairs) == 1:
        rows, columns = domain.shape
        share = np.kron(np.eye(rows), np.eye(columns) - 1 / columns) * rows
        yield Reading("row share", np.pad(share, ((0, 0), (0, k - domain.k))), parts=columns)


def _among(reading: Reading, domain: Domain, k: int, answered: float) -> Reading:
    """The reading among people who answered: a sum, less its share of all answers, divided by their number.

    People are taken to be spread evenly, so that how uncertain their number is does not matter.
    """
    if isinstance(domain, Number) or k == domain.k:  # random values are spread evenly, too
        return replace(reading, answered=answered)
    table, answers = reading.table, domain.k
    if table is None and answers <= _MOST_ALONE:
        table = np.eye(answers, k)
    if table is not None:
        table = table[table[:, :answers].any(axis=1)].copy()
        table[:, :answers] -= table[:, :answers].mean(axis=1, keepdims=True)
    return replace(reading, table=table, answered=answered, answers=answers)


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
