"""Joins estimates of several groups to those of a population in which the groups have other sizes.

A weighted sum of unbiased shares is unbiased, given how many people of each group came. Its variance is the
sum of theirs, each times the square of its weight. Where several questions give the weights, and not their
cells, people of a cell differ from what the questions say of them, and that counts as well (`rake`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate, reach_of
from deniable.estimate.intervals import Ends, clopper_pearson, jeffreys, mover, sum_agreed
from deniable.law import Law, Moments
from deniable.law.pairs import nearer_sums
from deniable.summaries.summaries import sum_of
from deniable.summaries.totals import error_of, nearer_variances, ties_of

MOST_GROUPS = 8
"""With more groups, each end is the farther one of two ways to find it."""
FEWEST = 5
"""With fewer reports in a group, it is, too."""
Triple = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""A value and its ends."""
_SWEEPS = 1000
_CLOSE = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Weighing:
    """How much each group with reports counts, and how many reports it has."""

    weights: Floats
    """They add up to 1."""
    counts: Floats
    fitted: Floats | None = None
    """The matrix that makes each cell's fit by main effects from all cells; None of a single question."""
    scale: float = 1.0
    """How much larger squares of residuals are on average than they look, since the fit is near them."""
    is_exact: bool = False
    """Whether the ends of groups are exact ones, which never hold too rarely when they are joined."""
    correlations: Floats | None = None
    """How much the errors of two groups may agree at most, perhaps by value; None: not at all."""

    @property
    def effective(self) -> float:
        """How many people of a simple sample tell about as much (Kish): near the truth for small epsilon."""
        return float(1 / (self.weights**2 / self.counts).sum())

    @property
    def squares(self) -> Floats:
        """What each group's variance is multiplied by."""
        return np.asarray(self.scale * self.weights**2)

    def leave(self, values: Floats) -> Floats:
        """What main effects leave of the cells' values, by row."""
        return np.asarray(np.zeros_like(values) if self.fitted is None else values - self.fitted @ values)

    def join(self, variances: Floats, residuals: Floats) -> Floats:
        """The variance of a weighted sum, from those of the groups and from residuals, a row for each."""
        variance = np.asarray(self.squares @ (variances + (residuals.T**2 / self.counts).T))
        if self.correlations is None:
            return variance
        errors = (self.weights * np.sqrt(np.maximum(variances, 0.0)).T).T
        return variance + sum_agreed(errors, self.correlations)

    def find_ends(self, groups: Sequence[Triple], value: Floats, reach: Floats) -> Ends:
        """The ends of a weighted sum: by those of the groups, or normal ones, which reach this far.

        With many groups, or few reports in one, each end is the farther one. Residuals of raking have no ends
        of their own: with these, all are normal.
        """
        normal = value - reach, value + reach
        if self.fitted is not None:
            return normal
        values, lows, highs = (np.array(column) for column in zip(*groups, strict=True))
        low, high = mover(self.weights, values, (lows, highs), self.correlations)
        if self.is_exact or (self.weights.size <= MOST_GROUPS and self.counts.min() >= FEWEST):
            return low, high
        return np.minimum(low, normal[0]), np.maximum(high, normal[1])


def weigh_groups(weights: npt.ArrayLike, counts: npt.ArrayLike) -> Weighing:
    """Groups whose sizes in the population are these: known up to a factor, all above 0."""
    shares = np.asarray(weights, dtype=np.float64)
    return Weighing(shares / shares.sum(), np.asarray(counts, dtype=np.float64))


def weigh_plans(counts: npt.ArrayLike, are_others: bool) -> Weighing:
    """Groups that count by their numbers of people: others in each, or perhaps the same people in several.

    Errors of the same people agree at most where all people of the smaller group are in the larger one.
    """
    people = np.asarray(counts, dtype=np.float64)
    ratios = np.minimum.outer(people, people) / np.maximum.outer(people, people)
    correlations = None if are_others else np.sqrt(ratios) - np.eye(people.size)
    return Weighing(people / people.sum(), people, is_exact=True, correlations=correlations)


def rake(counts: npt.ArrayLike, margins: Sequence[npt.ArrayLike]) -> Weighing:
    """Weights of all cells with reports, which give every margin its shares, by iterative proportional
    fitting; in the order of the cells. A cell may be empty; a row of any margin may not.

    >>> weighing = rake([[400, 200], [120, 80]], [[0.5, 0.5], [0.6, 0.4]])
    >>> weighing.weights.round(6).tolist(), round(weighing.effective)
    ([0.317228, 0.182772, 0.282772, 0.217228], 597)
    """
    table = np.asarray(counts, dtype=np.float64)
    targets = [np.asarray(margin, dtype=np.float64) / np.sum(margin) for margin in margins]
    weights, axes = table / table.sum(), range(table.ndim)
    others = [tuple(other for other in axes if other != axis) for axis in axes]
    for _ in range(_SWEEPS):
        for axis, margin in zip(axes, targets, strict=True):
            ratio = margin / weights.sum(axis=others[axis])
            weights = weights * np.expand_dims(ratio, others[axis])
        pairs = zip(others, targets, strict=True)
        if max(float(np.abs(weights.sum(axis=rest) - margin).max()) for rest, margin in pairs) < _CLOSE:
            break
    else:
        raise InvalidParameter(
            "no weights of the groups that reported give all questions their sizes: too many combinations of "
            "answers have no report; join answers, or weigh by fewer questions"
        )
    inside = table.ravel() > 0
    answers = np.indices(table.shape).reshape(table.ndim, -1)[:, inside]
    design = np.hstack([np.eye(size)[code] for size, code in zip(table.shape, answers, strict=True)])
    roots = np.sqrt(weights.ravel()[inside])
    weighted = roots[:, None] * design
    fitted = design @ np.linalg.pinv(weighted) * roots
    rank, n = int(np.linalg.matrix_rank(weighted)), float(table.sum())
    scale = n / max(n - rank, 1.0)
    return Weighing(weights.ravel()[inside], table.ravel()[inside], fitted, scale)


@final
@dataclass(frozen=True, eq=False)
class Strata:
    """Estimates of the same shares in several groups, and how much each counts: the errors of their sum.

    Values that a group does not have come last, and nobody in it has them.
    """

    groups: tuple[Estimate, ...]
    weighing: Weighing
    of_values: Weighing
    """The same weights, and what is known of the errors of single values."""

    @property
    def n(self) -> int:
        """How many reports all groups have."""
        return sum(group.n for group in self.groups)

    @cached_property
    def k(self) -> int:
        """The number of values."""
        return max(group.k for group in self.groups)

    def _fill(self, column: npt.ArrayLike) -> Floats:
        """A column of a group, with 0 for values that it does not have."""
        filled = np.asarray(column, dtype=np.float64)
        return np.pad(filled, (0, self.k - filled.size))

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares of each group, by row."""
        return np.array([self._fill(group.frequencies) for group in self.groups])

    @cached_property
    def residuals(self) -> Floats:
        """How far each cell's shares are from what its answers say."""
        return self.weighing.leave(self.shares)

    @cached_property
    def variances(self) -> Floats:
        """The variances of the joined shares."""
        variances = [self._fill(group.stderr**2) for group in self.groups]
        return self.of_values.join(np.array(variances), self.residuals)

    def combine(self, points: Floats) -> float:
        """The variance of a weighted sum of the joined shares, for one report."""
        variances = np.array([error_of(group, points[: group.k]) ** 2 for group in self.groups])
        return self.n * float(self.weighing.join(variances, self.residuals @ points))

    def cumulate(self) -> Floats:
        """The variance, for one report, of every cumulative share but the last."""
        variances = np.array([nearer_variances(group) / group.n for group in self.groups])
        residuals = np.array([nearer_sums(residual) for residual in self.residuals])
        return self.n * self.weighing.join(variances, residuals)

    def tie(self) -> Floats | None:
        ties = [ties_of(group) for group in self.groups]
        known = [(i, tie / self.groups[i].n) for i, tie in enumerate(ties) if tie is not None]
        if not known:
            return None
        return np.asarray(self.n * sum(self.weighing.squares[i] * self._fill(tie) for i, tie in known))

    def find_ends(self, tail: float) -> Ends:
        value, reach = self.weighing.weights @ self.shares, reach_of(tail) * np.sqrt(self.variances)
        return self.of_values.find_ends([limit.seen for limit in self._list_limits(tail)], value, reach)

    def find_edges(self, tail: float) -> Ends:
        reach = reach_of(tail) * np.sqrt(self.variances)
        return _join_edges(self.of_values, self._list_limits(tail), reach)

    def _list_limits(self, tail: float) -> list[_Limits]:
        """The limits of each group's single shares."""
        limits = [_find_limits(group, tail, self.weighing.is_exact) for group in self.groups]
        fill = self._fill
        return [
            _Limits(*((fill(value), fill(low), fill(high)) for value, low, high in limit)) for limit in limits
        ]

    def sum_ends(
        self, chosen: Floats, value: float, error: float, tail: float
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        is_exact = self.weighing.is_exact
        limits = [_find_limits(group, tail, is_exact, chosen[: group.k]) for group in self.groups]
        reach = np.array(reach_of(tail) * error)
        ends = self.weighing.find_ends([limit.seen for limit in limits], np.array(value), reach)
        if not _names_one(self.groups[0].law):  # score intervals, which hold too rarely when they are joined
            ends = np.minimum(ends[0], value - reach), np.maximum(ends[1], value + reach)
        edges = _join_edges(self.weighing, limits, reach)
        return (float(ends[0].item()), float(ends[1].item())), (edges[0].item(), edges[1].item())


class _Limits(NamedTuple):
    """A group's shares with their ends: as they were seen, and as if everybody or nobody had each value."""

    seen: Triple
    everybody: Triple
    nobody: Triple


def _join_edges(weighing: Weighing, limits: Sequence[_Limits], reach: Floats) -> Ends:
    """The ends of a weighted sum as if everybody, or nobody, had each value."""
    low, _ = weighing.find_ends([limit.everybody for limit in limits], np.array(1.0), reach)
    _, high = weighing.find_ends([limit.nobody for limit in limits], np.array(0.0), reach)
    return low, high


def _find_limits(group: Estimate, tail: float, is_exact: bool, chosen: Floats | None = None) -> _Limits:
    """The limits of a group's single shares, or of that of the chosen values together."""
    law = group.law
    level = 1 - 2 * tail
    if chosen is not None and not _names_one(law):
        summary = sum_of(group, np.flatnonzero(chosen), level)
        assert summary.edges is not None
        low, high = summary.edges
        return _Limits((summary.value, summary.low, summary.high), (1.0, low, 1.0), (0.0, 0.0, high))
    if isinstance(law, Moments):
        edges, everybody = group.edge_ends(level), np.ones(group.k)
        seen = group.frequencies, *group.interval(level)
        return _Limits(seen, (everybody, edges.low, everybody), (0 * everybody, 0 * everybody, edges.high))
    counts, blind = group.support_counts.astype(np.float64), np.broadcast_to(law.q, group.k)
    about = np.broadcast_to(group.n if group.asked is None else group.asked, group.k).astype(np.float64)
    if chosen is not None:
        counts, blind, about = counts @ chosen, blind @ chosen, about.max()

    def read(counted: Floats) -> Triple:
        if is_exact:
            ends = clopper_pearson(counted, about.astype(np.int64), tail)
        else:
            ends = jeffreys(counted, about, tail)
        value, low, high = ((share - blind) / law.gain for share in (counted / about, *ends))
        return value, low, high

    return _Limits(read(counts), read(np.ceil(about * (blind + law.gain))), read(np.floor(about * blind)))


def _names_one(law: object) -> bool:
    """Whether a report supports one value and no other, so that those of several values are counted, too."""
    return isinstance(law, Law) and law.sizes.tolist() == [1]


def join_estimates(
    groups: Sequence[Estimate], weighing: Weighing, agreement: Floats | None = None
) -> Estimate:
    """The shares of a population, from those of groups that each count as the weighing says.

    The `agreement` is how much errors of two groups agree at most, by value, where less is known of sums.
    """
    of_values = weighing if agreement is None else replace(weighing, correlations=agreement)
    strata = Strata(tuple(groups), weighing, of_values)
    shares = weighing.weights @ strata.shares
    possible = np.clip(shares, 0.0, 1.0)
    noise: Any = strata.n * strata.variances - possible * (1 - possible)
    law = Moments(shares.size, noise, combined=strata.combine, cumulated=strata.cumulate, joined=strata)
    return Estimate(strata.n, shares * strata.n, law, groups[-1].labels)


def join_means(groups: Sequence[MeanEstimate], weighing: Weighing) -> MeanEstimate:
    """The mean of a population, from those of groups, each from -1 to 1."""
    means = np.array([group.mean for group in groups])
    mean = float(weighing.weights @ means)
    squares = np.array([group.stderr**2 for group in groups])
    error = math.sqrt(float(weighing.join(squares, weighing.leave(means))))

    def find_ends(tail: float) -> tuple[float, float]:
        triples = [(group.mean, *group.interval(1 - 2 * tail)) for group in groups]
        low, high = weighing.find_ends(triples, np.array(mean), np.array(reach_of(tail) * error))
        return low.item(), high.item()

    return MeanEstimate(sum(group.n for group in groups), mean, error, find_ends)
