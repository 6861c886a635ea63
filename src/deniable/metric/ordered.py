"""Reports ordered values: a count moves a few steps, and distant counts are easier to distinguish."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import log_up, whole_number
from deniable.metric.base import MetricMechanism, describe_metric, steps_between
from deniable.metric.certified import geometric_tails, largest_ratio
from deniable.metric.line import GeometricChannel
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

if TYPE_CHECKING:
    from deniable.metric.loops import Guide

MOST = 1 << 20
_TOP = np.uint64(63)
_SAME = 2.0**-40  # tails that differ by less than this part of them are the same


@final
@dataclass(frozen=True, eq=False, repr=False)
class Geometric(MetricMechanism):
    """The report is the count plus noise of either sign, kept in 0 to n: one word, n + 1 integers."""

    tails: WordArray
    """tails[m]: how many of the 2^64 words move a count by m or more to one side (by none counted in, for m =
    0).
    """
    kept: bool = False

    def __post_init__(self) -> None:
        tails = np.array(self.tails, dtype=np.uint64)
        if tails.ndim != 1 or not 2 <= tails.size <= MOST + 1:
            raise InvalidParameter(f"tails are from 2 to {MOST + 1:,} numbers of words", "tails")
        if int(tails[0]) + int(tails[1]) != FULL:
            raise InvalidParameter("the first two tails must add up to 2^64", "tails")
        steps = tails[:-1] - tails[1:]
        if int(tails[-1]) < 1 or not (tails[:-1] > tails[1:]).all() or not (steps[:-1] >= steps[1:]).all():
            raise InvalidParameter(
                "tails must be positive, and fall by ever fewer words: every output must be possible", "tails"
            )
        tails.setflags(write=False)
        object.__setattr__(self, "tails", tails)

    words = 1

    @property
    def n(self) -> int:
        """The largest count."""
        return self.tails.size - 1

    @property
    def k(self) -> int:
        return int(self.tails.size)

    @property
    def outputs(self) -> int:
        return self.k

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.k,)

    def distance(self, one: int, other: int) -> int:
        return steps_between(one, other, self.k)

    @cached_property
    def steps(self) -> WordArray:
        """steps[m]: how many words move a count by exactly m to one side, for m from 0 to n - 1."""
        return self.tails[:-1] - self.tails[1:]

    @property
    def fall(self) -> float:
        """How much of a tail the first step takes away: about 1 - e^-epsilon, with all its digits."""
        return int(self.steps[0]) / int(self.tails[0])

    @property
    def rate(self) -> float:
        """The logarithm of how much the first step makes a count less likely: about epsilon."""
        return (
            -math.log1p(-self.fall) if self.fall < 0.5 else math.log(int(self.tails[0]) / int(self.tails[1]))
        )

    @cached_property
    def is_geometric(self) -> bool:
        """Whether every step takes away the same part, but for the rounding to words: any falling table keeps
        its loss, but formulas of geometric noise are only for this one.
        """
        ideal = float(self.tails[0]) * np.exp(-self.rate * np.arange(self.k))
        # each step up to a word, or to the 1 / fall it ends flat at
        rounded = 2.0 * self.n * min(float(self.n), 1 / self.fall)
        return bool((np.abs(self.tails - ideal) <= _SAME * ideal + rounded).all())

    @property
    def ratio(self) -> Fraction:
        return largest_ratio(
            [(int(self.tails[0]), int(self.tails[-1])), (int(self.steps[0]), int(self.steps[-1]))]
        )

    def _loss_at(self, distance: float) -> float:
        apart = whole_number("the distance of two counts", distance, 1, self.n)
        # the two ends share no single step, and may be harder to distinguish than their neighbors
        if apart == self.n:
            return log_up(self.ratio)
        return self._unit_loss if apart == 1 else log_up(largest_ratio(self._apart(apart)))

    @cached_property
    def _unit_loss(self) -> float:
        return log_up(largest_ratio(self._apart(1)))

    def _apart(self, distance: int) -> Iterator[tuple[int, int]]:
        """Ratios of one output from two counts at this distance: tails for the ends, single steps for what is
        between. They grow with the distance.
        """
        for words in (self.tails, self.steps):
            yield from zip(words[:-distance].tolist(), words[distance:].tolist(), strict=True)

    def _rows(self, start: int, stop: int) -> Floats:
        values = np.arange(start, stop)
        chances = (self.steps / float(FULL))[
            np.minimum(np.abs(values[:, None] - np.arange(self.k)), self.n - 1)
        ]
        ends = self.tails / float(FULL)
        chances[:, 0], chances[:, -1] = ends[values], ends[self.n - values]
        return np.asarray(chances)

    def _weights(self, value: int) -> tuple[int, ...]:
        between = [int(self.steps[abs(value - j)]) for j in range(1, self.n)]
        return (int(self.tails[value]), *between, int(self.tails[self.n - value]))

    @cached_property
    def _ascending(self) -> WordArray:
        return np.ascontiguousarray(self.tails[:0:-1])

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        reports[:] = moved(values, words[:, 0], self._ascending)

    @cached_property
    def guide(self) -> Guide:
        """The table of cumulative chances, for compiled loops."""
        from deniable.metric.loops import guided

        return guided(self._ascending, 63, 11)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.metric import loops

        loops.geometric(values, rows.address(), self.guide, reports)

    @cached_property
    def _ideal(self) -> GeometricChannel:
        """The channel that the table is but for its rounding to words, where it is geometric."""
        return GeometricChannel(self.n, self.rate)

    def _inverse(self, shares: Floats) -> Floats:
        """By the inverse of the ideal geometric, refined against the table that is sampled."""
        if not self.is_geometric:
            return super()._inverse(shares)
        inverse = self._ideal.inverse(shares)
        for _ in range(2):
            inverse = inverse + self._ideal.inverse(shares - self._forward(inverse))
        return inverse

    @cached_property
    def contributions(self) -> tuple[float, float]:
        if not self.is_geometric:
            return super().contributions
        # an output adds to its own value and to its neighbors, in the middle as everywhere between the ends
        outputs = {0, 1, self.n // 2, self.n - 1, self.n}
        added = [self._ideal.inverse((np.arange(self.k) == output).astype(np.float64)) for output in outputs]
        return min(float(weights.min()) for weights in added), max(float(weights.max()) for weights in added)

    def _squares(self, shares: Floats) -> Floats:
        return self._ideal.squares(shares) if self.is_geometric else super()._squares(shares)

    def _weighing(self, points: Floats) -> Floats:
        """By the transpose of the same inverse; an error bar needs no refinement."""
        return self._ideal.weighing(points) if self.is_geometric else super()._weighing(points)

    @cached_property
    def _mean_squares(self) -> Floats:
        """A count adds to its own estimate by three outputs: itself and its neighbors."""
        if not self.is_geometric:
            return super()._mean_squares
        (main, side), table, single = (
            self._ideal.kernel.diagonals,
            self.tails / float(FULL),
            self.steps / float(FULL),
        )
        stay, step = np.full(self.k, single[0]), np.full(self.k, single[1] if self.n > 1 else 0.0)
        stay[0] = stay[-1] = table[0]
        step[0] = step[-1] = table[1]  # into an end, from its neighbor
        variances = (main / self._ideal.ends) ** 2 * stay
        nearby = (side[0] / self._ideal.ends) ** 2 * step
        variances[:-1] += nearby[1:]
        variances[1:] += nearby[:-1]
        return np.asarray(variances)

    def _cumulated(self, shares: Floats) -> Floats:
        """Up to a count every output adds 1, except the last one and the next, which depend on a neighbor."""
        if not self.is_geometric:
            return super()._cumulated(shares)
        more = -self._ideal.kernel.diagonals[1][0] / self._ideal.ends
        below = np.concatenate([[0.0], np.cumsum(shares)[:-2]])
        last, after = shares[:-1], shares[1:]
        mean = below + last * (1 + more[:-1]) - after * more[1:]
        square = below + last * (1 + more[:-1]) ** 2 + after * more[1:] ** 2
        return np.asarray(np.maximum(square - mean**2, 0.0))

    def _forward(self, shares: Floats) -> Floats:
        """The ideal geometric's part is summed without cancellation. What the table differs by from it is
        tiny, so that it can go by a Fourier transform, whose errors are relative to the largest number that
        goes in.
        """
        if not self.is_geometric:
            return super()._forward(shares)
        known = self._ideal.output(shares)
        size = 1 << (self.k + self._unlike.size - 1).bit_length()
        moved = np.fft.irfft(np.fft.rfft(shares, size) * np.fft.rfft(self._unlike, size), size)
        outputs = known + moved[self.n - 1 : self.n - 1 + self.k]
        ends = self.tails / float(FULL)
        outputs[0], outputs[-1] = shares @ ends, shares @ ends[::-1]
        return np.asarray(outputs)

    @cached_property
    def _unlike(self) -> Floats:
        """The probability of moves from n - 1 down to n - 1 up, minus that of the ideal geometric."""
        chances = self.steps / float(FULL) - math.tanh(self.rate / 2) * np.exp(-self.rate * np.arange(self.n))
        return np.concatenate([chances[:0:-1], chances])

    title = "Geometric noise"
    unit = "step"

    @property
    def phrase(self) -> str:
        return "a noisy count that is kept" if self.kept else "a noisy count"

    def __repr__(self) -> str:
        return describe_metric(self, f"counts 0 to {self.n}", "unit")

    @property
    def _key(self) -> tuple[object, ...]:
        return (self.tails.tobytes(),)


def moved(values: Integers, words: WordArray, ascending: WordArray) -> Integers:
    """Counts moved down (words below 2^63) or up, a step for each tail above the word, within 0 to n."""
    n = ascending.size
    up = (words >> _TOP).astype(bool)
    steps = n - np.searchsorted(ascending, np.where(up, ~words, words), side="right")
    return np.asarray(np.clip(values + np.where(up, steps, -steps), 0, n))


def geometric(n: int, epsilon: float) -> Geometric:
    """Truncated geometric noise on counts 0 to n: neighbors lose at most epsilon, counts d apart lose d
    epsilon.

    Pr(j | i) is (1 - a) / (1 + a) a^|i - j| between the ends, where a = e^-epsilon, and a^|i - j| / (1 + a)
    at them. In the far tail, where that is below one word of 2^64, it stays at a few words: every output is
    possible from every count, and the worst case loses less than n epsilon. Choose it where near counts may
    be harder to distinguish than distant ones; for the same protection of all, epsilon / n is needed, and
    other protocols err less.

    >>> m = geometric(n=100, epsilon=0.5)
    >>> m
    Geometric(counts 0 to 100: loses 0.5 per unit, ... in the worst case)
    >>> m.loss_at(1) <= 0.5, m.loss_at(10) <= 5, m.loss() <= 50
    (True, True, True)
    >>> from deniable.randomness.simulated import seeded
    >>> m.privatize([0, 50, 100], seeded(3)).tolist()
    [0, 50, 98]

    Reference: kacem2018
    """
    return Geometric(geometric_tails(whole_number("n, the largest count,", n, 1, MOST), epsilon))
