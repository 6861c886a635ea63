"""How often the true value is the one that most reports support, by the laws of the counts."""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Floats
from deniable.law import binomial


def binomial_law(trials: int, chance: float) -> Floats:
    """How likely every number of successes is, from 0 to all."""
    counts, chances = binomial(trials, chance)
    whole = np.zeros(trials + 1)
    whole[counts] = chances
    return whole


def most_supported(true: Floats, other: Floats, k: int) -> float:
    """Pr(the true value's count is the largest of k independent ones), ties drawn: sum over c of Pr(true = c)
    times (F(c)^k - F(c - 1)^k) / (k Pr(other = c)), written so that nothing cancels.
    """
    below = np.minimum(np.cumsum(other), 1.0)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        part = np.minimum(other / below, 1.0)
        tied = np.where(part > 0, -np.expm1(k * np.log1p(-part)) / (k * part), 1.0)
        terms = true * below ** (k - 1) * tied
    return float(np.nansum(np.where(below > 0, terms, 0.0)))


def plurality(k: int, p: float, q: float, reports: int) -> float:
    """Pr(the true value is named most often in so many single values), ties drawn.

    Named a Poisson number of times each, the values are independent; the coefficient of all reports together
    undoes that.
    """
    n, total = reports, 0.0
    true, other = _poisson(n * p, n), _poisson(n * q, n)
    for c in range(1, n + 1):
        few = np.where(np.arange(n - c + 1) < c, other[: n - c + 1], 0.0)  # another value, named less often
        for ties in range(min(k - 1, (n - c) // c) + 1):
            left = n - c - ties * c
            rest = _power(few[: left + 1], k - 1 - ties)[left]
            total += true[c] * math.comb(k - 1, ties) * other[c] ** ties * rest / (ties + 1)
    return float(total / _poisson(n, n)[n])


def _poisson(mean: float, most: int) -> Floats:
    counts = np.arange(most + 1)
    logs = np.array([math.lgamma(count + 1) for count in counts])
    return np.asarray(np.exp(counts * math.log(mean) - mean - logs))


def _power(series: Floats, exponent: int) -> Floats:
    """A power of a series, cut off where the series is."""
    size, result, base = series.size, np.zeros(series.size), series.copy()
    result[0] = 1.0
    while exponent:
        if exponent & 1:
            result = np.convolve(result, base)[:size]
        exponent >>= 1
        if exponent:
            base = np.convolve(base, base)[:size]
    return result
