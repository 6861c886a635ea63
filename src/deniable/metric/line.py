"""Multiplies by geometric noise on a line, kept within its ends, and by its inverse, both in O(n)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import consistency
from deniable.exact import positive_epsilon, whole_number
from deniable.law import finite

SMALL = 300
"""Up to here a table of all pairs is faster than a compiled loop, and quicker to begin."""
_FEW = 4096  # numbers in all up to which the same holds


@final
class Decaying:
    """The kernel e^(-epsilon |x - y|) on positions of a line: products in O(positions), a sparse inverse."""

    def __init__(self, positions: Integers, epsilon: float) -> None:
        self.positions, self.epsilon = positions, epsilon
        steps = np.diff(positions).astype(np.float64)
        self.ratios = np.exp(-epsilon * steps)
        self.ends = -np.expm1(-2 * epsilon * steps)
        """1 - ratio^2, accurate where the ratio is next to 1."""

    @property
    def k(self) -> int:
        """The number of positions."""
        return int(self.positions.size)

    @cached_property
    def table(self) -> Floats:
        """All pairs."""
        return np.asarray(np.exp(-self.epsilon * np.abs(self.positions[:, None] - self.positions)))

    def times(self, numbers: Floats) -> Floats:
        """The kernel times numbers (in the last axis); where they are positive, all digits hold."""
        if self.k <= SMALL and numbers.size <= _FEW:
            return np.asarray(numbers @ self.table)
        from deniable.metric import loops

        rows = np.ascontiguousarray(numbers).reshape(-1, self.k)
        out = np.empty_like(rows)
        loops.decayed(rows, self.ratios, out)
        return np.asarray(out.reshape(numbers.shape))

    @cached_property
    def diagonals(self) -> tuple[Floats, Floats]:
        """The main one of the inverse, and the one on either side of it."""
        extra = self.ratios**2 / self.ends
        main = np.ones(self.k)
        main[:-1] += extra
        main[1:] += extra
        return main, -self.ratios / self.ends

    def solved(self, numbers: Floats) -> Floats:
        """The inverse of the kernel times numbers."""
        return tridiagonal(*self.diagonals, numbers)


def tridiagonal(main: Floats, side: Floats, numbers: Floats) -> Floats:
    """A symmetric matrix with three diagonals times numbers."""
    result = main * numbers
    result[:-1] += side * numbers[1:]
    result[1:] += side * numbers[:-1]
    return np.asarray(result)


@final
class GeometricChannel:
    """Counts 0 to n plus two-sided geometric noise, clamped to 0..n: the channel, its O(n) product and its
    O(n) inverse.

    Pr(j | i) = c_j a^|i - j| with a = e^-epsilon, c = (1 - a) / (1 + a) inside and 1 / (1 + a) at both ends.

    >>> import math
    >>> channel = GeometricChannel(n=3, epsilon=math.log(2))
    >>> (12 * channel.matrix()).round(6).tolist()[:2]
    [[8.0, 2.0, 1.0, 1.0], [4.0, 4.0, 2.0, 2.0]]
    >>> channel.inverse([0.4, 0.3, 0.2, 0.1]).round(6).tolist()
    [0.2, 0.7, 0.3, -0.2]
    """

    def __init__(self, n: int, epsilon: float) -> None:
        self.n = whole_number("n, the largest count,", n, 1)
        self.epsilon = positive_epsilon(epsilon)

    def __repr__(self) -> str:
        return f"GeometricChannel(n={self.n}, epsilon={self.epsilon})"

    @property
    def k(self) -> int:
        """The number of values, n + 1."""
        return self.n + 1

    @cached_property
    def ends(self) -> Floats:
        """The factor c of each output."""
        a = math.exp(-self.epsilon)
        factors = np.full(self.k, -math.expm1(-self.epsilon) / (1 + a))
        factors[0] = factors[-1] = 1 / (1 + a)
        return factors

    @cached_property
    def kernel(self) -> Decaying:
        """All positions, without the outputs' factors."""
        return Decaying(np.arange(self.k), self.epsilon)

    def matrix(self) -> Floats:
        """Rows of Pr(output | value)."""
        positions = np.arange(self.k)
        return np.asarray(np.exp(-self.epsilon * np.abs(positions[:, None] - positions)) * self.ends)

    def output(self, shares: npt.ArrayLike) -> Floats:
        """How likely each output is if the values have these shares, in O(n)."""
        return np.asarray(self.kernel.times(self._check(shares)) * self.ends)

    def inverse(self, outputs: npt.ArrayLike) -> Floats:
        """The shares that give just these outputs, in O(n). They add up to the same; some may be negative."""
        return self.kernel.solved(self._check(outputs) / self.ends)

    def squares(self, outputs: npt.ArrayLike) -> Floats:
        """The outputs times the inverse with every entry squared: the scatter of single outputs' inverses."""
        main, side = self.kernel.diagonals
        return tridiagonal(main**2, side**2, self._check(outputs) / self.ends**2)

    def weighing(self, points: npt.ArrayLike) -> Floats:
        """What each output counts for where each value counts for its point: the transpose of the inverse."""
        return np.asarray(self.kernel.solved(self._check(points)) / self.ends)

    def isotonic(self, outputs: npt.ArrayLike) -> Floats:
        """The inverse, made a distribution by its cumulative sums: no search, and nearly as good as the most
        likely one.

        >>> GeometricChannel(n=3, epsilon=math.log(2)).isotonic([0.4, 0.3, 0.2, 0.1]).round(6).tolist()
        [0.2, 0.7, 0.1, 0.0]
        """
        return consistency.isotonic(self.inverse(outputs))

    def _check(self, numbers: npt.ArrayLike) -> Floats:
        allowed = f"there is one number for each of the {self.k} values and outputs"
        array = finite(numbers, allowed)
        if array.shape != (self.k,):
            raise InvalidParameter(f"{allowed}, got an array of shape {array.shape}")
        return array
