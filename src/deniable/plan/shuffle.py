"""Computes what a crowd hides once its names are stripped.

Amplification by shuffling is a bound for the whole collection, true only if somebody strips identities and
order, and no better than what is proven here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.formatting import format_up

Bound = Literal["numerical", "closed"]
# numbers of clones that are looked at one by one; beyond, neighbors count as the smallest of them
_GROUPS = 512
_ROUNDING = 1e-9  # far above what a float's tail of a binomial is off by, as a part of it


@final
@dataclass(frozen=True)
class Shuffled:
    """What a whole collection guarantees once shuffled: (epsilon, delta), and by which bound."""

    epsilon: float
    delta: float
    bound: str

    def __str__(self) -> str:
        return f"Shuffled: epsilon {format_up(self.epsilon)} with delta {self.delta:g} ({self.bound})"


def shuffled(epsilon: float, n: int, delta: float = 1e-6, bound: Bound = "numerical") -> Shuffled:
    """Computes the guarantee of n reports, each of loss epsilon, once names and order are stripped.

    All must be made by the same mechanism or record mechanism, one report each (a record is one report). The
    other n - 1 people must be honest. delta should be far below 1 / n. bound="numerical" evaluates the
    reduction to clones; "closed" is its published closed form, which is weaker, and outside its range
    promises nothing beyond the local epsilon. Neither is ever above epsilon. These are floats, rounded up: an
    allowance for rounding, 1e-9 of what is summed, is part of the numerical delta.

    >>> shuffled(1.0, n=1_000_000, bound="closed").epsilon < 0.0235
    True
    >>> shuffled(1.0, n=1_000_000).epsilon < 0.01
    True

    Reference: feldman2021.
    """
    local = positive_epsilon(epsilon)
    whole_number("n, the number of people,", n, 1)
    if not 0 < delta < 1:
        raise InvalidParameter(f"delta is a probability between 0 and 1, got {delta!r}")
    if bound == "closed":
        found, name = (
            _bound_by_formula(local, n, delta),
            "Feldman, McMillan, Talwar 2021, closed form of Theorem 3.1",
        )
    elif bound == "numerical":
        found, name = (
            _numerical(local, n, delta),
            "Feldman, McMillan, Talwar 2021, reduction to clones, evaluated numerically",
        )
    else:
        raise InvalidParameter(f"bound is 'numerical' or 'closed', got {bound!r}")
    if found >= local:
        return Shuffled(local, delta, "none: no better than the local loss")
    return Shuffled(found, delta, name)


def _bound_by_formula(local: float, n: int, delta: float) -> float:
    """ln(1 + (e - 1) / (e + 1) (8 sqrt(e ln(4 / delta) / n) + 8 e / n)), for e = e^local up to n / (16 ln(2 /
    delta)).
    """
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    e = math.exp(local)
    spread = 8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n
    return math.log1p(math.tanh(local / 2) * spread) * (1 + 1e-12)


def _numerical(local: float, n: int, delta: float) -> float:
    """The smallest epsilon, to seven digits and rounded up, at which the clones' delta is small enough."""
    if local > 300:  # no crowd on earth has a clone
        return local
    clones = _Clones.among(local, n)
    low, high = 0.0, local
    if clones.delta(1e-10) <= delta:  # a crowd so large that nothing is left to look for
        return 1e-10
    while high - low > 1e-7 * high + 1e-10:
        middle = (low + high) / 2
        low, high = (low, middle) if clones.delta(middle) <= delta else (middle, high)
    return high


@final
@dataclass(frozen=True)
class _Clones:
    """Two crowds that any two neighboring collections can be made from, once shuffled.

    Say one person has value x or x'. A report of loss `local` is a mixture of two reports that are the same
    for x and x', the first with probability r = e / (e + 1) for x and 1 - r for x', e = e^local. Everyone
    else's report is, with probability 1 / e, drawn like that from x or from x' by a fair coin: a clone of
    either kind, equally likely. So all that tells x from x' is how many of C + 1 reports are of the first
    kind, where C is binomial (n - 1, 1 / e): the person's own and a fair half of the clones. More clones hide
    more, so that a group of C counts as its smallest.
    """

    local: float
    clones: Floats
    weights: Floats
    rest: float
    """How likely there are fewer clones than all of these; they hide nothing."""

    @staticmethod
    def among(local: float, n: int) -> _Clones:
        from scipy.special import betainc

        others, chance = n - 1, math.exp(-local)
        mean, deviation = others * chance, math.sqrt(others * chance * (1 - chance))
        first, last = max(0, math.floor(mean - 12 * deviation)), min(others, math.ceil(mean + 12 * deviation))
        step = max(1, -(-(last - first + 1) // _GROUPS))
        clones = np.arange(first, last + 1, step, dtype=np.float64)
        fewer = np.zeros(clones.size)  # Pr(C < clones)
        some = clones > 0
        fewer[some] = betainc(others - clones[some] + 1, clones[some], 1 - chance)
        return _Clones(local, clones, np.diff(fewer, append=1.0), float(fewer[0]))

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more, by the event "at least t of one kind"."""
        from scipy.special import betainc

        # with S(t) = Pr(at least t of C fair coins), the best t gives (r - E (1 - r)) S(t - 1) - (E r - (1 -
        # r)) S(t)
        gain = -math.expm1(epsilon - self.local) / (1 + math.exp(-self.local))
        price = (math.exp(epsilon) - math.exp(-self.local)) / (1 + math.exp(-self.local))
        best = np.floor(price / (gain + price) * (self.clones + 1)) + 1

        def tail(t: Floats) -> Floats:
            inner = (t >= 1) & (t <= self.clones)
            chances = np.where(t < 1, 1.0, 0.0)
            chances[inner] = betainc(t[inner], self.clones[inner] - t[inner] + 1, 0.5)
            return chances

        above = gain * tail(best - 1)
        one = np.maximum(above - price * tail(best), 0.0) + _ROUNDING * above
        return float(self.weights @ one) * (1 + _ROUNDING) + self.rest * (1 + _ROUNDING)
