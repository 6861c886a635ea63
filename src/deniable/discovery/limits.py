"""States how common a value must be to be found: before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from deniable.discovery.bisection import bisect
from deniable.discovery.codes import EVERY, Codes
from deniable.discovery.cuts import HELD_OUT, find_passage
from deniable.discovery.decide import find_threshold
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.mechanisms import Linear


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
    total, tails = sum(weights), list_tails([level.bits for level in levels], codes, alpha)
    powers: list[Callable[[float], float]] = []
    for level, weight, tail in zip(levels[:-1], weights, tails, strict=False):
        powers.append(_level_power(level, n * weight / total, tail))
    powers.append(_final_power(levels[-1], round(n * weights[-1] / total), tails[-1]))
    return _solve(lambda share: math.prod(power(share) for power in powers))


def list_tails(bits: Sequence[int], codes: Codes = EVERY, alpha: float = 0.05) -> list[float]:
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
    """The share that is found half of the time; 1 where not even a value that everybody has is."""
    if power(1.0) < 0.5:
        return 1.0
    return float(bisect(lambda share: power(float(share)) >= 0.5, 0.0, 1.0))
