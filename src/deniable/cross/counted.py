"""Holds the counts that a table is read from, where these are binomial: exact intervals need no variance.

If two unknown numbers are seen by independent counts, one takes its end at z cos(angle) standard deviations
of a normal number and the other at z sin(angle). The worst point of that quarter of a circle is the end of
their difference, or of anything else that rises with one and falls with the other. That is exact for normal
numbers, and needs neither an estimate nor a variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.cross.spread import Supports
from deniable.estimate import Estimate
from deniable.estimate.intervals import clopper_pearson, reach_of, wilson
from deniable.summaries import Summary, sum_of
from deniable.summaries.ratios import fieller_within

Ends = tuple[Floats, Floats]
_STEPS = 7  # of Newton's, from an end that is nearly right
_CLOSE = 1e-12
_HUGE = 1e9  # from here on Wilson's ends agree, and sums of binomials take long
_HALF_CIRCLE = 16  # parts
MANY = 1000
"""Reports that name a row, from which on a normal number is as good as a count."""
_MANY_OF_EACH = 100  # the same of those that name a cell, and of those that name another one of the row
_WHOLE = (0.0, 1.0)
_LEAST_LEVEL = 1e-9  # of confidence, at the end of a circle
_TINY = 1e-9
_ANGLES = 33


@final
@dataclass(frozen=True, eq=False)
class Counts:
    """Reports that are counted, each with the chance `blind + gain * share`: a binomial count for each share.

    >>> rows = Counts(np.array([3.0, 0.0]), np.array([300.0, 300.0]))
    >>> [end.round(4).tolist() for end in rows.interval(0.025)]
    [[0.0021, 0.0], [0.0289, 0.0122]]
    """

    counts: Floats
    n: Floats
    blind: Floats | float = 0.0
    gain: float = 1.0
    angles: int = _ANGLES

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares; nan where there is no report."""
        with np.errstate(invalid="ignore"):
            return np.asarray((np.divide(self.counts, self.n) - self.blind) / self.gain)

    @cached_property
    def variances(self) -> Floats:
        """How far the shares may be off, as if two more reports had come, one of them counted."""
        least = np.broadcast_to(self.blind, self.counts.shape)
        chance = ((self.counts + 1) / (self.n + 2)).clip(least, least + self.gain)
        return np.asarray(chance * (1 - chance) / (np.maximum(self.n, 1) * self.gain**2))

    @property
    def is_small(self) -> bool:
        """Whether a count is so small that a normal number would be wrong."""
        return bool(self.counts.min() <= MANY)

    @property
    def is_needed(self) -> npt.NDArray[np.bool_]:
        """Exact intervals are used for all counts."""
        return np.ones(self.counts.shape, dtype=np.bool_)

    def interval(self, tail: float) -> Ends:
        """Clopper and Pearson's ends, cut to 0..1; all of that where there is no report.

        Where none of it is in 0..1, it is that of nobody or of everybody: from 0 to 0 would be certainty.
        """
        n = np.broadcast_to(self.n, self.counts.shape)
        low, high = self._find_exact(self.counts, n, tail)
        nobody, everybody = np.floor(n * self.blind), np.ceil(n * (self.blind + self.gain))
        nearest = np.where(high < 0, nobody, np.where(low > 1, everybody, self.counts))
        low, high = (end.clip(*_WHOLE) for end in self._find_exact(nearest, n, tail))
        return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)

    def find_ends(self, reach: Floats) -> Ends:
        """The mid-P ends of every share at each reach, cut to 0..1; the reaches are the last axis."""
        arrays = np.broadcast_arrays(self.counts, self.n, self.blind)
        counts, n, blind = (array[..., None] for array in arrays)
        low, high = (((end - blind) / self.gain).clip(*_WHOLE) for end in find_mid_ends(counts, n, reach))
        return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)

    def look_at(self, a: int, b: int) -> Seen:
        """One share, to be compared with another."""
        counts, n, blind = (
            array[a, b] for array in np.broadcast_arrays(self.counts, self.n, np.asarray(self.blind))
        )
        single = Counts(counts, n, blind, self.gain)
        return Seen(float(self.shares[a, b]), float(self.variances[a, b]), single.find_ends)

    def _find_exact(self, counts: Floats, n: Floats, tail: float) -> Ends:
        low, high = clopper_pearson(counts, np.maximum(n, 1), tail)
        return np.asarray((low - self.blind) / self.gain), np.asarray((high - self.blind) / self.gain)


@final
@dataclass(frozen=True, eq=False)
class NamedCells:
    """Reports that name a row, and one of its cells: of `n` reports `row_counts` are of the row."""

    counts: Floats
    """By rows and columns."""
    row_counts: Floats
    """A column of numbers, one for each row; n alike."""
    n: Floats
    blind: Floats
    """The share of reports that name a cell by chance alone."""
    row_blind: Floats
    gain: float
    angles: int = 9

    @staticmethod
    def read(supported: Supported, sums: Floats, shape: tuple[int, int], n: Floats) -> NamedCells:
        """From how many reports support each value, and the weights of the values in each cell."""
        counts = (sums @ supported.counts).reshape(shape)
        blind = _divide((sums @ supported.blind).reshape(shape), np.broadcast_to(n, shape))
        row_counts, row_blind = (array.sum(axis=1, keepdims=True) for array in (counts, blind))
        return NamedCells(counts, row_counts, n, blind, row_blind, supported.law.gain)

    def count_rows(self) -> Counts:
        """The reports that name each row, of those that might."""
        return Counts(self.row_counts[:, 0], self.n[:, 0], self.row_blind[:, 0], self.gain)

    def count_columns(self, n: float) -> Counts:
        """The reports that name each column."""
        counts, blind = self.counts.sum(axis=0), self.blind.sum(axis=0)
        return Counts(counts, np.full(counts.shape, n), blind, self.gain)

    @cached_property
    def shares(self) -> Floats:
        """The unbiased number of people in a cell over that of its row; nan where no more than by chance."""
        row = self.row_counts - self.n * self.row_blind
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(row > 0, (self.counts - self.n * self.blind) / row, np.nan)

    @cached_property
    def variances(self) -> Floats:
        """To first order, as if two more reports had come for each count, one of them counted."""
        row = ((self.row_counts + 1) / (self.n + 2)).clip(self.row_blind, self.row_blind + self.gain)
        cell, above = (self.counts + 1) / (self.row_counts + 2), row - self.row_blind
        with np.errstate(divide="ignore", invalid="ignore"):
            by_cell = (row / above) ** 2 * cell * (1 - cell) / np.maximum(self.row_counts, 1)
            moved = (self.blind - cell * self.row_blind) / above**2
            by_row = moved**2 * row * (1 - row) / np.maximum(self.n, 1)
            return np.where(above > 0, by_cell + by_row, np.inf)

    @cached_property
    def is_needed(self) -> npt.NDArray[np.bool_]:
        """Where few reports name the row, or the cell, or another cell of the row."""
        others = self.row_counts - self.counts
        return np.asarray((self.row_counts <= MANY) | (np.minimum(self.counts, others) <= _MANY_OF_EACH))

    def interval(self, tail: float) -> Ends:
        """The shares that both counts allow, cut to 0..1.

        Where none of them is in 0..1, they are those of a cell that nobody of the row is in, or everybody.
        """
        low, high = self._find_ends(self.counts, tail)
        nobody = np.floor(self.n * self.blind)
        everybody = self.row_counts - np.floor(self.n * (self.row_blind - self.blind))
        nearest = np.where(high <= 0, nobody, np.where(low >= 1, everybody, self.counts))
        return self._find_ends(nearest.clip(0.0, self.row_counts), tail)

    def _find_ends(self, counts: Floats, tail: float) -> Ends:
        return find_row_ends(
            counts, self.row_counts, self.n, self.blind, self.row_blind, np.asarray(reach_of(tail))
        )

    def look_at(self, a: int, b: int) -> Seen:
        """One share, to be compared with another."""
        arrays = (self.counts, self.row_counts, self.n, self.blind, self.row_blind)
        counts, row_counts, n, blind, row_blind = (
            np.broadcast_to(array, self.counts.shape)[a, b] for array in arrays
        )

        def find_ends(reach: Floats) -> Ends:
            return find_row_ends(counts, row_counts, n, blind, row_blind, reach)

        return Seen(float(self.shares[a, b]), float(self.variances[a, b]), find_ends)


@final
@dataclass(frozen=True, eq=False)
class Products:
    """Shares of all people who are in a known group and answered: each is a product of two shares."""

    sizes: Counts
    answered: Counts

    @property
    def shares(self) -> Floats:
        """The unbiased shares; those of a group without reports about the question are 0."""
        return np.nan_to_num(self.sizes.shares * self.answered.shares)

    @property
    def variances(self) -> Floats:
        """To first order; never 0."""
        sizes, answered = (np.nan_to_num(array.shares.clip(*_WHOLE)) for array in (self.sizes, self.answered))
        return np.asarray(sizes**2 * self.answered.variances + answered**2 * self.sizes.variances)

    @property
    def is_small(self) -> bool:
        """Whether a count is so small that a normal number would be wrong."""
        return self.sizes.is_small or self.answered.is_small

    def interval(self, tail: float) -> Ends:
        """By a quarter of a circle, on which both ends are the low ones, or both the high ones."""
        along, across = list_angles(_ANGLES, reach_of(tail))
        sizes, answered = self.sizes.find_ends(along), self.answered.find_ends(across)
        return (sizes[0] * answered[0]).min(axis=-1), (sizes[1] * answered[1]).max(axis=-1)


@final
@dataclass(frozen=True, eq=False)
class SummedGroups:
    """Estimates of each row's people, where a column is several values that one report may support."""

    estimates: Sequence[Estimate | None]
    """One for each row; None where there is no report."""
    columns: Sequence[Integers]
    """The values of each column."""
    angles: int = _ANGLES

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares; nan where there is no report."""
        return self._list(lambda summary: summary.value, 0.95, math.nan)

    @cached_property
    def variances(self) -> Floats:
        """The squares of standard errors."""
        return self._list(lambda summary: summary.stderr**2, 0.95, math.inf)

    @property
    def is_needed(self) -> npt.NDArray[np.bool_]:
        """Each row is read from its group's own reports."""
        return np.ones((len(self.estimates), len(self.columns)), dtype=np.bool_)

    def interval(self, tail: float) -> Ends:
        """The ends of sums of shares, as they are shown."""
        low = self._list(lambda summary: summary.cut().low, 1 - 2 * tail, 0.0)
        return low, self._list(lambda summary: summary.cut().high, 1 - 2 * tail, 1.0)

    def look_at(self, a: int, b: int) -> Seen:
        """One share, to be compared with another."""
        estimate, values = self.estimates[a], self.columns[b]

        def find_ends(reach: Floats) -> Ends:
            if estimate is None:
                return np.zeros(reach.shape), np.ones(reach.shape)
            levels = (1 - 2 * tail_of(reach)).clip(_LEAST_LEVEL, None).tolist()
            summaries = [sum_of(estimate, values, level) for level in levels]
            low, high = (
                np.array([getattr(summary, end) for summary in summaries]) for end in ("low", "high")
            )
            return low.clip(*_WHOLE), high.clip(*_WHOLE)

        return Seen(float(self.shares[a, b]), float(self.variances[a, b]), find_ends)

    def _list(self, read: Callable[[Summary], float], level: float, unseen: float) -> Floats:
        """A number of each share."""

        def figure(estimate: Estimate | None, values: Integers) -> float:
            return unseen if estimate is None else read(sum_of(estimate, values, level))

        return np.array(
            [[figure(estimate, values) for values in self.columns] for estimate in self.estimates]
        )


SideCounts = Counts | Products
"""What counts say of the share of each row, or of each column, among all people."""
RowCounts = Counts | NamedCells | SummedGroups
"""What counts say of the shares of each row's people."""


@final
@dataclass(frozen=True, eq=False)
class Supported:
    """How many reports support each value, in the order of the values of a source."""

    law: Supports
    counts: Floats
    reports: Floats
    """How many reports are about each value."""
    blind: Floats
    """How many of these support it by chance alone, on average."""
    is_complete: bool
    """Whether everybody has one of the cells' values."""
    groups: Floats | None = None
    """How many reports about the question each known group has, where the cells are of groups."""
    group_counts: Floats | None = None
    """How many reports name each known group, whatever they are about."""

    @staticmethod
    def of_estimate(estimate: Estimate, law: Supports, is_complete: bool) -> Supported:
        """The counts that an estimate is from."""
        about = np.asarray(estimate.n if estimate.asked is None else estimate.asked, dtype=np.float64)
        reports = np.broadcast_to(about, estimate.support_counts.shape)
        counts = estimate.support_counts.astype(np.float64)
        return Supported(law, counts, reports, reports * law.q, is_complete)

    @cached_property
    def names_one(self) -> bool:
        """Whether every report supports one value and no other."""
        everybody, ones = np.full(self.law.k, 1 / self.law.k), np.ones((1, self.law.k))
        size = float(np.broadcast_to(self.law.q, self.law.k).sum()) + self.law.gain
        square = float(self.law.pairs.joint_sums(ones, everybody)[0, 0])
        return abs(size - 1) < _TINY and abs(square - 1) < _TINY


@final
@dataclass(frozen=True, eq=False)
class Counted:
    """The counts of a table: of shares of each row's people, and of rows and columns among all."""

    cells: RowCounts | None = None
    rows: SideCounts | None = None
    columns: SideCounts | None = None


def count_secret(supported: Supported, sums: Floats, shape: tuple[int, int]) -> Counted:
    """The counts of a table whose reports name one cell; none where they may support several.

    `sums` has a row of weights for each cell, by which the values of the source are summed.
    """
    n = float(supported.reports.max())
    if not supported.names_one or supported.reports.min() < n:
        return Counted()
    cells = NamedCells.read(supported, sums, shape, np.full((shape[0], 1), n))
    return Counted(cells, cells.count_rows(), cells.count_columns(n))


def count_by_groups(
    supported: Supported, sums: Floats, shape: tuple[int, int], weights: Floats, positions: Integers
) -> Counted:
    """The counts of a table whose rows are known groups: each row is a study of its own.

    `weights` says which groups are in each row, and `positions` where the values of each group are.
    """
    assert supported.groups is not None
    assert supported.group_counts is not None
    people, everybody = weights @ supported.groups, float(supported.groups.sum())
    reports = np.full(shape[0], float(supported.group_counts.sum()))
    sizes = Counts(np.rint(weights @ supported.group_counts), reports)
    values = sums.sum(axis=1).reshape(shape) / weights.sum(axis=1, keepdims=True)
    is_binomial = supported.names_one or bool((values == 1).all())
    about = (sums @ supported.reports).reshape(shape) / values
    if not is_binomial:
        if not supported.is_complete or (about != people[:, None]).any():
            return Counted(None, sizes if supported.is_complete else None)
        return Counted(_sum_groups(supported, sums, shape, weights, positions), sizes)
    counts, blind = (sums @ supported.counts).reshape(shape), (sums @ supported.blind).reshape(shape)
    columns = Counts(
        counts.sum(axis=0), about.sum(axis=0), blind.sum(axis=0) / about.sum(axis=0), supported.law.gain
    )
    if supported.is_complete:
        return Counted(Counts(counts, about, _divide(blind, about), supported.law.gain), sizes, columns)
    if not supported.names_one or everybody == 0:
        return Counted(None, None, columns)
    cells = NamedCells.read(supported, sums, shape, people[:, None])
    return Counted(cells, Products(sizes, cells.count_rows()), columns)


def count_of_groups(supported: Supported, sums: Floats, shape: tuple[int, int], weights: Floats) -> Counted:
    """The counts of a table whose columns are known groups: reports that support a row, and their groups."""
    assert supported.groups is not None
    assert supported.group_counts is not None
    n = float(supported.groups.sum())
    values = sums.sum(axis=1).reshape(shape) / weights.sum(axis=1)
    is_binomial = supported.names_one or bool((values == 1).all())
    about = (sums @ supported.reports).reshape(shape) / values
    sizes = Counts(
        np.rint(weights @ supported.group_counts), np.full(shape[1], float(supported.group_counts.sum()))
    )
    columns = sizes if supported.is_complete else None
    if not is_binomial or n == 0 or (about != weights @ supported.groups).any():
        return Counted(None, None, columns)
    cells = NamedCells.read(supported, sums, shape, np.full((shape[0], 1), n))
    return Counted(cells, cells.count_rows(), columns)


def _sum_groups(
    supported: Supported, sums: Floats, shape: tuple[int, int], weights: Floats, positions: Integers
) -> SummedGroups:
    assert supported.groups is not None
    people, counts = weights @ supported.groups, weights @ supported.counts[positions]
    estimates = [
        Estimate(int(n), np.rint(supports).astype(np.int64), supported.law) if n else None
        for n, supports in zip(people.tolist(), counts, strict=True)
    ]
    first = positions[int(np.argmax(weights[0]))]
    columns = [np.flatnonzero(row[first]) for row in sums.reshape(*shape, -1)[0]]
    return SummedGroups(estimates, columns)


def _divide(counts: Floats, n: Floats) -> Floats:
    """Shares; 0 where there is nothing to divide by."""
    return np.asarray(np.divide(counts, n, out=np.zeros(counts.shape), where=n > 0))


def tail_of(reach: npt.ArrayLike) -> Floats:
    """How often a normal number is so many standard deviations too large."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-np.asarray(reach)))


def find_mid_ends(counts: npt.ArrayLike, n: npt.ArrayLike, reach: npt.ArrayLike) -> Ends:
    """The shares at which half of the chance of the count itself and all beyond it is that of the reach.

    These are the mid-P ends of a binomial count. They miss about as often as they say, where exact ones miss
    less often. Of no reports they are 0 and 1.

    >>> low, high = find_mid_ends([0, 1], 20, 1.96)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0025], [0.1391, 0.2228])
    """
    x, trials, steps = np.broadcast_arrays(
        *(np.asarray(array, dtype=np.float64) for array in (counts, n, reach))
    )
    return _find_mid_low(x, trials, steps), np.asarray(1 - _find_mid_low(trials - x, trials, steps))


def _find_mid_low(counts: Floats, n: Floats, reach: Floats) -> Floats:
    """The lower ends; where all of n are counted the equation has a closed form."""
    tail, ends = tail_of(reach), np.zeros(counts.shape)
    is_all, is_huge = (counts >= n) & (n > 0), np.minimum(counts, n - counts) > _HUGE
    ends[is_all] = np.minimum(2 * tail[is_all], 1.0) ** (1 / n[is_all])
    for i in np.argwhere(is_huge):
        at = tuple(i)
        ends[at] = float(wilson(counts[at], int(n[at]), float(tail[at]))[0])
    between = (counts > 0) & (counts < n) & ~is_huge
    if between.any():
        ends[between] = _solve_mid(counts[between], n[between], tail[between])
    return ends


def _solve_mid(x: Floats, n: Floats, tail: Floats) -> Floats:
    """By Newton's method, each step within the sides that are known to be too small and too large."""
    from scipy.special import betainc, betaincinv, gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    small, large = np.zeros(x.shape), np.ones(x.shape)
    share = betaincinv(x + 0.5, n - x + 0.5, tail)
    for _ in range(_STEPS):
        share = share.clip(1e-300, 1 - 1e-16)
        chance = np.exp(ways + xlogy(x, share) + xlog1py(n - x, -share))
        above = betainc(x, n - x + 1, share) - chance / 2 - tail
        small, large = np.where(above < 0, share, small), np.where(above > 0, share, large)
        slope = chance / 2 * (x / share + (n - x) / (1 - share))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = share - above / slope
        last, share = share, np.where((step >= small) & (step <= large), step, (small + large) / 2)
        if np.abs(share - last).max() < _CLOSE:
            break
    return np.asarray(share)


def find_row_ends(
    counts: Floats, row_counts: Floats, n: Floats, blind: Floats, row_blind: Floats, reach: npt.ArrayLike
) -> Ends:
    """The shares of a row's people who are in one cell, where `row_counts` of n reports name the row, and
    `counts` of these the cell.

    Both counts are binomial and independent: the share of reports that name the row, r, and of these that
    name the cell, c. By chance alone `blind` and `row_blind` of all reports do, so that the share of the
    row's people is (c r - blind) / (r - row_blind). Where as many may name the row by chance, it may be
    anything.
    """
    arrays = (counts, row_counts, n, blind, row_blind, np.asarray(reach, dtype=np.float64))
    x, rows, trials, cell, row, steps = (array[..., None] for array in np.broadcast_arrays(*arrays))
    angles = np.arange(_HALF_CIRCLE + 1) * np.pi / _HALF_CIRCLE
    along, across = np.cos(angles), np.sin(angles)
    least, many = find_mid_ends(rows, trials, steps * np.abs(along))
    seen = np.where(along < 0, least, many)
    is_seen = seen > row
    ends = []
    for inside in find_mid_ends(x, rows, steps * across):
        with np.errstate(divide="ignore", invalid="ignore"):
            ends.append(((inside * seen - cell) / (seen - row)).clip(*_WHOLE))
    low, high = np.where(is_seen, ends[0], 0.0).min(axis=-1), np.where(is_seen, ends[1], 1.0).max(axis=-1)
    return np.asarray(low), np.asarray(high)


def find_ratio_ends(
    top: float, bottom: float, variances: tuple[float, float], covariance: float, reach: Floats
) -> Ends:
    """Fieller's ends of a share of a row's people at each reach; 0 and 1 where the row may have nobody."""
    low, high = np.zeros(reach.shape), np.ones(reach.shape)
    for i, tail in enumerate(tail_of(reach).tolist()):
        if bottom > float(reach[i]) * math.sqrt(max(variances[1], 0.0)):
            low[i], high[i] = fieller_within(top, bottom, variances, covariance, tail, _WHOLE)
    return low, high


class Seen(NamedTuple):
    """A share of a row's people: what is estimated, with what error, and its ends at any reach."""

    value: float
    """Unbiased, and so maybe below 0 or above 1; nan where there is no report."""
    variance: float
    ends: Callable[[Floats], Ends]


class Comparison(NamedTuple):
    """Something that rises with one share and falls with another."""

    find: Callable[[Floats, Floats, bool], Floats]
    """Its value for two shares; where it may be anything, the lower or the upper limit."""
    slopes: Callable[[float, float], tuple[float, float]]
    """How it moves with each share."""
    is_ratio: bool = True


def _divide_shares(top: Floats, bottom: Floats, is_low: bool) -> Floats:
    """A ratio of numbers that are not below 0; 0 / 0 may be anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(top, dtype=np.float64) / bottom
    return np.where(np.isnan(ratio), 0.0 if is_low else np.inf, ratio)


DIFFERENCE = Comparison(lambda first, other, _: first - other, lambda *_: (1.0, -1.0), is_ratio=False)
RATIO = Comparison(_divide_shares, lambda first, other: (1 / other, -first / other**2))
ODDS = Comparison(
    lambda first, other, is_low: _divide_shares(first * (1 - other), other * (1 - first), is_low),
    lambda first, other: ((1 - other) / (other * (1 - first) ** 2), -first / ((1 - first) * other**2)),
)


def list_angles(angles: int, reach: float) -> Ends:
    """How far each of two shares reaches, at so many angles of a quarter of a circle."""
    around = np.arange(angles) * np.pi / (2 * (angles - 1))
    return np.asarray(reach * np.cos(around)), np.asarray(reach * np.sin(around))


def compare_ends(comparison: Comparison, ends: Ends, other: Ends) -> Ends:
    """The worst points of a quarter of a circle, with the angles as the last axis of all ends."""
    low, high = comparison.find(ends[0], other[1], True), comparison.find(ends[1], other[0], False)
    return low.min(axis=-1), high.max(axis=-1)


def compare_shares(
    comparison: Comparison, share: Seen, other: Seen, reach: float, angles: int, points_of: str = ""
) -> Summary:
    """A difference, a ratio or a ratio of odds of two shares, by a quarter of a circle of so many angles.

    The value is that of the unbiased shares, moved into the interval; nan where one of them is not seen.
    """
    along, across = list_angles(angles, reach)
    low, high = map(float, compare_ends(comparison, share.ends(along), other.ends(across)))
    first, second = share.value, other.value
    is_seen = not math.isnan(first + second)
    if comparison.is_ratio:  # a share of nobody divides nothing
        is_seen = is_seen and second > 0 and (comparison is RATIO or first < 1)
    value, error = math.nan, math.inf
    if is_seen:
        slopes = comparison.slopes(first, second)
        error = math.sqrt(slopes[0] ** 2 * share.variance + slopes[1] ** 2 * other.variance)
        value = float(comparison.find(np.asarray(first), np.asarray(second), True))
        value = min(max(value, low), high)
    return Summary(value, error, low, high, is_ratio=comparison.is_ratio, points_of=points_of)
