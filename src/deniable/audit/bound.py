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
_HUGE = 1000.0  # a claim that no number of guesses reaches


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
    claim: float = 0.0
    """What is claimed of the pairs that it was tried on."""

    @property
    def bound(self) -> float:
        """The lower bound on epsilon."""
        return float(lower_epsilon(self.right, self.guesses, self.alpha)) if self.guesses else 0.0

    @property
    def above(self) -> bool:
        """Whether it shows more than is claimed."""
        return self.bound > self.claim

    @property
    def ceiling(self) -> float:
        """The bound if all of its guesses were right."""
        return ceiling(self.guesses, self.alpha) if self.guesses else 0.0

    @property
    def noticeable(self) -> float:
        """How much more this event must lose, beyond the claim, to be noticed 19 times in 20.

        An event may lose less than the claim even where the claim is true: that distance goes unnoticed, too.
        """
        from scipy.stats import norm

        here = math.log((self.right + 0.5) / (self.guesses - self.right + 0.5))
        sure = float(norm.isf(self.alpha) + norm.ppf(_OFTEN))
        edge = max(here, self.claim)
        return edge - here + sure * self._error(edge + sure * self._error(edge))

    def _error(self, loss: float) -> float:
        """The standard error of ln(right / wrong) with that loss: 1 / sqrt(guesses p (1 - p))."""
        return 2 * math.cosh(loss / 2) / math.sqrt(self.guesses + 1) if loss < _HUGE else math.inf
