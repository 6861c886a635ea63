"""From guesses to a lower bound on epsilon, exactly.

In every trial a fair coin says which of two answers a device holds. Whoever sees its report may guess which, or say nothing.
If the reports keep epsilon, then whatever is seen a guess is right with probability at most e^epsilon / (1 + e^epsilon), each
independently of the others. So the number of right guesses, given how many there are, is at most binomial: one Clopper-Pearson
bound on that share is a lower bound on epsilon. Both directions, and many pairs of answers, count together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_OFTEN = 0.95  # how often what is called noticeable is noticed


def lower_epsilon(right: npt.ArrayLike, guesses: npt.ArrayLike, alpha: float) -> Floats:
    """The lower bound from that many right guesses; it is above the true epsilon with probability at most alpha."""
    from scipy.stats import beta

    hits, total = np.asarray(right, dtype=float), np.asarray(guesses, dtype=float)
    share = np.where(hits > 0, beta.ppf(alpha, np.maximum(hits, 1), total - hits + 1), 0.5)
    share = np.maximum(share, 0.5)  # epsilon is never negative
    return np.asarray(np.log(share) - np.log1p(-share))


def ceiling(trials: int, alpha: float) -> float:
    """The bound if all of that many guesses were right: nothing above it can be shown."""
    share = math.exp(math.log(alpha) / trials)
    return math.log(share) - math.log(-math.expm1(math.log(alpha) / trials))


@final
@dataclass(frozen=True)
class Event:
    """A way to guess that was fixed before it was tried, and what it gave."""

    name: str
    guesses: int
    right: int
    alpha: float
    """Its part of the chance of a false alarm."""

    @property
    def bound(self) -> float:
        """The lower bound on epsilon."""
        return float(lower_epsilon(self.right, self.guesses, self.alpha)) if self.guesses else 0.0

    @property
    def noticeable(self) -> float:
        """How far the loss of this event must be above a claim to be noticed 19 times in 20."""
        from scipy.stats import norm

        share = (self.right + 1) / (self.guesses + 2)
        return float((norm.isf(self.alpha) + norm.ppf(_OFTEN)) / math.sqrt((self.guesses + 2) * share * (1 - share)))
