"""Builds integer tables that keep a guarantee: every ratio is compared with the budget, tails included."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import exp_down, positive_epsilon
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray

LARGEST = 40.0
"""A larger epsilon leaves too few words to everything but the truth."""

_SHIFT = 128
_MASK = (1 << _SHIFT) - 1


def checked_budget(epsilon: float, unit: str = "") -> float:
    """An epsilon that a table out of 2^64 can hold."""
    checked = positive_epsilon(epsilon)
    if checked > LARGEST:
        raise InvalidParameter(
            f"epsilon {epsilon}{unit} is too large for a table out of 2^64; use one of at most {LARGEST:g}"
        )
    return checked


def geometric_tails(n: int, epsilon: float) -> WordArray:
    """tails[m], for m from 0 to n: how many of the 2^64 words go m steps or more to one side (no step counted
    in, for m = 0).

    The number of words for exactly m steps is t(m) = tails[m] - tails[m + 1]. Each t is the last one over
    e^epsilon, rounded up, so that it falls by at most e^epsilon, and ends flat: at one word, or at 1 /
    epsilon of them. The tail behind the last is as large as all ratios of tails need. What is left over goes
    there, too.
    """
    budget = exp_down(checked_budget(epsilon))
    if budget <= 1:
        raise InvalidParameter(f"epsilon {epsilon} is too small: e^epsilon cannot be distinguished from 1")
    fall = -(-(budget.denominator << _SHIFT) // budget.numerator)  # 1 / e^epsilon, rounded up
    # 1 / (e^epsilon - 1), rounded up
    rest = -(-(budget.denominator << _SHIFT) // (budget.numerator - budget.denominator))
    share = (budget - 1) / (budget + 1)
    first = int(FULL * share) & ~1
    while first > 0:
        steps, flat, last = _falling(first, n, fall, rest)
        excess = first + 2 * (sum(steps) - first + flat * steps[-1] + last) - FULL
        if excess <= 0:
            words = np.array([*steps, *[steps[-1]] * flat, last - excess // 2], dtype=np.uint64)
            return np.ascontiguousarray(np.cumsum(words[::-1], dtype=np.uint64)[::-1])
        first -= max(2, math.ceil(excess * share) + 1 & ~1)
    raise InvalidParameter(f"epsilon {epsilon} is too small for a table of {n + 1} values out of 2^64")


def _falling(first: int, n: int, fall: int, rest: int) -> tuple[list[int], int, int]:
    """Numbers of words that fall by at most e^epsilon, how often the last repeats, and the least tail."""
    steps = [first]
    while len(steps) < n:
        following = (steps[-1] * fall + _MASK) >> _SHIFT
        if following == steps[-1]:
            break
        steps.append(following)
    flat = n - len(steps)
    # a tail must be at least t / (e^epsilon - 1): then adding t to it is at most e^epsilon times it
    last, behind = max(1, (steps[-1] * rest + _MASK) >> _SHIFT), flat * steps[-1]
    for words in reversed(steps):
        last = max(last, ((words * rest + _MASK) >> _SHIFT) - behind)
        behind += words
    return steps, flat, last


def largest_ratio(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The largest quotient, in integers."""
    best, over = 1, 1
    for numerator, other in pairs:
        if numerator * over > best * other:
            best, over = numerator, other
    return Fraction(best, over)


def divided_up(number: Fraction, by: Fraction) -> float:
    """A quotient as a float, rounded up."""
    exact = number / by
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def times_up(number: float, by: float) -> float:
    """A product as a float, rounded up."""
    return divided_up(Fraction(number) * Fraction(by), Fraction(1))


def square_root_down(number: Fraction) -> Fraction:
    """A rational just below a square root."""
    scale = 1 << 2 * max(0, 200 - number.numerator.bit_length() + number.denominator.bit_length())
    return Fraction(math.isqrt(number.numerator * scale // number.denominator), math.isqrt(scale))


def logarithms(weights: Floats | WordArray) -> Floats:
    """Natural logarithms; of zero, minus infinity."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights.astype(np.float64)))
