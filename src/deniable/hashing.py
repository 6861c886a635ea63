"""The hash family ((a (v + 1) + b) mod P) mod g with P = 2^31 - 1, and what is exactly true of it.

Products stay below 2^62, so Python, TypeScript and every SQL engine agree bit for bit.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

PRIME = (1 << 31) - 1
_IN_NUMPY = 1024  # up to this many values the pairs below fit in memory


def hash_values(a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32], k: int, g: int) -> npt.NDArray[np.uint64]:
    """The bucket of every value under every function, as a table of functions by values."""
    values = np.arange(1, k + 1, dtype=np.uint64)
    return (a.astype(np.uint64)[:, None] * values + b.astype(np.uint64)[:, None]) % np.uint64(PRIME) % np.uint64(g)


def hash_function(words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """A function (a, b) of the family from each word: its first 31 bits give a, the next 31 give b.

    Numbers beyond the range (three in 2^31 of them) start over from its beginning, so (a, b) is uniform but for 2^-29.
    """
    a, b = words >> np.uint64(33), (words >> np.uint64(2)) & np.uint64(PRIME)
    return a % np.uint64(PRIME - 1) + np.uint64(1), b % np.uint64(PRIME)


def collision(g: int) -> Fraction:
    """How likely two values share a bucket: ordered pairs of distinct residues are all equally likely."""
    small, extra = divmod(PRIME, g)  # `extra` buckets hold small + 1 residues, the others `small`
    pairs = extra * (small + 1) * small + (g - extra) * small * (small - 1)
    return Fraction(pairs, PRIME * (PRIME - 1))


@lru_cache(maxsize=1024)
def occupied_buckets(k: int, g: int) -> float:
    """How many of the g buckets some of the k values fall into, on average over the family.

    Multiplied by g's inverse modulo P, a bucket is an arc of 1 / g of a circle, and the values are the points of a
    rotation: 0, x, 2 x, ... By the three-gap theorem, for x between neighboring fractions with denominators c and d
    below k the gaps between the points have three lengths, each linear in x. A gap of length l is covered by arcs of
    1 / g that begin at points for min(l, 1 / g) of it, so the average is a sum over all pairs of such denominators:
    coprime, below k, with c + d >= k. (An ideal hash would fill g (1 - (1 - 1/g)^k) of them, up to 10 % less or more.)
    """
    if k > _IN_NUMPY:
        from deniable import kernels

        return float(g - g * kernels.uncovered(k, g))
    c, d = np.meshgrid(np.arange(1, k), np.arange(1, k), indexing="ij")
    neighbors = (c + d >= k) & (np.gcd(c, d) == 1)
    left, right = c[neighbors].astype(np.float64), d[neighbors].astype(np.float64)
    width = 1 / (left * right)
    total = (
        (k - left) * _excess(0.0, 1 / right, width, g)
        + (k - right) * _excess(0.0, 1 / left, width, g)
        + (left + right - k) * _excess(1 / left, 1 / right, width, g)
    )
    return float(g - g * total.sum())


def _excess(start: object, end: object, width: npt.NDArray[np.float64], g: int) -> npt.NDArray[np.float64]:
    """The integral, over an interval of this width, of how far a gap going linearly from start to end exceeds 1 / g."""
    low = np.minimum(start, end) - 1 / g  # type: ignore[call-overload]
    high = np.maximum(start, end) - 1 / g  # type: ignore[call-overload]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(high > low, high * high / (2 * (high - low)), 0.0)
    return np.asarray(width * np.where(low >= 0, (low + high) / 2, np.where(high > 0, crossing, 0.0)))
