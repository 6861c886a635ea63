"""States how common a value must be to be found, and divides people so that rare ones are found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from deniable.arrays import Array, Floats
from deniable.discovery.codes import EVERY, HELD_OUT, Codes, find_passage
from deniable.discovery.decide import bisect, find_threshold
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.mechanisms import Linear

_PERCENT = 100


def detection_limit(
    levels: Sequence[Linear], weights: Sequence[int], n: int, alpha: float = 0.05, codes: Codes = EVERY
) -> float:
    """The share of people that must have a value, so that it is found about half of the time.

    `levels` are the mechanisms of the levels and, last, of the final group; `weights` say how often each is
    drawn. It is the share at which the powers of all groups have the product one half.

    >>> from deniable.mechanisms import linear
    >>> levels = [linear(bits, 2.0) for bits in (20, 35, 50, 50)]  # the specification's
    >>> f"{detection_limit(levels, (7, 7, 7, 4), 100_000):.3%}"
    '2.579%'
    """
    n = _check(levels, weights, n, alpha)
    total, tails = sum(weights), _list_tails([level.bits for level in levels], codes, alpha)
    powers: list[Callable[[float], float]] = []
    for level, weight, tail in zip(levels[:-1], weights, tails, strict=False):
        powers.append(_level_power(level, n * weight / total, tail))
    powers.append(_final_power(levels[-1], round(n * weights[-1] / total), tails[-1]))
    return _solve(lambda share: math.prod(power(share) for power in powers))


def _list_tails(bits: Sequence[int], codes: Codes = EVERY, alpha: float = 0.05) -> list[float]:
    """How likely each group lets one code through that nobody has: every level, and last the final group.

    A group looks at the extensions of what chance let through before, and of the value's own prefix.
    """
    passage, before, prefixes, tails = find_passage(bits), 0, 1, []
    counted = EVERY if passage is HELD_OUT else codes
    for length in bits[:-1]:
        candidates = prefixes * counted.count_possible(before, length)
        tails.append(min(0.5, passage.chance / candidates))
        before, prefixes = length, passage.chance + 1
    return [*tails, alpha / (prefixes * counted.count_possible(before, bits[-1]))]


def listed_limit(final: Linear, n: int, words: int = 1000, alpha: float = 0.05) -> float:
    """The share at which a value of a public list is found half of the time, if all are in the final group.

    >>> from deniable.mechanisms import linear
    >>> f"{listed_limit(linear(50, 2.0), 100_000, words=1000):.2%}"
    '1.05%'
    """
    n = _check([final], [1], n, alpha)
    tail = alpha / whole_number("words, the length of the list,", words, 1)
    return _solve(_final_power(final, n, tail))


def _check(levels: Sequence[Linear], weights: Sequence[int], n: int, alpha: float) -> int:
    if len(levels) != len(weights) or not levels:
        raise InvalidParameter(
            f"each level has one weight, the final group the last, got {len(levels)} levels and "
            f"{len(weights)} weights"
        )
    number("alpha, the chance of any value that nobody has,", alpha, 0.0, 1.0)
    return whole_number("n, the number of people,", n, 1)


def _level_power(level: Linear, n: float, tail: float) -> Callable[[float], float]:
    """How likely a value with a share survives a level of n people, as the share grows."""
    from scipy.special import ndtr, ndtri

    distance = -float(ndtri(tail))
    error = math.sqrt(float(level.law.variance(1)) / n)
    return lambda share: float(ndtr(share / error - distance))


def _final_power(final: Linear, n: int, tail: float) -> Callable[[float], float]:
    """How likely a value with a share is shown by a final group of n people."""
    from scipy.special import ndtr

    law, spread = final.law, math.sqrt(max(1, n) / final.g * (1 - 1 / final.g))
    least = find_threshold(final, n, tail) - 1
    return lambda share: float(ndtr((n * (law.q + share * law.gain) - least) / spread))


def _solve(power: Callable[[float], float]) -> float:
    """The share that is found half of the time; 1 where even what everybody has is found less often."""
    if power(1.0) < 0.5:
        return 1.0
    return float(bisect(lambda share: power(float(share)) >= 0.5, 0.0, 1.0))


def divide_people(bits: Sequence[int], codes: Codes = EVERY) -> tuple[int, ...]:
    """How often each level and, last, the final group is drawn, by the bits that each reports.

    A value is found if it passes all groups. The shares are those at which the least common value has a power
    of one half. They depend on how many codes each group looks at, and not on epsilon or the people.

    >>> divide_people([15, 30, 50]), divide_people([30])
    ((22, 29, 49), (1,))
    """
    return _divide(tuple(_list_tails(bits, codes)))


@lru_cache(maxsize=64)
def _divide(tails: tuple[float, ...]) -> tuple[int, ...]:
    from scipy.special import log_ndtr, ndtri

    needed = -np.asarray(ndtri(np.array(tails)))

    def list_margins(price: float) -> Floats:
        """How far above its threshold a value should be in each group, for a price of its log power.

        A group with the share a has the margin f sqrt(a) - needed, so that f^2 is the sum of
        (needed + margin)^2. It is least where every group gains as much power for the same.
        """

        def costs_more(margin: Array) -> Array:
            gain = np.exp(-(margin**2) / 2 - log_ndtr(margin)) / math.sqrt(2 * math.pi)
            return np.asarray(2 * (needed + margin) >= price * gain)

        return bisect(costs_more, -needed, np.full_like(needed, 8.0))

    def is_enough(price: Array) -> bool:
        return float(log_ndtr(list_margins(float(price))).sum()) >= math.log(0.5)

    margins = list_margins(float(bisect(is_enough, 0.0, 1e6)))
    parts = (needed + margins) ** 2
    percent = np.maximum(1, np.rint(_PERCENT * parts / parts.sum())).astype(np.int64)
    percent[-1] = _PERCENT - percent[:-1].sum()
    return tuple(int(part) for part in percent // np.gcd.reduce(percent))
