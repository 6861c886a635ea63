"""Enumerates what a crowd hides where there are two values: the count of one of them is all that is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from deniable.crowd.tails import ROUNDING

MOST = 10_000
"""People, up to whom every crowd is enumerated."""


@final
@dataclass(frozen=True)
class Coins:
    """A crowd of n people with two values each, who report the true one with probability `keep`.

    The others may have any values. That they agree is not always the worst: with eight people, one who
    differs is worse. So all numbers of those who have the first value are tried.
    """

    n: int
    keep: float

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more, in the worst crowd."""
        return self.find_worst(epsilon)[0]

    def find_worst(self, epsilon: float) -> tuple[float, int]:
        """The largest delta, and how many of the others have the first value in that crowd."""
        from deniable.crowd import loops

        delta, ones = loops.worst_crowd(self.n - 1, self.keep, math.exp(epsilon), ROUNDING)
        return delta * (1 + ROUNDING), int(ones)

    def delta_of(self, ones: int, epsilon: float) -> float:
        """The same where this many of the others have the first value."""
        from deniable.crowd import loops

        found = loops.delta_of(self.n - 1, ones, self.keep, math.exp(epsilon), ROUNDING)
        return float(found) * (1 + ROUNDING)
