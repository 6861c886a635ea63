"""Computes tails of binomial laws, and cuts a law into groups that stand for all of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import Floats

ROUNDING = 1e-9
"""Far above what a float's tail of a binomial is off by, as a part of it."""
_REACH = 10  # standard deviations to either side: less than 1e-21 is farther away, by Bernstein's inequality


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
