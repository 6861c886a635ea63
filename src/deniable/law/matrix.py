"""Describes any finite channel exactly, whether or not it treats all values alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import log_up, number, whole_number
from deniable.formatting import Printed, format_count, format_loss
from deniable.law.law import checked_prior


@final
@dataclass(frozen=True, eq=False)
class Matrix(Printed):
    """Any finite channel, in integers: Pr(y | x) is weights[x][y] / (sum of row x)."""

    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.weights or not self.weights[0]:
            raise InvalidParameter("a matrix needs at least one row and one column")
        for index, row in enumerate(self.weights):
            if len(row) != len(self.weights[0]):
                raise InvalidParameter(
                    f"row {index} has {len(row)} entries, row 0 has {len(self.weights[0])}"
                )
            if any(type(w) is not int or w < 0 for w in row) or sum(row) == 0:
                raise InvalidParameter(
                    f"row {index} must hold non-negative integers, not all zero (or use Matrix.of)"
                )

    @staticmethod
    def of(rows: Sequence[Sequence[int | float | Fraction]]) -> Matrix:
        """From rows of integers, fractions or floats, taken exactly and scaled to integers."""
        try:
            listed = list(rows)
        except TypeError:
            raise InvalidParameter(
                f"a matrix is made of rows of numbers, such as [[3, 1], [1, 3]], got {rows!r:.60}"
            ) from None
        scaled = []
        for index, row in enumerate(listed):
            try:
                exact = [Fraction(entry) for entry in row]
            except (ValueError, OverflowError, TypeError) as problem:
                raise InvalidParameter(f"row {index} holds an entry that is not a finite number") from problem
            scale = math.lcm(*(entry.denominator for entry in exact))
            scaled.append(tuple(int(entry * scale) for entry in exact))
        return Matrix(tuple(scaled))

    def __str__(self) -> str:
        sizes = f"{format_count(self.inputs, 'value')}, {format_count(self.outputs, 'report')}"
        return f"Matrix, {sizes}: loss {format_loss(self.loss())}"

    @property
    def inputs(self) -> int:
        """The number of values."""
        return len(self.weights)

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return len(self.weights[0])

    @cached_property
    def probabilities(self) -> Floats:
        """Rows of Pr(y | x), as floats."""
        totals = [(row, sum(row)) for row in self.weights]
        return np.array([[float(Fraction(weight, total)) for weight in row] for row, total in totals])

    def ratio(self, x: int, other: int) -> Fraction | None:
        """The largest Pr(y | x) / Pr(y | other) over all y; None where an output is possible for x alone."""
        mine, theirs = (self.weights[whole_number("an input", row, 0, self.inputs - 1)] for row in (x, other))
        if any(a > 0 and b == 0 for a, b in zip(mine, theirs, strict=True)):
            return None
        return max(Fraction(a, b) for a, b in zip(mine, theirs, strict=True) if b > 0) * Fraction(
            sum(theirs), sum(mine)
        )

    def loss_per(self, distance: Callable[[int, int], float]) -> float:
        """The smallest epsilon per unit of distance, rounded up; infinite where an output rules an input out.

        The distance of two different inputs must be positive.
        """
        worst = 0.0
        for x in range(self.inputs):
            for other in range(self.inputs):
                if x != other:
                    ratio = self.ratio(x, other)
                    if ratio is None:
                        return math.inf
                    what = f"the distance of {x} and {other}"
                    units = number(what, distance(x, other), 0.0, math.inf, "a positive number")
                    worst = max(worst, math.nextafter(log_up(ratio) / units, math.inf))
        return worst

    def loss(self) -> float:
        """The smallest epsilon, rounded up; infinite where an output rules an input out."""
        totals = [sum(row) for row in self.weights]
        common = math.lcm(*totals)
        scales = [common // total for total in totals]
        worst = Fraction(1)
        for y in range(self.outputs):
            column = [row[y] * scale for row, scale in zip(self.weights, scales, strict=True)]
            largest, smallest = max(column), min(column)
            if smallest == 0 < largest:
                return math.inf
            if largest:
                worst = max(worst, Fraction(largest, smallest))
        return log_up(worst)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess of the input from one output is right."""
        weights = checked_prior(np.ones(self.inputs) if prior is None else prior, self.inputs)
        return float((self.probabilities * weights[:, None]).max(axis=0).sum())

    def log_likelihood(self, y: int) -> Floats:
        """ln Pr(y | x) for every input x."""
        whole_number("an output", y, 0, self.outputs - 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities[:, y]))
