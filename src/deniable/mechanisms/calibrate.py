"""Turns a budget into thresholds: a shape's open number is the largest that epsilon allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache, wraps
from typing import ParamSpec, TypeVar

from deniable.errors import InvalidParameter
from deniable.exact import PRIME, exp_down, number, positive_epsilon, solve, whole_number
from deniable.mechanisms.checks import checked_k
from deniable.mechanisms.shapes import (
    Direct,
    Hadamard,
    Hashed,
    Linear,
    PackedSubset,
    Pooled,
    Subset,
    Unary,
    keep_ratio,
)
from deniable.mechanisms.shapes.pooled import MOST_BUCKETS, MOST_VALUES
from deniable.randomness import FULL
from deniable.randomness.toeplitz import MOST_BITS, MOST_ROWS

_LARGEST = FULL - 1
_MIDDLE = FULL >> 1
_CHORD = 1 << 17  # more words than a float is off by
_SPARE_BITS = 7  # that a code has beside those of its bucket, so that at most one hash in 2^8 is drawn again
_GOLDEN = (math.sqrt(5) - 1) / 2
_GRID = 96  # points among which a search sees every valley, before it descends
_Numbers = ParamSpec("_Numbers")
_Made = TypeVar("_Made")


def largest(ratio: Callable[[int], Fraction], epsilon: float, low: int, high: int) -> int:
    """What `solve` finds, in a quarter of its steps: chords come near, and `solve` has the last word on a few
    thresholds.

    The logarithm of a ratio is nearly linear in that of a threshold's odds, so that a chord's zero is soon
    next to the true one; a last chord, in exact fractions, hits it but for a few words.
    """
    known, budget = cache(ratio), exp_down(positive_epsilon(epsilon))
    if known(low) > budget or known(high) <= budget:
        return solve(known, epsilon, low, high)  # which says what is wrong

    def point(threshold: int) -> tuple[float, float]:
        """Logarithms of odds, and of the ratio above its budget."""
        return math.log(threshold / (FULL - threshold)), math.log(known(threshold) / budget)

    guess = (low + high) // 2
    (x, y), (before, above) = point(guess), point((low + guess) // 2)
    for _ in range(12):
        if y == above:
            break
        (before, above), x = (x, y), x - y * (x - before) / (y - above)
        threshold = round(Fraction(1 / (1 + math.exp(-x))) * FULL) if abs(x) < 40 else FULL * (x > 0)
        if not low < threshold < high:
            threshold = (guess + (low if threshold <= low else high)) // 2
        if abs(threshold - guess) < _CHORD >> 2:
            break
        guess = threshold
        x, y = point(guess)
    first, last = max(low, guess - _CHORD), min(high, guess + _CHORD)
    if known(first) <= budget < known(last):
        low, high = first, last
        exact = first + int((last - first) * (budget - known(first)) / (known(last) - known(first)))
        under, over = max(low, exact - 2), min(high, exact + 2)
        if known(under) <= budget < known(over):
            low, high = under, over
    return solve(known, epsilon, low, high)


def _keep_made(make: Callable[_Numbers, _Made]) -> Callable[_Numbers, _Made]:
    """Keep the mechanisms that `make` returns, since equal numbers come up again and again.

    Arguments that cannot be looked up are no numbers: `make` refuses them.
    """
    cached = lru_cache(maxsize=1 << 13, typed=True)(make)

    @wraps(make)
    def look_up(*args: _Numbers.args, **keywords: _Numbers.kwargs) -> _Made:
        try:
            hash((args, *keywords.values()))
        except TypeError:
            return make(*args, **keywords)
        return cached(*args, **keywords)  # type: ignore[arg-type]  # hashable, as was tried

    return look_up


@_keep_made
def direct(k: int, epsilon: float) -> Direct:
    """The largest keep."""
    k = checked_k(k, 1 << 24, "direct")
    return Direct(k, largest(lambda keep: Direct(k, keep).ratio, epsilon, _above(FULL // k), _LARGEST))


@_keep_made
def hashed(k: int, epsilon: float, g: int) -> Hashed:
    """The largest keep for g buckets."""
    k, g = checked_k(k, PRIME - 1, "hashed"), whole_number("g, the number of buckets,", g, 2, PRIME - 1)
    return Hashed(k, g, largest(lambda keep: keep_ratio(keep, g), epsilon, _above(FULL // g), _LARGEST))


@_keep_made
def pooled(k: int, epsilon: float, g: int) -> Pooled:
    """The largest keep for g buckets, a prime number of them."""
    k, g = checked_k(k, MOST_VALUES, "pooled"), whole_number("g, the number of buckets,", g, 2, MOST_BUCKETS)
    return Pooled(k, g, largest(lambda keep: keep_ratio(keep, g), epsilon, _above(FULL // g), _LARGEST))


@_keep_made
def linear(bits: int, epsilon: float) -> Linear:
    """The power of two nearest to the best number of buckets, and their largest keep.

    Short codes take fewer buckets: else many hashes are drawn again, and codes collide unevenly.
    """
    bits = whole_number("bits, the length of a code,", bits, 1, MOST_BITS)
    nearest = round(math.log2(math.exp(min(positive_epsilon(epsilon), 700.0)) + 1))
    rows = min(nearest, max(1, bits - _SPARE_BITS), MOST_ROWS)
    return Linear(bits, rows, direct(1 << rows, epsilon).keep)


@_keep_made
def subset(k: int, epsilon: float, size: int) -> Subset | PackedSubset:
    """The largest keep for sets of this size, which are written as bits where that is shorter."""
    k = checked_k(k, 1 << 16, "subset")
    size = whole_number("size, the number of members of a subset,", size, 1, k - 1)
    keep = largest(lambda keep: Subset(k, size, keep).ratio, epsilon, _above(FULL * size // k), _LARGEST)
    listed, packed = Subset(k, size, keep), PackedSubset(k, size, keep)
    return packed if packed.report_bytes < listed.report_bytes else listed


@_keep_made
def hadamard(k: int, epsilon: float) -> Hadamard:
    """The largest keep."""
    k = checked_k(k, (1 << 20) - 1, "Hadamard")
    return Hadamard(k, largest(lambda keep: Hadamard(k, keep).ratio, epsilon, _MIDDLE + 1, _LARGEST))


@_keep_made
def unary(k: int, epsilon: float, threshold: int) -> Unary:
    """The smallest threshold for a zero bit, given the one for a one bit."""
    k = checked_k(k, 1 << 20, "unary")
    if not 1 < threshold < FULL:
        raise InvalidParameter(
            f"p must be further from 0 and 1: its threshold out of 2^64 would be {threshold}"
        )
    least = FULL - threshold + 1
    rest = largest(lambda t: Unary(k, threshold, FULL - t).ratio, epsilon, least, _LARGEST)
    return Unary(k, threshold, FULL - rest)


@_keep_made
def symmetric(k: int, epsilon: float) -> Unary:
    """The largest p with q = 1 - p."""
    k = checked_k(k, 1 << 20, "unary")
    threshold = largest(lambda t: Unary(k, t, FULL - t).ratio, epsilon, _MIDDLE + 1, _LARGEST)
    return Unary(k, threshold, FULL - threshold)


@_keep_made
def thresholded(k: int, epsilon: float, theta: float) -> Unary:
    """Laplace noise on every cell, and one bit for "above theta"; the bits spend all of epsilon."""
    theta = number("theta, the threshold,", theta, 0.499999999, 1.000000001)
    if not 0.5 <= theta <= 1:
        raise InvalidParameter(f"theta, the threshold, must be a number from 0.5 to 1, got {theta!r}")
    target = positive_epsilon(epsilon)
    sharpness = _root(lambda x: _bits_loss(x, theta) - target, 3 * target + 3)
    return unary(k, epsilon, FULL - max(1, round(FULL * (math.exp(-sharpness * (1 - theta)) / 2))))


@_keep_made
def best_theta(epsilon: float) -> float:
    """The threshold that errs least with its own noise, where that noise spends epsilon in bits."""
    target = positive_epsilon(epsilon)
    return theta_for(_root(lambda x: _bits_loss(x, theta_for(x)) - target, 3 * target + 3))


def _above(threshold: int) -> int:
    """A threshold that is surely above a uniform one, by less than any epsilon in use can tell."""
    return threshold + (threshold >> 50) + 2


def _bits_loss(sharpness: float, theta: float) -> float:
    """The loss of one bit per cell, "value + Laplace(1 / sharpness) > theta", for a changed value."""
    p = 1 - math.exp(-sharpness * (1 - theta)) / 2
    q = math.exp(-sharpness * theta) / 2
    return sharpness + math.log(4 * p) + math.log1p(-q)


def theta_for(sharpness: float) -> float:
    """The threshold that errs least with noise of Laplace(1 / sharpness)."""

    def variance(theta: float) -> float:
        p = 1 - math.exp(-sharpness * (1 - theta)) / 2
        q = math.exp(-sharpness * theta) / 2
        return q * (1 - q) / (p - q) ** 2 if p > q else math.inf

    return minimum(variance, 0.5, 1.0)


def _root(function: Callable[[float], float], high: float) -> float:
    """Where an increasing function passes zero, between 0 and high."""
    low, middle = 0.0, high / 2
    while low < middle < high:
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
        middle = (low + high) / 2
    return high


def minimum(score: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one real number is smallest, to about eight digits."""
    points = [low + (high - low) * i / _GRID for i in range(_GRID + 1)]
    scores = [score(x) for x in points]
    best = min(range(len(points)), key=scores.__getitem__)
    left, right = points[max(best - 1, 0)], points[min(best + 1, _GRID)]
    seen = [(scores[best], points[best])]
    while right - left > 1e-8 * max(1.0, abs(left)):
        left_point, right_point = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        at_left, at_right = score(left_point), score(right_point)
        seen += [(at_left, left_point), (at_right, right_point)]
        left, right = (left, right_point) if at_left <= at_right else (left_point, right)
    return min(seen)[1]


def least(score: Callable[[int], float], low: int, high: int) -> int:
    """The integer where a function is smallest: among all if they are few, else by ever finer grids."""
    while high - low > 2 * _GRID:
        ratio = math.log(high / low)
        points = sorted(
            {min(high, max(low, round(low * math.exp(ratio * i / _GRID)))) for i in range(_GRID + 1)}
        )
        best = min(range(len(points)), key=lambda i: score(points[i]))
        low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    return min(range(low, high + 1), key=score)
