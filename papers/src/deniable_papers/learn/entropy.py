"""Finds how many people have each set of days from counts of unions of consecutive days.

The counts do not determine it: 28 numbers of a week stand against 127 sets. `maximum_entropy` takes the
most even answer, which is unique. `linear_program` takes one of the many that fit, with few sets: it is
here because it was published, and to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import number
from deniable_papers.learn.unions import checked_days, read_cells, read_unions, read_variance, union_matrix

Unions = Mapping[tuple[int, int], float] | npt.ArrayLike
"""Counts of all unions, in the order of `list_unions`, or by first and last day."""

_STEPS = 200
_CLOSE = 1e-11  # of all people: how far a count may be off
_SHORTEST = 2.0**-40  # part of a step
_EMPTIEST = 1e-12  # of the weight of evenness at which nothing fits better
_LOOSEST = 1e4


@final
@dataclass(frozen=True, eq=False)
class CellFit:
    """How many people have each set of days, as found from counts of unions."""

    days: int
    cells: Floats
    """People of each set of days, the set with number s at s - 1."""
    unions: Floats
    """The counts that it was found from."""
    tau: float = 0.0
    """How much evenness weighed against the counts: 0 where they were met exactly."""

    @cached_property
    def fitted(self) -> Floats:
        """The people of each union, by the cells."""
        return np.asarray(union_matrix(self.days) @ self.cells)

    @property
    def residual(self) -> float:
        """How far the unions are from the given counts: the mean of their relative differences."""
        return float(np.mean(np.abs(self.fitted - self.unions) / np.maximum(np.abs(self.unions), 1.0)))

    @property
    def filled(self) -> int:
        """How many sets of days have people."""
        return int((self.cells > 0).sum())

    def __str__(self) -> str:
        evenness = f", evenness weighs {self.tau:.3g}" if self.tau else ""
        return (
            f"{self.cells.sum():,.0f} people in {self.filled:,} of {self.cells.size:,} sets of "
            f"{self.days} days; counts differ by {100 * self.residual:.2g} %{evenness}"
        )


def maximum_entropy(
    unions: Unions,
    days: int = 7,
    variance: npt.ArrayLike | None = None,
    base: npt.ArrayLike | None = None,
    tau: float | None = None,
) -> CellFit:
    """Finds the most even numbers of people in all sets of days that agree with counts of unions.

    Exact counts are met exactly, by Newton's steps on a multiplier for each union. Noisy counts have a
    `variance`, one or one each, 0 where a count is exact. The count of all days is exact if everybody who was
    there reported. Noisy counts are met as well as their noise allows: the squared differences, each over its
    variance, sum to their number. `base` has other shares to stay near to, such as those of an earlier week;
    all sets are alike unless it is given. `tau` weighs evenness by hand: a large one ignores the counts.

    >>> from deniable_papers.learn import count_unions
    >>> unions = count_unions([40, 30, 10, 5, 5, 5, 5], days=3)
    >>> fit = maximum_entropy(unions, days=3)
    >>> fit.cells.round(1).tolist()
    [40.0, 28.0, 12.0, 5.0, 5.0, 7.0, 3.0]
    >>> bool(abs(fit.fitted - unions).max() < 1e-6)
    True

    >>> noisy = maximum_entropy(unions + [3, -2, 1, 0, -3, 2], days=3, variance=4.0)
    >>> round(float((((noisy.fitted - noisy.unions) ** 2) / 4.0).sum()), 2)
    6.0
    """
    size = checked_days(days)
    counts = read_unions(unions, size)
    scale = float(np.abs(counts).max())
    if scale == 0:
        raise InvalidValue("all unions count nobody, so that there is nothing to find")
    start = _read_base(base, size, max(float(counts.max()), 1.0) / scale)
    problem = _Problem(union_matrix(size), counts / scale, start)
    if variance is None:
        if counts.min() < 0:
            raise InvalidValue(
                f"a count of people is not negative, got {counts.min():g}; give the variance of noisy counts"
            )
        return CellFit(size, problem.spread(problem.solve(np.zeros(1))) * scale, counts)
    errors = read_variance(variance, size) / scale**2
    if tau is None:
        weight, multipliers = _weigh_evenness(problem, errors)
    else:
        weight = number("tau, the weight of evenness,", tau, 0.0, math.inf, "a positive number") * scale
        multipliers = problem.solve(weight * errors)
    return CellFit(size, problem.spread(multipliers) * scale, counts, weight / scale)


@final
@dataclass(frozen=True, eq=False)
class _Problem:
    """Counts as shares of the largest, and shares to stay near to."""

    matrix: Floats
    counts: Floats
    base: Floats

    def spread(self, multipliers: Floats) -> Floats:
        """The shares of all sets of days by the multipliers of the unions."""
        with np.errstate(over="ignore"):
            return np.asarray(self.base * np.exp(multipliers @ self.matrix))

    def solve(self, ridge: Floats, start: Floats | None = None) -> Floats:
        """The multipliers: what minimizes the sum of all shares less multipliers times counts.

        A ridge adds half of its product with their squares, so that counts need not be met exactly.
        """
        multipliers = np.zeros(self.counts.size) if start is None else start
        shares = self.spread(multipliers)
        value = self._evaluate(multipliers, shares, ridge)
        for _ in range(_STEPS):
            slope = self.matrix @ shares - self.counts + ridge * multipliers
            if np.abs(slope).max() < _CLOSE:
                return multipliers
            roots = self.matrix * np.sqrt(shares)
            curve = roots @ roots.T
            curve[np.diag_indices_from(curve)] += ridge + 1e-15 * curve.diagonal().max()
            try:
                step = np.linalg.solve(curve, slope)
            except np.linalg.LinAlgError:  # multipliers without bounds
                break
            length = 1.0
            later = self.spread(multipliers - step)
            now = self._evaluate(multipliers - step, later, ridge)
            while not now <= value + 1e-14 * abs(value) and length > _SHORTEST:
                length /= 2
                later = self.spread(multipliers - length * step)
                now = self._evaluate(multipliers - length * step, later, ridge)
            multipliers = multipliers - length * step
            shares = later
            value = now
        if not ridge.any():
            raise InvalidValue(
                "no people have such counts of unions: perhaps they are noisy (give their variance), or in "
                "another order than list_unions"
            )
        return multipliers

    def _evaluate(self, multipliers: Floats, shares: Floats, ridge: Floats) -> float:
        return float(shares.sum() - multipliers @ self.counts + (ridge * multipliers**2).sum() / 2)


def _weigh_evenness(problem: _Problem, errors: Floats) -> tuple[float, Floats]:
    """How much evenness weighs, so that counts are met as well as their noise allows; and the multipliers.

    The squared standardized differences grow with the weight. They should sum to the number of noisy
    counts: a smaller sum fits the noise, a larger one ignores the counts.
    """
    from scipy.optimize import brentq

    found = np.zeros(problem.counts.size)
    noisy = int((errors > 0).sum())

    def measure(log_tau: float) -> float:
        nonlocal found
        tau = math.exp(log_tau)
        found = problem.solve(tau * errors, found)
        return float((tau**2 * errors * found**2).sum()) - noisy

    high = math.log(_LOOSEST)
    excess = measure(high)
    while excess > 0 and high > math.log(_EMPTIEST):
        above = high
        high -= math.log(10)
        excess = measure(high)
        if excess <= 0:
            high = float(brentq(measure, high, above, xtol=1e-4))
            measure(high)
            break
    return math.exp(high), found


def _read_base(base: npt.ArrayLike | None, days: int, total: float) -> Floats:
    """What to stay near to, with this sum."""
    size = (1 << days) - 1
    if base is None:
        return np.full(size, total / size)
    given = read_cells(base, days)
    if given.min() <= 0:
        raise InvalidParameter(
            f"base has a positive share of each set of days, got {given.min():g}; add a little to each"
        )
    return np.asarray(given * (total / given.sum()))


def linear_program(unions: Unions, days: int = 7) -> CellFit:
    """Finds numbers of people whose unions differ least from the counts, relative to each count.

    It is what was published, and underdetermined: all answers with the least difference are alike to it, and
    the one that is returned has no more sets of days than there are unions. Other solvers return others. Take
    `maximum_entropy` instead.

    >>> from deniable_papers.learn import count_unions
    >>> fit = linear_program(count_unions([40, 30, 10, 5, 5, 5, 5], days=3), days=3)
    >>> fit.residual < 1e-9, fit.filled <= 6
    (True, True)
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    size = checked_days(days)
    counts = read_unions(unions, size)
    scale = max(float(np.abs(counts).max()), 1.0)
    matrix = union_matrix(size)
    beyond = eye_array(counts.size)
    weights = scale / np.maximum(np.abs(counts), 1.0)
    cost = np.concatenate([np.zeros(matrix.shape[1]), weights, weights])
    found = linprog(
        cost,
        A_eq=csr_array(hstack([csr_array(matrix), beyond, -beyond])),
        b_eq=counts / scale,
        method="highs-ds",
    )
    if found.x is None:
        raise InvalidValue(f"the linear program has no answer: {found.message}")
    shares = np.maximum(found.x[: matrix.shape[1]], 0.0)
    return CellFit(size, shares * scale, counts)
