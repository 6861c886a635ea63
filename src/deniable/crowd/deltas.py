"""Bounds the delta of a crowd for an epsilon: by clones, by the privacy blanket, or by enumeration.

Clones are true of every mechanism with a local loss. The blanket is the part of every report that no value
moves. Where there are two values, the count of one of them is all that is left, and is enumerated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import Floats

ROUNDING = 1e-9
"""Far above what a float's tail of a binomial is off by, as a part of it."""
_REACH = 10  # standard deviations to either side: less than 1e-21 is farther away, by Bernstein's inequality
_GROUPS = 512  # numbers of clones that are looked at one by one; beyond, neighbors count as the smallest
_OTHERS, _ONE, _BOTH = 32, 256, 8  # groups of each number that are looked at one by one
_RARE = 1e-22  # cases that are rarer are counted together, as if nobody hid
_CROWDS = 10_000  # of which each is enumerated
_CROWD_GROUPS = 1000  # of more, neighbors are enumerated together
_MOST_PEOPLE = 10**7  # more people count as this many, since more hide more


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


class _Cells(NamedTuple):
    """Cases of a crowd, each with its chance: the blanket's reports, and how many support which value."""

    reports: Floats
    single: Floats
    """How many support one of the two values, but not the other."""
    spare: Floats
    """How many fewer there may be in the case."""
    double: Floats
    chances: Floats
    rest: float
    """How likely it is none of these cases."""


@final
@dataclass(frozen=True)
class Blanket:
    """A report is e or 1 times as likely as one of the blanket, as it supports the value or not.

    So a report is, with probability `gamma`, one of the blanket, drawn without looking at the value. `one` is
    the chance that it supports the first of two values but not the second, `both` that it supports both.
    All of them follow from the law: from p, q and the ratio e.

    Reference: balle2019.
    """

    n: int
    ratio: Fraction
    p: Fraction
    q: Fraction

    @cached_property
    def gamma(self) -> Fraction:
        """The chance that a report is the blanket's: p = e gamma s and 1 - p = gamma (1 - s)."""
        return self.p / self.ratio + 1 - self.p

    @cached_property
    def both(self) -> Fraction:
        """Pr(a report of the blanket supports two values), by q = gamma (one + e both)."""
        return (self.q / self.gamma - self.supported) / (self.ratio - 1)

    @cached_property
    def one(self) -> Fraction:
        """Pr(a report of the blanket supports the first of two values, but not the second)."""
        return self.supported - self.both

    @property
    def supported(self) -> Fraction:
        """Pr(a report of the blanket supports a value)."""
        return self.p / self.ratio / self.gamma

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more.

        With M + 1 reports of the blanket, of which N0 support the one value and N1 the other, it is the mean
        of gamma [(1 - X) + (e - 1) (N0 - X N1) / (M + 1)]_+ for X = e^epsilon. Given how many support just
        one of the two, each of these is a fair coin.
        """
        cells = self._cells
        x, odds = math.exp(epsilon), float(self.ratio - 1)
        # a case of at most `one` such reports: the coins that may be missing add spread, but no mean
        lift = cells.spare * odds * math.expm1(epsilon) / 2
        constant = -math.expm1(epsilon) * (cells.reports + odds * cells.double) + lift
        least = np.ceil((x * cells.single - constant / odds) / (1 + x))
        above = odds * (1 + x) * cells.single / 2 * tail(np.maximum(cells.single - 1, 0), 0.5, least - 1)
        slope = constant - odds * x * cells.single
        below = slope * tail(cells.single, 0.5, least)
        excess = np.maximum(above + below, 0.0) + ROUNDING * (above + np.maximum(below, 0.0))
        mean = float(cells.chances @ (excess / cells.reports))
        return float(self.gamma) * (mean + cells.rest * float(self.ratio)) * (1 + ROUNDING)

    @cached_property
    def _cells(self) -> _Cells:
        """More reports of the blanket hide more, as do more that support both: a group is its smallest."""
        chance_of_one = float(2 * self.one)
        chance_of_both = float(self.both / (1 - 2 * self.one)) if 2 * self.one < 1 else 0.0
        others = group(self.n - 1, float(self.gamma), _OTHERS)
        reports = others.first[0] + 1
        singles = group(reports, chance_of_one, _ONE)
        weights = others.chances[0][:, None] * singles.chances
        row, column = np.nonzero(weights)
        most = singles.last[row, column]
        doubles = group(reports[row] - most, chance_of_both, _BOTH)
        rest = (
            others.outside[0] + others.chances[0] @ singles.outside + weights[row, column] @ doubles.outside
        )
        chances = weights[row, column][:, None] * doubles.chances
        case, double = np.nonzero(chances > _RARE)
        rest += chances[chances <= _RARE].sum()
        return _Cells(
            reports=reports[row][case],
            single=most[case],
            spare=(most - singles.first[row, column])[case],
            double=doubles.first[case, double],
            chances=chances[case, double],
            rest=float(rest),
        )


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
        return min(self.n, _MOST_PEOPLE) - 1

    @property
    def _step(self) -> int:
        """How many numbers of people are tried at once."""
        return 1 if self.n <= _CROWDS else -(-(self._others + 1) // _CROWD_GROUPS)

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


class Groups(NamedTuple):
    """Ranges of binomial numbers, the first to the last of each, and their chances: a row for each number."""

    first: Floats
    last: Floats
    chances: Floats
    """0 for ranges that a row has no need of."""
    outside: Floats
    """How likely each number is in none of its ranges."""


def tail(trials: ArrayLike, chance: float, least: ArrayLike) -> Floats:
    """Pr(a binomial number is at least this many).

    >>> tail(4, 0.5, [0, 1, 4, 5]).tolist()
    [1.0, 0.9375, 0.0625, 0.0]
    """
    from scipy.special import betainc

    n, least_counts = np.broadcast_arrays(
        np.asarray(trials, dtype=np.float64), np.asarray(least, dtype=np.float64)
    )
    inner = (least_counts >= 1) & (least_counts <= n)
    tails = np.where(least_counts < 1, 1.0, 0.0)
    tails[inner] = betainc(least_counts[inner], n[inner] - least_counts[inner] + 1, chance)
    return tails


def group(trials: ArrayLike, chance: float, most: int) -> Groups:
    """At most so many ranges of about equal length, around the mean, for each number of trials.

    >>> group([3, 1], 0.5, 16).chances[:, :4].tolist()
    [[0.125, 0.375, 0.375, 0.125], [0.5, 0.5, 0.0, 0.0]]
    """
    n = np.atleast_1d(np.asarray(trials, dtype=np.float64))[:, None]
    mean = n * chance
    reach = _REACH * np.sqrt(mean * (1 - chance))
    first = np.maximum(0, np.floor(mean - reach))
    last = np.minimum(n, np.ceil(mean + reach + _REACH**2 / 2))
    step = np.ceil((last - first + 1) / most)
    ranges = int(np.ceil((last - first + 1) / step).max())
    starts = np.minimum(first + step * np.arange(ranges + 1), last + 1)
    # a difference of two numbers near one has no digits: each side is counted from its own end
    is_low = starts[:, 1:] < mean
    fewer = tail(n, 1 - chance, np.where(starts < mean, n - starts + 1, 0))
    at_least = tail(n, chance, np.where(np.append(~is_low, np.ones_like(mean, dtype=bool), 1), starts, 0))
    chances = np.where(is_low, np.diff(fewer), at_least[:, :-1] - at_least[:, 1:])
    outside = np.where(starts[:, 0] < mean[:, 0], fewer[:, 0], 0.0) + at_least[:, -1]
    return Groups(starts[:, :-1], starts[:, 1:] - 1, chances, outside)
