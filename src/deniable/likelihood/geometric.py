"""Geometric noise on a line, kept within its ends: the channel, its product and its inverse in O(n)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable import consistency
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.law import Floats
from deniable.likelihood.rows import Decay, Lattice


@final
class GeometricChannel:
    """Counts 0 to n plus two-sided geometric noise, clamped to 0..n: the channel, its O(n) product and its O(n) inverse.

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
    def rows(self) -> Decay:
        """All places, without the outputs' factors."""
        return Decay(np.arange(self.k), self.epsilon)

    def matrix(self) -> Floats:
        """Rows of Pr(output | value)."""
        places = np.arange(self.k)
        return np.asarray(np.exp(-self.epsilon * np.abs(places[:, None] - places)) * self.ends)

    def output(self, shares: npt.ArrayLike) -> Floats:
        """How likely each output is if the values have these shares, in O(n)."""
        return np.asarray(self.rows.forward(np.asarray(shares, dtype=np.float64)) * self.ends)

    def inverse(self, outputs: npt.ArrayLike) -> Floats:
        """The shares that give just these outputs, in O(n). They add up to the same; some may be negative."""
        given = np.asarray(outputs, dtype=np.float64)
        if given.shape != (self.k,):
            raise InvalidParameter(f"there is one number for each of the {self.k} outputs, got an array of shape {given.shape}")
        level = given / self.ends
        a = math.exp(-self.epsilon)
        result = (1 + a * a) * level
        result[[0, -1]] = level[[0, -1]]
        result[:-1] -= a * level[1:]
        result[1:] -= a * level[:-1]
        return np.asarray(result / -math.expm1(-2 * self.epsilon))

    def isotonic(self, outputs: npt.ArrayLike) -> Floats:
        """The inverse, made a distribution by its cumulative sums: no search, and nearly as good as the most likely one.

        >>> GeometricChannel(n=3, epsilon=math.log(2)).isotonic([0.4, 0.3, 0.2, 0.1]).round(6).tolist()
        [0.2, 0.7, 0.1, 0.0]
        """
        return consistency.isotonic(self.inverse(outputs))


@final
class GridChannel:
    """Geometric noise down and across a grid, whose cells are counted row by row."""

    def __init__(self, down: GeometricChannel, across: GeometricChannel) -> None:
        self.down, self.across = down, across

    @property
    def k(self) -> int:
        """The number of cells."""
        return self.down.k * self.across.k

    @cached_property
    def ends(self) -> Floats:
        """The factor of each output."""
        return np.outer(self.down.ends, self.across.ends).reshape(-1)

    @cached_property
    def rows(self) -> Lattice:
        """All cells, without the outputs' factors."""
        return Lattice(self.down.rows, self.across.rows)

    def output(self, shares: npt.ArrayLike) -> Floats:
        """How likely each output is if the cells have these shares."""
        return np.asarray(self.rows.forward(np.asarray(shares, dtype=np.float64)) * self.ends)
