"""Defines what is wanted of a choice, the least error under caps, and what will be read of an attribute.

Nobody reads a hundred shares of single years, or the cells of a map one by one. Of a long range people read
groups and the mean, of a map its blocks, of a number its mean. By how far off that would be, protocols are
judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from numbers import Real
from typing import Literal, final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Domain, Product, Range
from deniable.domain.grid import Grid
from deniable.domain.groups import list_groups
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import Printed, format_count, format_percent
from deniable.law.law import ReportLaw
from deniable.metric.means import Averages


@final
@dataclass(frozen=True)
class Objective(Printed):
    """What is wanted: the least error of what will be read, under caps.

    The error of an attribute is the standard error of what will be read of it: shares of values, groups and
    the mean of a long range, blocks of a map, the mean of a number (see `Reading`). It is taken relative to
    the least that any choice reaches for that attribute. The score of a choice is the geometric mean of these
    ratios, so that the unit of no attribute matters. Important attributes weigh more.

    Errors can also be taken as they are, in points of a share and in parts of a number's range: `squares` and
    `worst`. Each attribute then counts with the first that is read of it, and a table with the cells of its
    pairs. Questions that are hard to know are then drawn more often. Metric attributes have an epsilon of
    their own, and are left out where others are asked.
    """

    success_cap: float | None = None
    """No attacker's guess of an attribute that is reported may be right more often than this, even if it is
    known which one that is. Where people are asked again, it is the guess from any number of reports of one
    value. All values are thought equally likely, unless there are public priors (`consider`), which an
    attacker knows: none can be below the largest.
    """
    bytes_cap: int | None = None
    """No report may take more bytes than this."""
    influence_cap: float | None = None
    """No report that was made up may count for more people than this: 1 % of fake reports then moves a
    share by at most this many points.
    """
    worst: bool = False
    """Judge by the largest error of any attribute, as it is."""
    tolerance: float = 0.03
    """Take the smallest reports among choices whose score is at most this much above the least."""
    f: float | None = None
    """Judge by the variance at this share (the papers: 0) instead of the average over the domain."""
    people: Literal["answered", "everyone"] = "everyone"
    """Whom the error is about where each person reports r attributes of d (SMP): the n r / d people who
    answered for it, or all n. The latter adds f (1 - f) (d / r - 1) / n, averaged over the values of a
    uniform truth, where it is largest: little at small epsilon, and nearly all of the error at large epsilon.
    """
    squares: bool = False
    """Judge by the mean of squared errors, as they are."""
    counted_in: Literal["collector", "warehouse"] = "collector"
    """Where reports are counted. A warehouse (DuckDB, PostgreSQL, Spark) counts by groups. Of a report that
    is hashed by a function of its own it takes a hash for each value, which takes much longer: such protocols
    are left out there, and hashes of a public pool join.
    """

    def __post_init__(self) -> None:
        if self.success_cap is not None and not (_is_number(self.success_cap) and 0 < self.success_cap <= 1):
            raise InvalidParameter(
                f"success_cap is a probability above 0 and at most 1, got {self.success_cap!r}"
            )
        if self.bytes_cap is not None:
            whole_number("bytes_cap", self.bytes_cap, 1)
        if self.influence_cap is not None and not (
            _is_number(self.influence_cap) and 1 < self.influence_cap < math.inf
        ):
            raise InvalidParameter(
                "influence_cap is a number of people that a report may count for, above 1, got "
                f"{self.influence_cap!r}"
            )
        if not (_is_number(self.tolerance) and 0 <= self.tolerance <= 1):
            raise InvalidParameter(
                "tolerance is how much more error a smaller report may have, from 0 to 1 (0.03 is 3 %), got "
                f"{self.tolerance!r}"
            )
        for name in ("worst", "squares"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name} is true or false, got {getattr(self, name)!r}")
        if self.worst and self.squares:
            raise InvalidParameter(
                "worst looks at the largest error, squares at the mean of all; give one of them"
            )
        if self.f is not None and not (_is_number(self.f) and 0 <= self.f <= 1):
            raise InvalidParameter(f"f is a share from 0 to 1, got {self.f!r}")
        if self.people not in ("answered", "everyone"):
            raise InvalidParameter(f"people is 'answered' or 'everyone', got {self.people!r}")
        if self.counted_in not in ("collector", "warehouse"):
            raise InvalidParameter(
                f"counted_in is the place, 'collector' or 'warehouse', got {self.counted_in!r}"
            )

    def __str__(self) -> str:
        error = f"the least {self.goal}"
        caps = [] if self.f is None else [f"at a share of {self.f:g}"]
        if self.success_cap is not None:
            caps.append(f"best guess right at most {format_percent(self.success_cap)}")
        if self.bytes_cap is not None:
            caps.append(f"at most {format_count(self.bytes_cap, 'byte')} a report")
        if self.influence_cap is not None:
            caps.append(f"a fake report counts for at most {self.influence_cap:g} people")
        if self.counted_in == "warehouse":
            caps.append("counted in a warehouse")
        return f"Objective: {', '.join([error, *caps])}"

    @property
    def about_everyone(self) -> bool:
        """Whether what sampling leaves unknown about those who did not answer is counted."""
        return self.people == "everyone" and self.f is None

    @property
    def goal(self) -> str:
        """What is to be small, in words."""
        if self.squares:
            return "mean of squared errors"
        return f"error of the {'worst attribute' if self.worst else 'attributes on average'}"

    @property
    def is_absolute(self) -> bool:
        """Whether errors are taken as they are, and not relative to the least of each attribute."""
        return self.worst or self.squares

    def score(self, variances: Sequence[float], least: Sequence[float], weights: Sequence[float]) -> float:
        """How many times the least standard errors these are: on average, or in the worst attribute."""
        if self.is_absolute:
            join = max if self.worst else math.fsum
            error, least_error = (
                join([weight * variance for weight, variance in zip(weights, values, strict=True)])
                for values in (variances, least)
            )
            return _ratio(error, least_error)
        ratios = [_ratio(variance, other) for variance, other in zip(variances, least, strict=True)]
        if math.inf in ratios:
            return math.inf
        logs = (weight * math.log(ratio) for ratio, weight in zip(ratios, weights, strict=True))
        return math.exp(math.fsum(logs) / math.fsum(weights))

    def cost(self, unit: float, importance: float) -> float:
        """What an attribute with this error adds to what is to be small."""
        if not 0 < unit < math.inf:
            return unit
        return importance * (unit if self.is_absolute else math.log(unit))

    def variances(self, readings: Sequence[Reading], law: ReportLaw, one_in: float) -> tuple[float, ...]:
        """The variance of each reading for one person, if one in `one_in` answers for each value.

        About everyone, what people differ by who were not asked comes on top.
        """
        return tuple(
            reading.noise(law, self.f) * one_in
            + (reading.spread(law) * (one_in - 1) if self.about_everyone else 0.0)
            for reading in readings
        )

    def unit(self, readings: Sequence[Reading], law: ReportLaw, one_in: float) -> float:
        """All of them in one number."""
        return self.combine(readings, self.variances(readings, law, one_in))

    def combine(self, readings: Sequence[Reading], variances: Sequence[float]) -> float:
        """One number for the variances of all readings: by it choices are compared."""
        if not self.is_absolute:
            return combine(variances)
        first = readings[0].what
        pairs = zip(readings, variances, strict=True)
        weighted = [reading.importance * variance for reading, variance in pairs if reading.what == first]
        return max(weighted) if self.worst else math.fsum(weighted)


def _ratio(variance: float, least: float) -> float:
    if least <= 0.0:
        return 1.0 if variance <= 0.0 else math.inf
    return math.sqrt(variance / least)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
        if self.share is not None and f is None:
            return float(np.mean(law.variance(1, [self.share, 1 - self.share], "fixed")))
        noise = law.error(1, f) if self.table is None else _average_noise(self, law)
        return noise / self.answered**2

    def spread(self, law: ReportLaw) -> float:
        """The variance of what one person adds, if people are spread evenly over the values."""
        if self.share is not None:
            return self.share * (1 - self.share)
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
    share: float | None = None
    """The share of yes, the first of two values, where it is known on average: of options that people choose
    some of.
    """
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
def list_readings(
    domain: Domain, k: int, answered: float = 1.0, share: float | None = None
) -> tuple[Reading, ...]:
    """What will be read of an attribute with k values: those of its domain, and "no answer" where it is one.

    If only a part of the people are expected to have `answered`, it is what will be read of these. `share` is
    the average share of yes, of an option of which that is known.

    >>> [reading.what for reading in list_readings(Range(0, 100), 100)]
    ['group', 'mean']
    >>> [reading.what for reading in list_readings(Range(0, 100, step=10, open_high=True), 10)]
    ['share', 'median']
    """
    if share is not None and k == 2 and answered == 1.0:
        return (Reading("share", share=share),)
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
