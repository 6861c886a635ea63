"""Estimates shares of ranges, cumulative shares and quantiles from the reports of all levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import Bins, Estimate, normal_quantile
from deniable.estimate.consistency import monotone
from deniable.exact import number, whole_number
from deniable.formatting import Printed, fill_paragraph, format_count
from deniable.frames import Backend, frame_of
from deniable.law import Law, finite
from deniable.ranges.tree import LeastSquares, Tree
from deniable.ranges.variances import Scatter, Variances, bound_influence
from deniable.summaries import Summary
from deniable.summaries.summaries import interpolate, span_quantile
from deniable.summaries.weighted import Weighing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN = 1000  # points of a curve
_SOME = 257  # edges whose errors stand for those of all
_MARGIN = 1.5  # how much larger than theirs other errors may be; lines of a pool add a sixth at most
_AT_ONCE = 1 << 10  # values that are looked at together for a quantile
_FEW = 20  # reports that support a value by chance, below which a sum of them is not yet normal


@final
@dataclass(frozen=True, eq=False)
class CumulativeShares(Printed):
    """The share of people below each edge: for display, as a curve that never falls.

    The curve is biased, as everything that was made to look like a distribution is. The ends are those of
    the unbiased shares, so that the curve may lie outside of a few of them.
    """

    n: int
    edges: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    """The curve, from 0 at the first edge to 1 at the last."""
    unbiased: Floats = field(repr=False)
    """What the reports say of each edge, by least squares."""
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    level: float = 0.95
    """How often the ends of one edge hold."""
    name: str = ""
    """The question that it is of."""

    def frame(self, backend: Backend | None = None) -> Any:
        """A dataframe of the library you already have: pandas, polars or pyarrow."""
        columns = {
            "below": self.edges,
            "share": self.shares,
            "unbiased": self.unbiased,
            "low": self.low,
            "high": self.high,
        }
        return frame_of(columns, backend)

    def plot(self) -> Figure:
        """A figure of matplotlib: the curve, and the interval of each edge around it."""
        from deniable.plot.figure import ESTIMATE, TRUTH, format_tick, style
        from deniable.plot.picture import Picture

        indices = np.unique(np.linspace(0, self.edges.size - 1, _DRAWN).astype(np.int64))
        across = self.edges[indices]
        # a share below 0 is below the truth: its interval reaches as far as it would from 0
        beyond = self.unbiased - np.clip(self.unbiased, 0, 1)
        low, high = self.low - np.maximum(beyond, 0), self.high - np.minimum(beyond, 0)
        ends = np.clip(low[indices], 0, 1), np.clip(high[indices], 0, 1)
        whose = f"{self.name}, " if self.name else ""
        reports = format_count(self.n, "report")
        title = f"{whose}{reports}: cumulative shares with {100 * self.level:g} % intervals"
        with style():
            figure = Picture(figsize=(5.4, 3.2), layout="constrained")
            axes = figure.subplots()
            axes.fill_between(across, *ends, color=TRUTH, alpha=0.35, linewidth=0, label="interval of each")
            axes.plot(across, self.shares[indices], color=ESTIMATE, label="people below")
            axes.set_xlim(float(across[0]), float(across[-1]))
            axes.set_ylim(0.0, 1.0)
            axes.yaxis.set_major_formatter(format_tick)
            axes.set_title(fill_paragraph(title, 64), loc="left", fontsize=10)
            axes.set_xlabel(self.name or "value")
            axes.set_ylabel("share of people below")
            axes.legend(loc="lower right")
        return figure

    def __str__(self) -> str:
        return f"Cumulative shares at {self.edges.size:,} edges, {format_count(self.n, 'report')}"


@final
@dataclass(frozen=True, eq=False)
class _JoinedVariances:
    """The variances of weighted sums of independent estimates of the same range."""

    groups: Sequence[RangeEstimate]
    weighing: Weighing

    def of_ranges(self, firsts: Integers, lasts: Integers) -> Floats:
        shares = np.array([group._below[lasts] - group._below[firsts] for group in self.groups])
        variances = np.array([group._variances.of_ranges(firsts, lasts) for group in self.groups])
        return self.weighing.join(variances, self.weighing.leave(shares))

    def of_curve(self, leaves: Integers) -> Floats:
        variances = np.array([group._variances.of_curve(leaves) for group in self.groups])
        below = np.array([group._below[leaves] for group in self.groups])
        return self.weighing.join(variances, self.weighing.leave(below))

    def of_sum(self, points: Floats) -> float:
        variances = np.array([group._variances.of_sum(points) for group in self.groups])
        sums = np.array([group.shares @ points for group in self.groups])
        return float(self.weighing.join(variances, self.weighing.leave(sums)))


@final
@dataclass(frozen=True, eq=False)
class RangeEstimate(Printed):
    """Shares of all values of a range, by least squares from the reports of all levels, coarsest first.

    Each person reported one level. Shares add up to 1 and are unbiased: they may be negative. Errors are
    those of people who are a sample, and intervals are normal.

    >>> from deniable.mechanisms import Tally, grr
    >>> parts = grr(4, 2.0), grr(16, 2.0)
    >>> counts = [400, 300, 200, 100], [100, 80, *[60] * 12, 50, 50]
    >>> estimates = [m.estimate(Tally(1000, one)) for m, one in zip(parts, counts, strict=True)]
    >>> half = RangeEstimate(Tree(k=16), estimates).range(0, 8)
    >>> round(half.value, 3), round(half.stderr, 3)
    (0.806, 0.022)
    """

    tree: Tree
    estimates: Sequence[Estimate] = field(repr=False)
    """The estimate of each level from its own reports."""
    bins: Bins | None = field(default=None, repr=False)
    """Where the values are on a line; they are 0, 1, 2, ... if this is left out."""
    groups: Sequence[RangeEstimate] = field(default=(), repr=False)
    """The estimates of the groups of a population that it is joined from, each as much as `weighing` says."""
    weighing: Weighing | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimates", tuple(self.estimates))
        sizes = tuple(estimate.k for estimate in self.estimates)
        if sizes != self.tree.sizes:
            text = f"the levels of this tree have {self.tree.sizes} nodes, got estimates of {sizes}"
            raise InvalidParameter(text)
        if self.bins is not None and self.bins.k != self.tree.k:
            raise InvalidParameter(f"there are {self.tree.k:,} values, got {self.bins.k:,} bins")

    @property
    def n(self) -> int:
        return sum(estimate.n for estimate in self.estimates)

    @property
    def k(self) -> int:
        return self.tree.k

    @cached_property
    def _laws(self) -> tuple[Law, ...]:
        laws = list[Law]()
        for estimate in self.estimates:
            if not isinstance(estimate.law, Law):
                text = "levels are reported as values, sets or hashes, each by a law of its own"
                raise InvalidParameter(text)
            laws.append(estimate.law)
        return tuple(laws)

    @cached_property
    def squares(self) -> LeastSquares:
        """How the levels are combined: by the noise of each and its number of reports."""
        pairs = zip(self._laws, self.estimates, strict=True)
        return LeastSquares(self.tree, tuple(Scatter.of(law).base / estimate.n for law, estimate in pairs))

    @cached_property
    def shares(self) -> Floats:
        """The unbiased share of each value; they add up to 1."""
        if self.weighing is not None:
            return np.asarray(self.weighing.weights @ np.array([group.shares for group in self.groups]))
        return self.squares.solve([estimate.frequencies for estimate in self.estimates])

    @cached_property
    def _below(self) -> Floats:
        """The unbiased share below each edge; all people are below the last."""
        below = np.concatenate([np.zeros(1), np.cumsum(self.shares)])
        below[-1] = 1.0
        return below

    @property
    def few(self) -> str:
        """Why intervals are not to be relied on: a level has few reports; empty where all have enough."""
        if self.groups:
            return next((group.few for group in self.groups if group.few), "")
        support = [
            estimate.n * min(float(np.max(estimate.law.q)), 1 - float(np.max(estimate.law.q)))
            for estimate in self.estimates
        ]
        level = int(np.argmin(support))
        if support[level] >= _FEW:
            return ""
        reports = format_count(self.estimates[level].n, "report")
        return (
            f"the level of {self.tree.sizes[level]:,} parts has only {reports}, so that its errors are not "
            "normal, and intervals may hold less often than they say"
        )

    def range(self, first: int, last: int, level: float = 0.95) -> Summary:
        """The share of the values from `first` up to, but without, `last`, with its interval."""
        start = whole_number("first", first, 0, self.k)
        stop = whole_number("last", last, start, self.k)
        value = float(self._below[stop] - self._below[start])
        share = self._normal(value, self.variance(start, stop), level)
        reach = share.high - value
        return replace(share, edges=(1 - reach, reach))

    def variance(self, first: int, last: int) -> float:
        return float(self.variances_of(np.array([first]), np.array([last]))[0])

    def variances_of(self, firsts: Integers, lasts: Integers) -> Floats:
        """The variances of many such shares, the people being a sample."""
        ends = np.array([firsts, lasts], dtype=np.int64)
        if ends.size and not (ends.min() >= 0 and ends.max() <= self.k):
            raise InvalidParameter(f"ranges are of values from 0 to {self.k:,}")
        return self._variances.of_ranges(*ends)

    def bound_influence(self, people: int) -> float:
        """How many of so many people one fake report counts for, at most, in the share of any range."""
        assert isinstance(self._variances, Variances), "weights are of reports that have come"
        return bound_influence(self._variances, people)

    @cached_property
    def _variances(self) -> Variances | _JoinedVariances:
        if self.weighing is not None:
            return _JoinedVariances(self.groups, self.weighing)
        many = tuple(estimate.n for estimate in self.estimates)
        return Variances(self.squares, self._laws, many, self.shares)

    def weigh(self, points: npt.ArrayLike, level: float = 0.95) -> Summary:
        """The sum of each share times a number, such as a mean of positions, with its interval."""
        numbers = finite(points, f"points are {self.k:,} numbers")
        if numbers.shape != (self.k,):
            raise InvalidParameter(f"points are {self.k:,} numbers, got {numbers.size:,}")
        variance = self._variances.of_sum(numbers)
        return self._normal(float(self.shares @ numbers), variance, level)

    def _normal(self, value: float, variance: float, level: float) -> Summary:
        error = math.sqrt(variance)
        reach = normal_quantile(level) * error
        return Summary(value, error, value - reach, value + reach)

    def _find_errors(self, first: int, last: int) -> Floats:
        """The standard errors of the shares below each edge from one up to, but without, another."""
        stop = min(last, self.k)
        errors = np.sqrt(self._variances.of_curve(np.arange(first, stop)))
        return np.append(errors, np.zeros(last - stop))  # below the last edge are all

    @cached_property
    def curve(self) -> Floats:
        """The share below each edge, made to never fall: the nearest such curve, cut at 0 and 1."""
        return np.concatenate([np.zeros(1), np.clip(monotone(self._below[1:-1]), 0.0, 1.0), np.ones(1)])

    @cached_property
    def _bins(self) -> Bins:
        return Bins(np.arange(self.k + 1.0)) if self.bins is None else self.bins

    def cdf(self, level: float = 0.95) -> CumulativeShares:
        """The share below each edge, with the interval of each; the curve never falls, for display."""
        reach = normal_quantile(level) * self._find_errors(0, self.k + 1)
        below = self._below
        return CumulativeShares(
            self.n, self._bins.edges, self.curve, below, below - reach, below + reach, level
        )

    def quantile(self, share: float, level: float = 0.95) -> Summary:
        """Where the share of people below reaches `share`, by the curve that never falls.

        People of a bin are taken to be spread evenly over it.
        The interval is from the first to the last value that may be the one: the unbiased share below it may
        be less than `share`, and that up to its end may be more. It reaches to the outer edges of these.
        """
        target = number("share", share, 0.0, 1.0)
        z = normal_quantile(level)
        first, last = self._find_possible(target, z)
        edges = self._bins.ends
        low, high = float(edges[first]), float(edges[last + 1])
        at = int(np.searchsorted(self.curve[1:], target - 1e-12))
        value = min(max(interpolate(self._bins, self.curve[1:], at, target), low), high)
        return span_quantile(value, low, high, z)

    def _find_possible(self, share: float, z: float) -> tuple[int, int]:
        """The first and the last value that may be where the share of people below reaches this.

        Errors are needed only near the two ends: nothing is possible where the share below is farther off
        than any error, and what is between the two does not matter.
        """
        most = z * _MARGIN * self._largest_error
        candidates = np.flatnonzero((self._below[:-1] - most <= share) & (self._below[1:] + most >= share))
        return self._look(candidates, share, z), self._look(candidates[::-1], share, z)

    def _look(self, candidates: Integers, share: float, z: float) -> int:
        """The first of some values that may be the one."""
        for low in range(0, candidates.size, _AT_ONCE):
            block = candidates[low : low + _AT_ONCE]
            start, stop = int(block.min()), int(block.max()) + 2
            below, reach = self._below[start:stop], z * self._find_errors(start, stop)
            is_possible = ((below - reach)[:-1] <= share) & ((below + reach)[1:] >= share)
            possible = block[is_possible[block - start]]
            if possible.size:
                return int(possible[0])
        raise AssertionError("the curve begins at 0 and ends at 1, so that some value is possible")

    @cached_property
    def _largest_error(self) -> float:
        """The largest error of the shares below some edges, which stand for all."""
        edges = np.unique(np.linspace(1, self.k - 1, _SOME).astype(np.int64))
        return float(np.sqrt(self.variances_of(np.zeros_like(edges), edges).max()))

    def __str__(self) -> str:
        median = self.quantile(0.5)
        levels = format_count(self.tree.levels, "level")
        head = f"Ranges of {self.k:,} values, {format_count(self.n, 'report')} of {levels}; median {median}"
        return f"{head}\n{self.few}" if self.few else head
