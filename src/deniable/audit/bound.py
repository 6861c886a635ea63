"""Computes a lower bound on epsilon from guesses, exactly.

In every trial a fair coin says which of two answers a device holds. Whoever sees its report may guess which,
or say nothing. If the reports keep epsilon, then whatever is seen a guess is right with probability at most
e^epsilon / (1 + e^epsilon), each independently of the others. So the number of right guesses, given how many
there are, is at most binomial: one Clopper-Pearson bound on that share is a lower bound on epsilon. Both
directions, and many pairs of answers, count together.

Where a device holds one of m answers and s of them are named, the right one is among them with odds of at
most e^epsilon s / (m - s). Guesses of different sizes are no binomial together, but their odds all grow by
the same factor: the likelihood ratio between the epsilon that fits best and any smaller one is Chernoff's
bound on as many being right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import exact_low, reach_of
from deniable.formatting import Printed

Odds = tuple[tuple[float, int], ...]
"""Odds by chance, and how many guesses have them."""

_OFTEN = 0.95  # how often what is called noticeable is noticed
_MOST = 700.0  # no loss that is looked for is above it
_TAIL = 1e-8  # the chance of each of three steps to be too narrow at the lower end
_USUAL = 0.025  # how often the upper end is exceeded


def lower_epsilon(
    right: npt.ArrayLike, guesses: npt.ArrayLike, alpha: float, by_chance: float = 1.0
) -> Floats:
    """The lower bound from that many right guesses, each right with these odds by chance.

    It is above the true epsilon with probability at most alpha.
    """
    hits, total = np.asarray(right, dtype=float), np.asarray(guesses, dtype=float)
    least = by_chance / (1 + by_chance)  # epsilon is never negative
    share = np.maximum(exact_low(hits, total, alpha), least)
    return np.asarray(np.maximum(np.log(share) - np.log1p(-share) - math.log(by_chance), 0.0))


def lower_epsilon_of_many(right: int, odds: Odds, alpha: float) -> float:
    """The lower bound from that many right guesses, where the guesses have different odds by chance."""
    if len(odds) == 1:
        return float(lower_epsilon(right, odds[0][1], alpha, odds[0][0]))
    log_odds, guesses = np.log([by_chance for by_chance, _ in odds]), np.array([count for _, count in odds])
    best = fitting(right, odds)

    def likelihood(epsilon: float) -> float:
        return right * epsilon - float(guesses @ np.logaddexp(0, log_odds + epsilon))

    return _where(lambda epsilon: likelihood(epsilon) - likelihood(best) - math.log(alpha), best)


def fitting(right: float, odds: Odds) -> float:
    """The epsilon by which this many guesses are right in the mean."""
    return _where(lambda epsilon: sum(expected(epsilon, odds)) - right, _MOST)


def expected(epsilon: float, odds: Odds) -> list[float]:
    """How many guesses of each odds are right in the mean."""
    return [count / (1 + math.exp(-epsilon) / by_chance) for by_chance, count in odds]


def _where(rising: Callable[[float], float], most: float) -> float:
    """Finds where a function reaches zero, rounded down, between 0 and `most`."""
    from scipy.optimize import brentq

    if most <= 0 or rising(0.0) >= 0:
        return 0.0
    return most if rising(most) <= 0 else max(0.0, float(brentq(rising, 0.0, most, xtol=1e-12)) - 1e-11)


@final
@dataclass(frozen=True)
class Event(Printed):
    """A way to guess that was fixed before it was tried, and what it gave."""

    name: str
    guesses: int
    right: int
    alpha: float
    """Its part of the chance of a false alarm."""
    claim: float = 0.0
    """What is claimed of the pairs that it was tried on."""
    odds: Odds = ()
    """How many guesses are right with which odds by chance; without, they are all among two answers."""
    alone: bool = False
    """Whether it was tried on one pair of several."""
    partial: bool = False
    """Whether it was tried on records that differ in one or two of several attributes."""
    expected: tuple[float, float] | None = None
    """Between what a right client's lower bound is, where that is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "odds", self.odds or ((1.0, self.guesses),))

    def __str__(self) -> str:
        right = f"{self.right:,} of {self.guesses:,} guesses right"
        return f"{self.name}: {right}, so epsilon is at least {self.bound:.4f} (claim {self.claim:.4f})"

    @property
    def bound(self) -> float:
        """The lower bound on epsilon."""
        return lower_epsilon_of_many(self.right, self.odds, self.alpha) if self.guesses else 0.0

    @property
    def above(self) -> bool:
        """Whether it shows more than is claimed."""
        return self.bound > self.claim

    @property
    def unusual(self) -> bool:
        """Whether it shows less than a right client would."""
        return self.expected is not None and self.bound < self.expected[0]

    @property
    def ceiling(self) -> float:
        """The bound if all of its guesses were right."""
        return lower_epsilon_of_many(self.guesses, self.odds, self.alpha) if self.guesses else 0.0

    @property
    def noticeable(self) -> float:
        """How much more this event must lose, beyond the claim, to be noticed 19 times in 20.

        An event may lose less than the claim even where the claim is true: that distance goes unnoticed, too.
        One that shows more than the claim has none; what counts is how well a loss near the claim could have
        been distinguished from it.
        """
        if not self.guesses:
            return math.inf
        best_fit = fitting(self.guesses * (self.right + 0.5) / (self.guesses + 1), self.odds)
        # Chernoff asks for more
        least = reach_of(self.alpha) if len(self.odds) == 1 else math.sqrt(-2 * math.log(self.alpha))
        sure = least - reach_of(_OFTEN)
        return max(0.0, self.claim - best_fit) + sure * self._error(
            self.claim + sure * self._error(self.claim)
        )

    def _error(self, loss: float) -> float:
        """The standard error of epsilon with that loss: one by the square root of the sum of p (1 - p)."""
        shares = zip(expected(min(loss, _MOST), self.odds), self.odds, strict=True)
        variance = sum(share * (1 - share / count) for share, (_, count) in shares)
        return 1 / math.sqrt(variance) if variance > 0 else math.inf


class Counts(NamedTuple):
    """How many devices there were, for how many of them there was a guess, and how many were right."""

    devices: int
    guesses: int
    right: int


def expected_range(right_client: Counts, devices: int, guesses: int, alpha: float) -> tuple[float, float]:
    """Finds the ends of the lower bound from that many devices of a right client, of which others were
    counted.

    Of right clients 3 in 10^8 at most are below the lower end; it counts what the counts themselves may be
    off. About 1 in 40 is above the upper end. More or fewer guesses than are likely count as the most or the
    fewest that are.
    """
    from scipy.stats import binom

    fewest, most = _find_shares(right_client.guesses, right_client.devices)
    least = float(binom.ppf(_TAIL, devices, fewest))
    count = float(np.clip(guesses, least, float(binom.isf(_TAIL, devices, most))))
    if count <= 0:
        return 0.0, float(lower_epsilon(devices, devices, alpha))
    low, _ = _find_shares(right_client.right, right_client.guesses)
    middle = right_client.right / max(1, right_client.guesses)
    ends = [binom.ppf(_TAIL, count, low), binom.isf(_USUAL, count, middle)]
    first, last = lower_epsilon(ends, [count, count], alpha).tolist()
    return first, max(first, last)


def _find_shares(count: int, total: int) -> tuple[float, float]:
    """Both ends of what such a count says of its probability, exactly (Clopper-Pearson)."""
    if not total:
        return 0.0, 1.0
    low, rest = exact_low(np.array([count, total - count], dtype=float), total, _TAIL).tolist()
    return low, 1 - rest
