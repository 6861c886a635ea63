"""Reports values of any finite metric: a row of integers for each, with the smallest epsilon per unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.metric.base import MetricMechanism, describe_metric, loss_by_units
from deniable.metric.certified import (
    LARGEST,
    calibrated,
    checked_budget,
    floored,
    largest_ratio,
    rate_at_peaks,
    unit_loss,
)
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

Distances = npt.ArrayLike | Callable[[int, int], float]

_MOST = 1024
_BLOCK = 1 << 14


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
        from deniable.metric import loops

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
