"""Says what noise on counts offers: draws from tables of integers, and the loss of just these integers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.randomness import FULL, Words, checked_source
from deniable.randomness.draws import WordArray

WIDE = FULL * FULL
"""The number of different pairs of words: a weight w means a probability of w / WIDE."""

_PRECISION = 1e-6  # an epsilon is found to this part of it, and rounded up
_LARGEST = 500.0


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

    def find(self, words: WordArray) -> Integers:
        """How many sums are not above each pair of words, the first of which is the high one."""
        high = words[:, 0]
        places = np.searchsorted(self._high, high, side="left")
        ends = np.searchsorted(self._high, high, side="right")
        for i in np.flatnonzero(places != ends).tolist():  # once in 2^40 draws the low words decide
            same = self._low[places[i] : ends[i]]
            places[i] += np.searchsorted(same, words[i, 1], side="right")
        return places.astype(np.int64)
