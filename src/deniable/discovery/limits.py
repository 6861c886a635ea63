"""States how common a value must be to be found: before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from deniable.discovery.decide import find_threshold
from deniable.discovery.decode import CHANCE
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.mechanisms import Linear

_CANDIDATES = CHANCE + 1
"""That a level, or the final group, looks at: what chance let through before, and the value itself."""
_HALVINGS = 60


def detection_limit(
    levels: Sequence[Linear], weights: Sequence[int], n: int, alpha: float = 0.05, power: float = 0.5
) -> float:
    """The share of people that must have a value, so that it is found about half of the time.

    `levels` are the mechanisms of the levels and, last, of the final group; `weights` say how often each is
    drawn. Simulated studies find 43 to 45 % of values with this share.

    >>> from deniable import linear
    >>> levels = [linear(bits, 2.0) for bits in (20, 35, 50, 50)]
    >>> f"{detection_limit(levels, (7, 7, 7, 4), 100_000):.3%}"
    '2.579%'
    """
    n = _check(levels, weights, n, alpha)
    total, before = sum(weights), 0
    powers: list[Callable[[float], float]] = []
    for j, (level, weight) in enumerate(zip(levels[:-1], weights[:-1], strict=True)):
        candidates = (1 if j == 0 else _CANDIDATES) << (level.bits - before)
        powers.append(_level_power(level, n * weight / total, candidates))
        before = level.bits
    candidates = 1 if len(levels) == 1 else _CANDIDATES
    powers.append(_final_power(levels[-1], round(n * weights[-1] / total), alpha / candidates))
    return _solve(lambda share: math.prod(one(share) for one in powers), power)


def listed_limit(final: Linear, n: int, words: int = 1000, alpha: float = 0.05, power: float = 0.5) -> float:
    """The same for a public list of some number of words, where everybody is in the final group.

    >>> from deniable import linear
    >>> f"{listed_limit(linear(50, 2.0), 100_000, words=1000):.2%}"
    '1.05%'
    """
    n = _check([final], [1], n, alpha)
    tail = alpha / whole_number("words, the length of the list,", words, 1)
    return _solve(_final_power(final, n, tail), power)


def _check(levels: Sequence[Linear], weights: Sequence[int], n: int, alpha: float) -> int:
    if len(levels) != len(weights) or not levels:
        raise InvalidParameter(
            f"each level has one weight, the final group the last, got {len(levels)} levels and "
            f"{len(weights)} weights"
        )
    number("alpha, the chance of any value that nobody has,", alpha, 0.0, 1.0)
    return whole_number("n, the number of people,", n, 1)


def _level_power(level: Linear, n: float, candidates: int) -> Callable[[float], float]:
    """How likely a value with a share survives a level of n people, as the share grows."""
    from scipy.special import ndtr, ndtri

    wanted = -float(ndtri(min(0.5, CHANCE / candidates)))
    error = math.sqrt(float(level.law.variance(1)) / n)
    return lambda share: float(ndtr(share / error - wanted))


def _final_power(final: Linear, n: int, tail: float) -> Callable[[float], float]:
    """How likely a value with a share is shown by a final group of n people."""
    from scipy.special import ndtr

    law, spread = final.law, math.sqrt(max(1, n) / final.g * (1 - 1 / final.g))
    least = find_threshold(final, n, tail) - 1
    return lambda share: float(ndtr((n * (law.q + share * law.gain) - least) / spread))


def _solve(found: Callable[[float], float], power: float) -> float:
    """The share that is found with this probability; 1 where not even a value that everybody has is."""
    low, high = 0.0, 1.0
    if found(high) < power:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high
