"""Enumerates what a crowd hides where there are two values: the count of one of them is all that is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from deniable.crowd.tails import ROUNDING

_CROWDS = 10_000  # of which each is enumerated
_GROUPS = 1000  # of more, neighbors are enumerated together
_MOST = 10**7  # more people count as this many, since more hide more


@final
@dataclass(frozen=True)
class Coins:
    """A crowd of n people with two values each, who report the true one with probability `keep`.

    The others may have any values. That they agree is not always the worst: with eight people, one who
    differs is worse. So all numbers of those who have the first value are tried. In large crowds neighboring
    numbers are tried at once: whoever is on one side here and on the other there is left out, since a crowd
    with fewer people hides less.
    """

    n: int
    keep: float

    @property
    def _others(self) -> int:
        return min(self.n, _MOST) - 1

    @property
    def _step(self) -> int:
        """How many numbers of people are tried at once."""
        return 1 if self.n <= _CROWDS else -(-(self._others + 1) // _GROUPS)

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more, in the worst crowd."""
        return self.find_worst(epsilon)[0]

    def find_worst(self, epsilon: float) -> tuple[float, int]:
        """The largest delta, and how many of the others have the first value in that crowd, at least."""
        from deniable.crowd import loops

        delta, ones = loops.worst_crowd(self._others, self._step, self.keep, math.exp(epsilon), ROUNDING)
        return delta * (1 + ROUNDING), int(ones)

    def delta_of(self, ones: int, epsilon: float) -> float:
        """The least delta if this many of the others have the first value, or a few more in large crowds."""
        from deniable.crowd import loops

        others = self._others - min(self._step - 1, self._others - ones)
        delta = loops.delta_of(others, ones, self.keep, math.exp(epsilon), ROUNDING)
        return float(delta) * (1 + ROUNDING)
