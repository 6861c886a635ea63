"""Bounds what a crowd hides by clones: true of every mechanism with a local loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.crowd.tails import ROUNDING, Groups, group, tail

_GROUPS = 512  # numbers of clones that are looked at one by one; beyond, neighbors count as the smallest


@final
@dataclass(frozen=True)
class Clones:
    """Two crowds that any two neighboring collections can be made from, once shuffled.

    Say one person has value x or x'. A report of loss `local` is a mixture of two reports that are the same
    for x and x', the first with probability r = e / (e + 1) for x and 1 - r for x', e = e^local. Everyone
    else's report is, with probability 2 / (e + 1), drawn from these two by a fair coin: a clone of either
    kind. So all that tells x from x' is how many of C + 1 reports are of the first kind, where C is binomial
    (n - 1, 2 / (e + 1)): the person's own and a fair half of the clones. More clones hide more, so that a
    group of C counts as its smallest.

    Reference: feldman2023.
    """

    local: float
    groups: Groups

    @staticmethod
    def among(local: float, n: int) -> Clones:
        """The clones in a crowd of n people."""
        return Clones(local, group(n - 1, 2 / (math.exp(local) + 1), _GROUPS))

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more, by the event "at least t of one kind"."""
        clones, weights = self.groups.first[0], self.groups.chances[0]
        # with S(t) = Pr(at least t of C fair coins), the best t gives (r - E (1 - r)) S(t - 1) - (E r - (1 -
        # r)) S(t)
        gain = -math.expm1(epsilon - self.local) / (1 + math.exp(-self.local))
        price = (math.exp(epsilon) - math.exp(-self.local)) / (1 + math.exp(-self.local))
        best = np.floor(price / (gain + price) * (clones + 1)) + 1
        above = gain * tail(clones, 0.5, best - 1)
        deltas = np.maximum(above - price * tail(clones, 0.5, best), 0.0) + ROUNDING * above
        return float(weights @ deltas + self.groups.outside[0]) * (1 + ROUNDING)
