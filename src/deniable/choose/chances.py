"""Divides people among attributes of which one is drawn, so that errors as they are come out least.

Of an attribute that is drawn with chance c, everything that is read has the variance a / c - s: a is that of
one report, and s what is known of people who did not answer by those who did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_STEPS = 100  # of halving the largest error
_THOUSANDTHS = 1000


class Error(NamedTuple):
    """The variance a / c - s, weighted, of something that is read of an attribute with chance c."""

    a: float
    s: float


def divide_people(errors: Sequence[Sequence[Error]], worst: bool) -> list[float]:
    """The chance of each attribute, from the errors of what is read of it: their sum, or the largest of all,
    is the least.

    The sum is least if chances are as the roots of the errors, the largest if it is the same for all.

    >>> [round(chance, 3) for chance in divide_people([[Error(1.0, 0.0)], [Error(4.0, 0.0)]], worst=False)]
    [0.333, 0.667]
    >>> [round(chance, 3) for chance in divide_people([[Error(1.0, 0.0)], [Error(4.0, 0.0)]], worst=True)]
    [0.2, 0.8]
    """
    if not worst:
        roots = [math.sqrt(math.fsum(error.a for error in errors_of_one)) for errors_of_one in errors]
    else:
        low, high = 0.0, math.fsum(error.a for errors_of_one in errors for error in errors_of_one)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            fits = math.fsum(_reach(errors_of_one, middle) for errors_of_one in errors) <= 1
            low, high = (low, middle) if fits else (middle, high)
        roots = [_reach(errors_of_one, high) for errors_of_one in errors]
    total = math.fsum(roots)
    return [root / total for root in roots]


def _reach(errors: Sequence[Error], most: float) -> float:
    """The chance at which none of these errors is above the most."""
    return max(error.a / (most + error.s) if most + error.s > 0 else math.inf for error in errors)


def round_chances(chances: Sequence[float], most: int) -> tuple[int, ...]:
    """Whole numbers in proportion to these: thousandths of an equal chance where they add up to `most`, or
    less.
    """
    scale = min(_THOUSANDTHS * len(chances), most - len(chances))
    return tuple(max(1, round(scale * chance)) for chance in chances)
