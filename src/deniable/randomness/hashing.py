"""Hashes values by ((a (v + 1) + b) mod P) mod g with P = 2^31 - 1, and states exact facts about it.

Products stay below 2^62, so Python, TypeScript and every SQL engine agree bit for bit.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.exact import PRIME

_IN_NUMPY = 1024  # up to here all pairs of denominators fit in memory
_WALKED = 1 << 14  # up to here a walk over all fractions is done in a second


def hash_values(
    a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32], k: int, g: int
) -> npt.NDArray[np.uint64]:
    """The bucket of every value under every function, as a table of functions by values."""
    values = np.arange(1, k + 1, dtype=np.uint64)
    return (
        (a.astype(np.uint64)[:, None] * values + b.astype(np.uint64)[:, None])
        % np.uint64(PRIME)
        % np.uint64(g)
    )


def hash_function(words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """A function (a, b) of the family from each word: its first 31 bits give a, the next 31 give b.

    Numbers beyond the range (three in 2^31 of them) start over from its beginning, so (a, b) is uniform but
    for 2^-29.
    """
    a, b = words >> np.uint64(33), (words >> np.uint64(2)) & np.uint64(PRIME)
    return a % np.uint64(PRIME - 1) + np.uint64(1), b % np.uint64(PRIME)


def collision(g: int) -> Fraction:
    """How likely two values share a bucket: all ordered pairs of distinct residues are equally likely."""
    small, extra = divmod(PRIME, g)  # `extra` buckets hold small + 1 residues, the others `small`
    pairs = extra * (small + 1) * small + (g - extra) * small * (small - 1)
    return Fraction(pairs, PRIME * (PRIME - 1))


@lru_cache(maxsize=1024)
def occupied_buckets(k: int, g: float) -> float:
    """How many of the g buckets some of the k values fall into, on average over the family.

    Multiplied by g's inverse modulo P, a bucket is an arc of 1 / g of a circle, and the values are the points
    of a rotation: 0, x, 2 x, ... By the three-gap theorem, for x between neighboring fractions with
    denominators c and d below k the gaps between the points have three lengths, each linear in x. A gap of
    length l is covered by arcs of 1 / g that begin at points for min(l, 1 / g) of it, so the average is a sum
    over all pairs of such denominators: coprime, below k, with c + d >= k. (An ideal hash would fill g (1 -
    (1 - 1/g)^k) of them, up to 10 % less or more.)

    A gap is never above 1 / min(c, d), so with few buckets few pairs matter. With many of both the average
    goes by k / g alone, and is taken from a smaller problem of that proportion (the two differ by less than
    one in a million).
    """
    limit = min(k, math.ceil(g))  # the smaller denominator of a pair that matters is below
    if limit <= _IN_NUMPY:
        return float(g * (1 - _uncovered_share(k, g, limit)))
    if k <= _WALKED:
        from deniable.randomness import kernels

        return float(g - g * kernels.uncovered(k, float(g)))
    return occupied_buckets(_WALKED, g * _WALKED / k) * k / _WALKED


def _uncovered_share(k: int, g: float, limit: int) -> float:
    """The share of the circle that no arc covers, over pairs of denominators c <= d with c < some."""
    c = np.arange(1, limit)
    first = np.maximum(c, k - c)  # d runs from here to k - 1
    left = np.repeat(c, k - first)
    starts = np.cumsum(k - first) - (k - first)
    right = np.arange(left.size) - np.repeat(starts - first, k - first)
    neighbors = np.gcd(left, right) == 1
    c_, d_ = left[neighbors].astype(np.float64), right[neighbors].astype(np.float64)
    twice = np.where(c_ < d_, 2.0, 1.0) / (c_ * d_)  # either may come first; the interval's width
    total = (k - c_) * _excess(0.0, 1 / d_, g) + (k - d_) * _excess(0.0, 1 / c_, g)
    total += (c_ + d_ - k) * _excess(1 / d_, 1 / c_, g)
    return float((twice * total).sum())


def _excess(low: float | Floats, high: Floats, g: float) -> Floats:
    """How far a gap that goes linearly from low to high exceeds 1 / g, on average over its way."""
    under, over = low - 1 / g, high - 1 / g
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(over > under, over * over / (2 * (over - under)), 0.0)
    return np.asarray(np.where(under >= 0, (under + over) / 2, np.where(over > 0, crossing, 0.0)))
