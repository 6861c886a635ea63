"""How often an attacker is right, exactly: about an attribute after some collections, and about whole profiles.

Several reports of one value are told apart by how many of them support each value. For bits and hashes these counts are
independent, for single values they are multinomial, and both are summed exactly; other shapes are simulated and say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from deniable.attack.evidence import likelihoods
from deniable.bitflip import BitFlip
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.hashing import occupied_buckets
from deniable.law import Floats, binomial
from deniable.population import numbers_from
from deniable.repeat import HashedMemoized, Memoized
from deniable.shape import Encoder
from deniable.shapes import Direct, Hashed, Unary
from deniable.simulated import seeded

MOST_REPORTS = 100
_MOST_SUBSETS = 16
_SIMULATED = 20_000


@lru_cache(maxsize=1 << 14)
def success_after(part: Encoder, reports: int, memoized: bool = True) -> float:
    """How often the best guess from so many reports of one unchanged value is right, all values being equally likely.

    A client that memoizes sends its old report again, or, with a mechanism for repeated collections, fresh noise on an answer
    that it keeps. With memoized=False all is drawn anew each time, and averages away. Hashes are then taken for ideal ones.

    >>> import deniable as dn
    >>> [round(success_after(dn.grr(4, 1.0), reports, memoized=False), 3) for reports in (0, 1, 5, 50)]
    [0.25, 0.475, 0.635, 0.992]
    """
    if whole_number("reports", reports, 0, MOST_REPORTS) == 0:
        return 1 / part.k
    if reports == 1:
        return part.success()
    if memoized:
        return _kept(part, reports) if isinstance(part, Memoized | HashedMemoized) else part.success()
    shape, law = part.first if isinstance(part, Memoized) else part, part.law
    if isinstance(shape, Direct):
        return _plurality(part.k, law.p, law.q, reports)
    if isinstance(shape, Unary | BitFlip | Hashed | HashedMemoized):  # of a few bits: not more than with all of them in sight
        others = 1 / shape.g if isinstance(shape, Hashed | HashedMemoized) else law.q
        return _most_supported(_binomial(reports, law.p), _binomial(reports, others), part.k)
    return _simulated(part, reports)


def _kept(part: Memoized | HashedMemoized, reports: int) -> float:
    """Fresh rounds on an answer that is kept tell that answer, and no more."""
    if isinstance(part, HashedMemoized):
        told, full = _told(part.buckets, reports), occupied_buckets(part.k, part.g)
        return (full * told + (part.g - full) * (1 - told) / (part.g - 1)) / part.k
    if isinstance(part.first, Direct):
        return _told(part, reports)
    first, second = part.first.law, part.second.law
    ones, zeros = _binomial(reports, second.p), _binomial(reports, second.q)
    return _most_supported(first.p * ones + (1 - first.p) * zeros, first.q * ones + (1 - first.q) * zeros, part.k)


def _told(part: Memoized, reports: int) -> float:
    """How often the value that most reports name is the true one, where a value is kept and named again and again."""
    assert isinstance(part.second, Direct)
    kept, named = part.first.law.p, _plurality(part.k, part.second.law.p, part.second.law.q, reports)
    return kept * named + (1 - kept) * (1 - named) / (part.k - 1)


def _binomial(trials: int, chance: float) -> Floats:
    counts, chances = binomial(trials, chance)
    whole = np.zeros(trials + 1)
    whole[counts] = chances
    return whole


def _most_supported(true: Floats, other: Floats, k: int) -> float:
    """Pr(the true value's count is the largest of k independent ones), ties drawn: sum over c of Pr(true = c) times
    (F(c)^k - F(c - 1)^k) / (k Pr(other = c)), written so that nothing cancels.
    """
    below = np.minimum(np.cumsum(other), 1.0)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        part = np.minimum(other / below, 1.0)
        tied = np.where(part > 0, -np.expm1(k * np.log1p(-part)) / (k * part), 1.0)
        terms = true * below ** (k - 1) * tied
    return float(np.nansum(np.where(below > 0, terms, 0.0)))


def _plurality(k: int, p: float, q: float, reports: int) -> float:
    """Pr(the true value is named most often in so many single values), ties drawn.

    Named a Poisson number of times each, the values are independent; the coefficient of all reports together undoes that.
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


def _simulated(part: Encoder, reports: int) -> float:
    """By the average posterior of the best guess, whose scatter is far below that of being right or wrong."""
    draws = numbers_from(1, "reports of one value", repr(part), reports)
    total, step = 0.0, max(1, (1 << 22) // part.k)
    for start in range(0, _SIMULATED, step):
        n = min(step, _SIMULATED - start)
        values = draws.integers(0, part.k, n)
        score = np.zeros((n, part.k))
        for _ in range(reports):
            score += np.log(likelihoods(part, part.privatize(values, seeded(int(draws.integers(1 << 62))))))
        total += float((1 / np.exp(score - score.max(axis=1, keepdims=True)).sum(axis=1)).sum())
    return total / _SIMULATED


def profile(right: Sequence[Sequence[float]], collections: int, replacement: bool) -> float:
    """The expected product over the attributes of right[j][m], m being how often attribute j was among the collections.

    Each collection asks for one attribute at random: any, or one that was not asked before. Elementary symmetric polynomials
    are the case of right[j] = (1, a_j, 0, ...).

    >>> round(profile([(1, 0.5), (1, 0.2), (1, 0.1)], collections=2, replacement=False), 4)  # (0.1 + 0.05 + 0.02) / 3
    0.0567
    """
    d, times = len(right), whole_number("collections", collections, 0, MOST_REPORTS)
    if not replacement and times > d:
        raise InvalidParameter(f"there are {d} attributes, so that {times} collections ask for some of them again")
    series = np.zeros(times + 1)
    series[0] = 1.0
    for chances in right:
        one = np.zeros(times + 1)
        many = min(len(chances), times + 1) if replacement else min(len(chances), 2, times + 1)
        one[:many] = chances[:many]
        # as binomial convolutions, so that no factorial overflows
        series = _blended(series, one) if replacement else np.convolve(series, one)[: times + 1]
    return float(series[times] / d**times if replacement else series[times] / math.comb(d, times))


def _blended(one: Floats, other: Floats) -> Floats:
    """Coefficients of a product of exponential generating functions."""
    return np.array(
        [sum(math.comb(n, i) * one[i] * other[n - i] for i in range(n + 1) if one[i] and other[n - i]) for n in range(one.size)]
    )


def profile_of_surveys(right: Sequence[Sequence[float]]) -> float:
    """All reported attributes guessed, where survey s is right about attribute j with right[s][j] and none is asked twice.

    The average over all ways to give the surveys different attributes, summed by which surveys have had theirs.

    >>> round(profile_of_surveys([(0.5, 0.2, 0.1), (0.5, 0.2, 0.1)]), 4)
    0.0567
    """
    surveys, d = len(right), len(right[0])
    if surveys > min(d, _MOST_SUBSETS):
        raise InvalidParameter(f"this is for up to {min(d, _MOST_SUBSETS)} surveys of {d} attributes, got {surveys}")
    found = np.zeros(1 << surveys)
    found[0] = 1.0
    for j in range(d):
        more = found.copy()
        for s in range(surveys):
            without = np.flatnonzero(~(np.arange(1 << surveys) >> s) & 1)
            more[without | 1 << s] += found[without] * right[s][j]
        found = more
    return float(found[-1] / math.perm(d, surveys))
