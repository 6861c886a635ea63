"""Adds exact integer noise to counts: what a law must state, and Laplace noise without an end."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import (
    exp_down,
    log_up,
    number,
    positive_epsilon,
    power_up,
    round_up,
    times_up,
    whole_number,
)
from deniable.randomness import FULL, Words, checked_source

WIDE = FULL * FULL
"""The number of different pairs of words: a weight w means a probability of w / WIDE."""

MOST_STEPS = 1 << 20
"""The longest table of steps; its loss is about 8 / MOST_STEPS."""
LARGEST = 40.0
"""The largest epsilon of a step that Laplace noise is made for."""

_PRECISION = 1e-6  # an epsilon is found to this part of it, and rounded up
_LARGEST = 500.0
_BLOCK = 8  # a table is this many times 1 / loss long, so that one number in 3,000 needs a second block
_SPARE = 1 << 40  # one part of so many is left, so that rounding up never fills the table


class CountNoise(ABC):
    """Integer noise on counts. One person moves `counts` of them, each by at most `each`."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise."""

    def draw(self, size: int, words: Words | None = None) -> Integers:
        """Independent noise for so many counts, from the operating system's words unless others are given."""
        source = checked_source(words)
        return self._draw(whole_number("the number of counts", size, 0), source)

    @abstractmethod
    def _draw(self, size: int, words: Words) -> Integers:
        """Noise for so many counts."""

    @abstractmethod
    def delta(self, epsilon: float, counts: int = 1, each: int = 1) -> float:
        """The delta at epsilon of this very table, rounded up, if one person moves so many counts."""

    def epsilon(self, delta: float, counts: int = 1, each: int = 1) -> float:
        """The least epsilon whose delta is at most this, rounded up by a millionth of it at most."""
        allowed = number("delta", delta, 0.0, 1.0)
        if self.delta(0.0, counts, each) <= allowed:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high, counts, each) > allowed:
            low, high = high, 2 * high
            if high > _LARGEST:
                raise InvalidParameter(
                    f"this noise has no epsilon below {_LARGEST:g} at delta {delta:g} for {counts:,} counts; "
                    "add more noise"
                )
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            if self.delta(middle, counts, each) <= allowed:
                high = middle
            else:
                low = middle
        return high


def checked_shift(counts: int, each: int) -> tuple[int, int]:
    """How many counts one person moves, and by how much each."""
    return (
        whole_number("counts, how many counts one person moves,", counts, 1),
        whole_number("each, by how much one person moves a count,", each, 1),
    )


def checked_noise_epsilon(epsilon: float) -> float:
    """An epsilon at which a delta is asked for: 0 or more."""
    return 0.0 if epsilon == 0 else number("epsilon", epsilon, 0.0, 1000.0, "a number from 0 to 1000")


@final
class Thresholds:
    """Places a pair of words among sums of weights, as one number out of 2^128."""

    def __init__(self, weights: Sequence[int]) -> None:
        sums = [total for total in accumulate(weights) if total < WIDE]
        self._high = np.array([total >> 64 for total in sums], dtype=np.uint64)
        self._low = np.array([total % FULL for total in sums], dtype=np.uint64)

    def find(self, words: npt.NDArray[np.uint64]) -> Integers:
        """How many sums are not above each pair of words, the first of which is the high one."""
        high = words[:, 0]
        places = np.searchsorted(self._high, high, side="left")
        ends = np.searchsorted(self._high, high, side="right")
        for i in np.flatnonzero(places != ends).tolist():  # once in 2^40 draws the low words decide
            same = self._low[places[i] : ends[i]]
            places[i] += np.searchsorted(same, words[i, 1], side="right")
        return places.astype(np.int64)


@final
@dataclass(frozen=True, repr=False)
class DiscreteLaplace(CountNoise):
    """Laplace noise on the integers: z has a chance in proportion to e^(-loss |z|), for every integer z.

    It is the difference of two numbers of steps. A number of steps is a place in a table, and so many whole
    tables. A table that ended would have an infinite loss at its ends.

    >>> noise = DiscreteLaplace.of(0.5)
    >>> noise.loss
    0.5
    >>> noise.epsilon(counts=4)
    2.0
    """

    weights: tuple[int, ...]
    """How many of the pairs of words give each place in the table; a pair beyond them is drawn again."""
    again: int
    """How many of the pairs of words add another whole table."""

    def __post_init__(self) -> None:
        falling = all(
            weight >= following for weight, following in zip(self.weights, self.weights[1:], strict=False)
        )
        if not self.weights or self.weights[-1] < 1 or not falling or sum(self.weights) > WIDE:
            raise InvalidParameter("weights must be positive, must not rise, and add up to 2^128 at most")
        if not 0 < self.again < WIDE or self.weights[0] * self.again > self.weights[-1] * WIDE:
            raise InvalidParameter("another table must be possible, and must not begin with a rise")

    def __repr__(self) -> str:
        return f"DiscreteLaplace(loss={self.loss:.10g})"

    @classmethod
    def of(cls, epsilon: float) -> DiscreteLaplace:
        """The noise whose loss is at most epsilon for a count that moves by one."""
        if positive_epsilon(epsilon) > LARGEST:
            raise InvalidParameter(
                f"epsilon {epsilon:g} a step leaves no noise; use one of at most {LARGEST:g}"
            )
        budget = exp_down(epsilon)
        steps = max(1, math.ceil(_BLOCK / epsilon))
        if steps > MOST_STEPS:
            raise InvalidParameter(
                f"epsilon {epsilon:g} a step is too small for a table of {MOST_STEPS:,} steps; choose one of "
                f"at least {_BLOCK / MOST_STEPS:.1e}"
            )
        first = int(WIDE * (1 - 1 / budget) * (1 - Fraction(1, _SPARE)))
        weights = [first]
        for _ in range(steps - 1):
            weights.append(-(-weights[-1] * budget.denominator // budget.numerator))
        again = -(-weights[-1] * WIDE * budget.denominator // (weights[0] * budget.numerator))
        return cls(tuple(weights), again)

    @classmethod
    def calibrate(cls, epsilon: float, counts: int = 1, each: int = 1) -> DiscreteLaplace:
        """The least noise of this kind that keeps epsilon where one person moves so many counts.

        >>> DiscreteLaplace.calibrate(1.0, counts=10)
        DiscreteLaplace(loss=0.1)
        """
        moved, by = checked_shift(counts, each)
        share = positive_epsilon(epsilon) / (moved * by)
        while times_up(share, moved * by) > epsilon:
            share = math.nextafter(share, 0.0)
        return cls.of(share)

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of the chances of a number of steps and of one step more.

        Steps never get likelier, so that the difference of two numbers of steps has no larger ratio.
        """
        best, over = self.weights[-1] * WIDE, self.weights[0] * self.again
        for weight, following in zip(self.weights, self.weights[1:], strict=False):
            if weight * over > best * following:
                best, over = weight, following
        return Fraction(best, over)

    @cached_property
    def loss(self) -> float:
        """The epsilon of a count that moves by one, rounded up."""
        return log_up(self.ratio)

    @cached_property
    def deviation(self) -> float:
        chances = np.array([weight / WIDE for weight in self.weights])
        chances /= chances.sum()
        places = np.arange(chances.size)
        mean = float(chances @ places)
        again = self.again / WIDE
        tables = again / (1 - again) ** 2
        return math.sqrt(2 * (float(chances @ (places - mean) ** 2) + chances.size**2 * tables))

    def delta(self, epsilon: float, counts: int = 1, each: int = 1) -> float:
        """What any guarantee with this loss has at a smaller epsilon: (R - e^epsilon) / (R + 1)."""
        moved, by = checked_shift(counts, each)
        total_ratio = power_up(self.ratio, moved * by)
        left = (total_ratio - exp_down(checked_noise_epsilon(epsilon))) / (total_ratio + 1)
        return 0.0 if epsilon >= self.epsilon(counts=counts, each=each) else round_up(left)

    def epsilon(self, delta: float = 0.0, counts: int = 1, each: int = 1) -> float:
        """The loss where one person moves so many counts; a delta does not lower it here."""
        moved, by = checked_shift(counts, each)
        return times_up(self.loss, moved * by)

    @cached_property
    def _thresholds(self) -> Thresholds:
        return Thresholds(self.weights)

    @cached_property
    def _more(self) -> Thresholds:
        return Thresholds([self.again])

    def _draw(self, size: int, words: Words) -> Integers:
        return np.asarray(self._draw_steps(size, words) - self._draw_steps(size, words))

    def _draw_steps(self, size: int, words: Words) -> Integers:
        steps = np.full(size, len(self.weights), dtype=np.int64)
        while (left := np.flatnonzero(steps == len(self.weights))).size:
            steps[left] = self._thresholds.find(words.take(2 * left.size).reshape(-1, 2))
        going = np.arange(size)
        while going.size:
            going = going[self._more.find(words.take(2 * going.size).reshape(-1, 2)) == 0]
            steps[going] += len(self.weights)
        return steps
