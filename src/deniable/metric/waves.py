"""Reports square waves: near the value with one probability, elsewhere with another, at any distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import log_up, number, positive_epsilon, whole_number
from deniable.formatting import format_loss
from deniable.mechanisms import checked_words
from deniable.mechanisms.calibrate import largest
from deniable.mechanisms.shapes.common import set_numbers
from deniable.metric.base import MetricMechanism
from deniable.randomness import FULL, below, cell, chance
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

MOST_BINS = 1 << 20


@final
@dataclass(frozen=True, eq=False)
class SquareWave(MetricMechanism):
    """The report is one of k + window - 1 bins: of the value's window, or of the k - 1 others.

    Shares are estimated without bias, whatever they are; those of single bins scatter.
    """

    k: int
    window: int
    keep: int
    """How many of the 2^64 words stay in the window."""

    def __post_init__(self) -> None:
        k, window, keep = checked_window(self.k, self.window, self.keep)
        set_numbers(self, k=k, window=window, keep=keep)

    words = 2

    @property
    def _key(self) -> tuple[object, ...]:
        return self.k, self.window, self.keep

    @property
    def outputs(self) -> int:
        return self.k + self.window - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.k,)

    @property
    def ratio(self) -> Fraction:
        return window_ratio(self.k, self.window, self.keep)

    @property
    def _unit_loss(self) -> float:
        return log_up(self.ratio)

    def _loss_at(self, distance: float) -> float:
        """Windows of neighbors differ already, so that the distance makes no difference."""
        number("a distance", distance, 0.0, math.inf, "a positive number")
        return log_up(self.ratio)

    def _rows(self, start: int, stop: int) -> Floats:
        first, bins = np.arange(start, stop)[:, None], np.arange(self.outputs)
        inside = (bins >= first) & (bins < first + self.window)
        inside_window = Fraction(self.keep, FULL * self.window)
        far = Fraction(FULL - self.keep, FULL * (self.k - 1))
        return np.where(inside, float(inside_window), float(far))

    def _weights(self, value: int) -> tuple[int, ...]:
        inside_window = [self.keep * count for count in _cells(self.window)]
        far = [(FULL - self.keep) * count for count in _cells(self.k - 1)]
        return (*far[:value], *inside_window, *far[value:])

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        """The values in whose window the report is: each of them is likelier by the whole ratio."""
        first = np.asarray(reports).astype(np.int64)[:, None] - np.arange(self.k)
        return np.asarray((first >= 0) & (first < self.window))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        reports[:] = in_window(values, words[:, 0], words[:, 1], self.k, self.window, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.metric import loops

        others, width, keep = (np.uint64(number) for number in (self.k - 1, self.window, self.keep))
        loops.window(values, rows.address(), others, width, keep, reports)

    title = "Square wave"

    @property
    def phrase(self) -> str:
        return f"a bin near the true one, in a window of {self.window}"

    def describe_loss(self) -> str:
        return f"loss {format_loss(self.loss())} at any distance"

    def __repr__(self) -> str:
        return (
            f"SquareWave({self.k} bins, a window of {self.window}: loses {self.loss():.6g} at any distance)"
        )


def in_window(
    values: Integers, coins: WordArray, positions: WordArray, k: int, window: int, keep: int
) -> WordArray:
    """A bin of each value's window, or one of the k - 1 others, which the window is cut out of."""
    first = values.astype(np.uint64)
    other = below(positions, k - 1)
    other += np.where(other >= first, np.uint64(window), np.uint64(0))
    return np.where(chance(coins, keep), first + below(positions, window), other)


def checked_window(k: int, window: int, keep: int) -> tuple[int, int, int]:
    """Check the numbers of bins, of those in a window, and of the words that stay in it."""
    k = whole_number("k, the number of bins,", k, 2, MOST_BINS, reason="k")
    window = whole_number("window", window, 1, MOST_BINS, reason="window")
    keep = checked_words("keep", keep)
    if window_ratio(k, window, keep) <= 1:
        raise InvalidParameter(f"keep must make the window likelier than the rest, got {keep}", "likelier")
    return k, window, keep


def window_ratio(k: int, window: int, keep: int) -> Fraction:
    """How much likelier a bin is inside the window than outside, with the bias of `below` both ways."""
    return Fraction(keep * cell(window)[1], (FULL - keep) * cell(k - 1)[0])


def best_keep(k: int, window: int, epsilon: float) -> int:
    """The most words for the window that epsilon allows."""
    share = FULL * window // (k + window - 1)
    lowest = min(FULL - 1, share + (share >> 50) + 2)
    return largest(lambda keep: window_ratio(k, window, keep), epsilon, lowest, FULL - 1)


def _cells(bound: int) -> list[int]:
    """How many words `below` sends to each integer."""
    return [stop - start for start, stop in pairwise(-(-FULL * j // bound) for j in range(bound + 1))]


def half_window(epsilon: float) -> float:
    """b = (epsilon e^epsilon - e^epsilon + 1) / (2 e^epsilon (e^epsilon - 1 - epsilon)), by series where that
    cancels.
    """
    if epsilon > 2:
        e = math.exp(-epsilon)
        return (epsilon - 1 + e) * e / (2 * (1 - e * (1 + epsilon)))
    terms = [epsilon ** (j - 2) / math.factorial(j) for j in range(2, 40)]
    return sum((j + 1) * term for j, term in enumerate(terms)) / (2 * math.exp(epsilon) * sum(terms))


def square_wave(epsilon: float, bins: int) -> SquareWave:
    """The distribution of a number: a report near the value is e^epsilon times likelier than a distant one.

    Values are 0 to bins - 1: 2 B + 1 outputs around a value have the probability e^epsilon / ((2 B + 1)
    e^epsilon + bins - 1) each, the others e^epsilon times less. B is b bins, rounded down. Choose it for
    whole distributions at the same epsilon for any two values; `mle(...).smooth()` estimates best.

    >>> m = square_wave(epsilon=1.0, bins=100)
    >>> m, m.outputs, m.loss() <= 1
    (SquareWave(100 bins, a window of 51: loses 1 at any distance), 150, True)

    Reference: li2020
    """
    k = whole_number("bins", bins, 2, MOST_BINS)
    window = 2 * int(half_window(positive_epsilon(epsilon)) * k) + 1
    return SquareWave(k, window, best_keep(k, window, epsilon))
