"""Reports values of any finite metric: a row of integers for each, with the smallest epsilon per unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import log_up, number, whole_number
from deniable.metric import MetricMechanism
from deniable.metric.base import describe_metric, loss_by_units
from deniable.metric.certified import LARGEST, checked_budget, divided_up, largest_ratio, logarithms
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

Distances = npt.ArrayLike | Callable[[int, int], float]

_MOST = 1024
_BLOCK = 1 << 14
FLOOR = 1 << 34
"""Outputs of a table have at least this many of the 2^64 words: rounding one moves a loss by less than 1e-10.
"""
_NEAR = 2.0**-44  # far above the error of a difference of two logarithms of words, and far below a loss
_CANDIDATES = 4096
_COMPILE = 1 << 26


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tabled(MetricMechanism):
    """The report is an output, drawn by one word from the row of the value."""

    weights: WordArray
    """weights[x, y]: how many of the 2^64 words send y from x."""
    distances: Floats

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.uint64)
        distances = checked_distances(self.distances)
        if weights.ndim != 2 or len(weights) != len(distances) or weights.shape[1] < 2:
            raise InvalidParameter(
                f"weights are a row for each of {len(distances)} values, got shape {weights.shape}"
            )
        if any(sum(row) != FULL for row in weights.tolist()):
            raise InvalidParameter("the words of each row must add up to 2^64")
        if ((weights == 0) & (weights.max(axis=0) > 0)).any():
            raise InvalidParameter("an output that one value can send must be possible from all of them")
        for name, array in (("weights", weights), ("distances", distances)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    words = 1

    @property
    def k(self) -> int:
        return len(self.weights)

    @property
    def outputs(self) -> int:
        return int(self.weights.shape[1])

    def distance(self, one: int, other: int) -> float:
        if one != other and min(one, other) < 0:
            return float(self.distances[max(one, other)].max())
        return float(self.distances[one, other])

    def neighbors(self) -> list[tuple[int, int]]:
        """Each value and the nearest one."""
        far = np.where(np.eye(self.k, dtype=bool), np.inf, self.distances)
        nearest = enumerate(far.argmin(axis=1).tolist())
        return sorted({(min(value, other), max(value, other)) for value, other in nearest})

    def some_neighbors(self) -> list[tuple[int, int]]:
        pairs = self.neighbors()
        return [pairs[position] for position in sorted({0, (len(pairs) - 1) // 2, len(pairs) - 1})]

    @cached_property
    def ratio(self) -> Fraction:
        used = self.weights[:, self.weights.max(axis=0) > 0]
        return largest_ratio(zip(used.max(axis=0).tolist(), used.min(axis=0).tolist(), strict=True))

    def _loss_at(self, distance: float) -> float:
        return loss_by_units(self, distance)

    @cached_property
    def _unit_loss(self) -> float:
        return unit_loss(self.weights, self.distances)

    def _rows(self, start: int, stop: int) -> Floats:
        return np.asarray(self.weights[start:stop] / float(FULL))

    def _weights(self, value: int) -> tuple[int, ...]:
        return tuple(self.weights[value].tolist())

    @cached_property
    def _sums(self) -> WordArray:
        """Words below sums[x, y] send one of the outputs 0 to y; the last output needs none."""
        return np.ascontiguousarray(np.cumsum(self.weights, axis=1, dtype=np.uint64)[:, :-1])

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        for start in range(0, len(values), _BLOCK):
            block = slice(start, start + _BLOCK)
            reports[block] = _find_outputs(self._sums, values[block], words[block, 0])

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable_papers.mechanisms import loops

        loops.tabled(values, rows.address(), self._sums, reports)

    title = "Channel by a table"

    @property
    def phrase(self) -> str:
        return f"one of {self.outputs:,} outputs"

    def __repr__(self) -> str:
        return describe_metric(self, f"{self.k} values, {self.outputs} outputs", "unit of distance")

    @property
    def _key(self) -> tuple[object, ...]:
        return self.weights.shape, self.weights.tobytes(), self.distances.tobytes()


def _find_outputs(sums: WordArray, values: Integers, words: WordArray) -> Integers:
    """How many of a row's sums are at most the word: halving, for all at once."""
    low, high = np.zeros(len(values), dtype=np.int64), np.full(len(values), sums.shape[1], dtype=np.int64)
    while (low < high).any():
        middle = (low + high) >> 1
        above = (low < high) & (sums[values, np.minimum(middle, sums.shape[1] - 1)] <= words)
        low, high = np.where(above, middle + 1, low), np.where(above, high, middle)
    return low


def exponential(distances: Distances, epsilon: float, k: int | None = None) -> Tabled:
    """The exponential mechanism on any metric: Pr(y | x) falls as e^(-b d(x, y)), with the largest b that
    epsilon allows.

    `distances` is a table of them, or a function of two values from 0 to k - 1. Published with b = epsilon /
    2, which pays for the normalization in the worst case; here b is as large as the exact smallest epsilon of
    the table allows, between epsilon / 2 and epsilon. No output has fewer than 2^34 of the 2^64 words, so
    that very unlikely ones are a little likelier than the formula says. Choose it where distances are neither
    on a line nor on a grid.

    >>> m = exponential(lambda x, y: abs(x - y), epsilon=1.0, k=5)
    >>> 1 - 1e-9 < m.loss_at(1) <= 1, m.law.matrix()[0].round(3).tolist()
    (True, [0.558, 0.252, 0.114, 0.052, 0.023])

    Reference: mcsherry2007
    """
    apart = checked_distances(distances, k)
    budget = _budget(apart, epsilon)
    return Tabled(
        calibrated(lambda b: floored(np.exp(-b * apart)), apart, budget, budget / 2, rate_at_peaks), apart
    )


def tight_constraints(distances: Distances, epsilon: float, k: int | None = None) -> Tabled:
    """The channel whose every ratio is as large as epsilon allows: Pr(y | x) = c(y) e^(-epsilon d(x, y)),
    where that exists.

    On a line it is the geometric mechanism, on a grid with the sum of both distances the product of two. In
    general the weights c that make all rows sum to one may come out negative; then there is no such channel,
    and this says so.

    >>> m = tight_constraints(lambda x, y: abs(x - y), epsilon=1.0, k=4)
    >>> m.law.matrix()[0].round(4).tolist()
    [0.7311, 0.17, 0.0625, 0.0364]
    >>> star = [[0 if x == y else 1 if 0 in (x, y) else 2 for x in range(9)] for y in range(9)]
    >>> tight_constraints(star, 0.5)
    Traceback (most recent call last):
    deniable.errors.InvalidParameter: tight constraints do not exist for this metric and epsilon 0.5: ...

    Reference: elsalamouny2013
    """
    apart = checked_distances(distances, k)
    budget = _budget(apart, epsilon)

    def rows(b: float) -> Floats:
        ideal = np.exp(-b * apart)
        columns = _column_weights(ideal)
        if columns.min() < -1e-9 * columns.max():
            raise InvalidParameter(
                f"tight constraints do not exist for this metric and epsilon {epsilon:g}: an output would "
                f"get the negative weight {columns.min():.3g}; try a larger epsilon, or exponential"
            )
        return floored(ideal * np.where(columns < 1e-9 * columns.max(), 0.0, columns))

    return Tabled(calibrated(rows, apart, budget, budget * (1 - 1e-4)), apart)


def _column_weights(ideal: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(ideal, np.ones(len(ideal))))
    except np.linalg.LinAlgError:
        raise InvalidParameter(
            "epsilon is so small that these values cannot be distinguished in floating point"
        ) from None


def _budget(apart: Floats, epsilon: float) -> float:
    budget = number("epsilon", epsilon, 0.0, np.inf, "a positive number")
    checked_budget(budget * float(apart[apart > 0].min()), " between neighbors")
    if budget * float(apart.max()) > 1e6 * LARGEST:
        raise InvalidParameter(
            "the largest distance is far beyond what epsilon can tell; give distances in another unit"
        )
    return budget


def checked_distances(distances: Distances, k: int | None = None) -> Floats:
    """A table of distances: symmetric, zero for a value and itself, positive for two."""
    if callable(distances):
        if k is None:
            raise InvalidParameter(
                "k, the number of values, is needed where distances are given by a function"
            )
        size = whole_number("k, the number of values,", k, 2, _MOST)
        try:
            distances = [[distances(x, y) for y in range(size)] for x in range(size)]
        except TypeError as problem:
            raise InvalidParameter(
                f"distances are a function of two values from 0 to {size - 1}: {problem}"
            ) from problem
    try:
        table = np.array(distances, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InvalidParameter(
            "distances are a square table of numbers, a row for each value, or a function of two values"
        ) from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not 2 <= len(table) <= _MOST:
        raise InvalidParameter(
            f"distances are a square table of 2 to {_MOST} values, got shape {table.shape}"
        )
    if k is not None and k != len(table):
        raise InvalidParameter(
            f"k, the number of values, is {k!r}, but the table has distances of {len(table)}; leave k out"
        )
    if not np.isfinite(table).all() or (table != table.T).any() or np.diagonal(table).any():
        raise InvalidParameter(
            "distances are finite, the same in both directions, and zero for a value and itself"
        )
    if (table[~np.eye(len(table), dtype=bool)] <= 0).any():
        raise InvalidParameter(
            "two different values must have a positive distance; put those without one together"
        )
    return table


def floored(rows: Floats, floor: float = FLOOR / FULL) -> Floats:
    """Rows scaled to sum to one with no entry below the floor; columns of zeros stay as they are.

    A constant floor changes no ratio for the worse: where both entries are below it, they become the same.
    """
    if floor * rows.shape[1] > 0.5:
        raise InvalidParameter(f"{rows.shape[1]:,} outputs are too many for a table out of 2^64")
    used = rows.max(axis=0) > 0
    raised = np.zeros(rows.shape, dtype=bool)
    while True:
        free = np.where(raised | ~used, 0.0, rows).sum(axis=1)
        scale = (1 - floor * raised.sum(axis=1)) / free
        more = used & ~raised & (rows * scale[:, None] < floor)
        if not more.any():
            return np.where(raised, floor, rows * scale[:, None])
        raised |= more


def to_words(rows: Floats) -> WordArray:
    """Rows of probabilities as words that sum to 2^64: each rounded, the rest given to the largest."""
    words = (rows * float(FULL)).astype(np.uint64)
    missing = (np.uint64(0) - words.sum(axis=1, dtype=np.uint64)).view(np.int64)
    at = np.arange(len(words)), rows.argmax(axis=1)
    words[at] = (words[at].view(np.int64) + missing).view(np.uint64)
    return words


def unit_loss(weights: WordArray, distances: Floats) -> float:
    """The smallest epsilon per unit of distance of a table, rounded up.

    Logarithms as floats say which pairs can be the worst; those are compared in fractions.
    """
    logs = logarithms(weights)
    worst = _worst_gaps(logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(np.eye(len(logs), dtype=bool), 0.0, worst / distances)
        slack = np.where(np.eye(len(logs), dtype=bool), 0.0, _NEAR / distances)
    if np.isinf(rates).any():
        return math.inf
    top = float((rates - slack).max())
    pairs = np.argwhere(rates + slack >= top)
    if len(pairs) > _CANDIDATES:  # all of them alike: the last digits of logarithms are not worth the time
        return divided_up(Fraction(float((rates + slack).max())), Fraction(1))

    def exact(x: int, other: int) -> float:
        gaps = _gaps(logs, x)[other]
        candidates = np.flatnonzero(gaps >= gaps.max() - 2 * _NEAR)
        ratio = largest_ratio((int(weights[x, y]), int(weights[other, y])) for y in candidates.tolist())
        return divided_up(Fraction(log_up(ratio)), Fraction(float(distances[x, other])))

    return max((exact(x, other) for x, other in pairs.tolist()), default=0.0)


def rate(rows: Floats, distances: Floats) -> float:
    """The smallest epsilon per unit of distance of rows of probabilities, in floats."""
    return _steepest(_worst_gaps(logarithms(rows)), distances)


def rate_at_peaks(rows: Floats, distances: Floats) -> float:
    """The `rate` of channels in which every value's own output is the worst, as in exponential ones."""
    logs = logarithms(rows)
    return _steepest(np.diagonal(logs)[:, None] - logs.T, distances)


def _steepest(gaps: Floats, distances: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(np.eye(len(gaps), dtype=bool), 0.0, gaps / distances).max())


def _worst_gaps(logs: Floats) -> Floats:
    """For every pair of inputs, the largest log ratio of an output's probabilities."""
    if logs.size * len(logs) < _COMPILE:
        return np.array([_gaps(logs, x).max(axis=1) for x in range(len(logs))])
    from deniable_papers.mechanisms.loops import worst_gaps

    worst = np.zeros((len(logs), len(logs)))
    worst_gaps(logs, worst)
    return worst


def _gaps(logs: Floats, x: int) -> Floats:
    """Log ratios of every output from x against every other input; 0 for what neither can send."""
    with np.errstate(invalid="ignore"):
        gaps = logs[x] - logs
    return np.where(np.isnan(gaps), 0.0, gaps)


Real = Callable[[float], Floats]


Rate = Callable[[Floats, Floats], float]


def _excess(b: float, real: Real, measure: Rate, distances: Floats, target: float) -> float:
    return measure(real(b), distances) - target


def calibrated(real: Real, distances: Floats, epsilon: float, low: float, measure: Rate = rate) -> WordArray:
    """The integer table of a family of channels that spends epsilon per unit of distance, and not more.

    `real` gives rows of probabilities for a rate up to epsilon, with no entry below the floor. The rate is
    found in floats, a little below epsilon for the rounding to words; the words themselves are then held
    against epsilon.
    """
    from scipy.optimize import brentq

    least = float(distances[~np.eye(len(distances), dtype=bool)].min())
    margin = 2.0**-33 / least
    if epsilon <= 4 * margin:
        raise InvalidParameter(
            f"epsilon {epsilon} is too small for values {least:g} apart, with a table out of 2^64"
        )
    for _ in range(40):
        target = epsilon - margin
        # half of epsilon is low enough for any metric, but for others?
        while measure(real(low), distances) >= target:
            low /= 2
        if measure(real(epsilon), distances) <= target:
            chosen_rate = epsilon
        else:
            bounds = real, measure, distances, target
            chosen_rate = float(brentq(_excess, low, epsilon, bounds, xtol=margin / 16, rtol=1e-14))
        words = to_words(real(chosen_rate))
        if unit_loss(words, distances) <= epsilon:
            return words
        margin, measure = 2 * margin, rate
    raise InvalidParameter(
        f"no table out of 2^64 keeps epsilon {epsilon} for these distances; are they a metric?"
    )
