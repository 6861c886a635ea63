"""Computes intervals of binomial counts, and of what is made of two of them, that hold for small counts.

If two unknown numbers are seen by independent counts, one takes its end at z cos(angle) standard deviations
of a normal number and the other at z sin(angle). The worst point of that quarter of a circle is the end of
their difference, or of anything else that rises with one and falls with the other. That is exact for normal
numbers, and needs neither an estimate nor a variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate.intervals import wilson
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_within

Ends = tuple[Floats, Floats]
_STEPS = 7  # of Newton's, from an end that is nearly right
_CLOSE = 1e-12
_HUGE = 1e9  # from here on Wilson's ends agree, and sums of binomials take long
_HALF_CIRCLE = 16  # parts
_WHOLE = (0.0, 1.0)


def tail_of(reach: npt.ArrayLike) -> Floats:
    """How often a normal number is so many standard deviations too large."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-np.asarray(reach)))


def find_mid_ends(counts: npt.ArrayLike, n: npt.ArrayLike, reach: npt.ArrayLike) -> Ends:
    """The shares at which half of the chance of the count itself and all beyond it is that of the reach.

    These are the mid-P ends of a binomial count. They miss about as often as they say, where exact ones miss
    less often. Of no reports they are 0 and 1.

    >>> low, high = find_mid_ends([0, 1], 20, 1.96)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0025], [0.1391, 0.2228])
    """
    x, trials, steps = np.broadcast_arrays(
        *(np.asarray(array, dtype=np.float64) for array in (counts, n, reach))
    )
    return _find_mid_low(x, trials, steps), np.asarray(1 - _find_mid_low(trials - x, trials, steps))


def _find_mid_low(counts: Floats, n: Floats, reach: Floats) -> Floats:
    """The lower ends; where all of n are counted the equation has a closed form."""
    tail, ends = tail_of(reach), np.zeros(counts.shape)
    is_all, is_huge = (counts >= n) & (n > 0), np.minimum(counts, n - counts) > _HUGE
    ends[is_all] = np.minimum(2 * tail[is_all], 1.0) ** (1 / n[is_all])
    for i in np.argwhere(is_huge):
        at = tuple(i)
        ends[at] = float(wilson(counts[at], int(n[at]), float(tail[at]))[0])
    between = (counts > 0) & (counts < n) & ~is_huge
    if between.any():
        ends[between] = _solve_mid(counts[between], n[between], tail[between])
    return ends


def _solve_mid(x: Floats, n: Floats, tail: Floats) -> Floats:
    """By Newton's method, each step within the sides that are known to be too small and too large."""
    from scipy.special import betainc, betaincinv, gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    small, large = np.zeros(x.shape), np.ones(x.shape)
    share = betaincinv(x + 0.5, n - x + 0.5, tail)
    for _ in range(_STEPS):
        share = share.clip(1e-300, 1 - 1e-16)
        chance = np.exp(ways + xlogy(x, share) + xlog1py(n - x, -share))
        above = betainc(x, n - x + 1, share) - chance / 2 - tail
        small, large = np.where(above < 0, share, small), np.where(above > 0, share, large)
        slope = chance / 2 * (x / share + (n - x) / (1 - share))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = share - above / slope
        last, share = share, np.where((step >= small) & (step <= large), step, (small + large) / 2)
        if np.abs(share - last).max() < _CLOSE:
            break
    return np.asarray(share)


def find_row_ends(
    counts: Floats, row_counts: Floats, n: Floats, blind: Floats, row_blind: Floats, reach: npt.ArrayLike
) -> Ends:
    """The shares of a row's people who are in one cell, where `row_counts` of n reports name the row, and
    `counts` of these the cell.

    Both counts are binomial and independent: the share of reports that name the row, r, and of these that
    name the cell, c. By chance alone `blind` and `row_blind` of all reports do, so that the share of the
    row's people is (c r - blind) / (r - row_blind). Where as many may name the row by chance, it may be
    anything.
    """
    arrays = (counts, row_counts, n, blind, row_blind, np.asarray(reach, dtype=np.float64))
    x, rows, trials, cell, row, steps = (array[..., None] for array in np.broadcast_arrays(*arrays))
    angles = np.arange(_HALF_CIRCLE + 1) * np.pi / _HALF_CIRCLE
    along, across = np.cos(angles), np.sin(angles)
    least, many = find_mid_ends(rows, trials, steps * np.abs(along))
    seen = np.where(along < 0, least, many)
    is_seen = seen > row
    ends = []
    for inside in find_mid_ends(x, rows, steps * across):
        with np.errstate(divide="ignore", invalid="ignore"):
            ends.append(((inside * seen - cell) / (seen - row)).clip(*_WHOLE))
    low, high = np.where(is_seen, ends[0], 0.0).min(axis=-1), np.where(is_seen, ends[1], 1.0).max(axis=-1)
    return np.asarray(low), np.asarray(high)


def find_ratio_ends(
    top: float, bottom: float, variances: tuple[float, float], covariance: float, reach: Floats
) -> Ends:
    """Fieller's ends of a share of a row's people at each reach; 0 and 1 where the row may have nobody."""
    low, high = np.zeros(reach.shape), np.ones(reach.shape)
    for i, tail in enumerate(tail_of(reach).tolist()):
        if bottom > float(reach[i]) * math.sqrt(max(variances[1], 0.0)):
            low[i], high[i] = fieller_within(top, bottom, variances, covariance, tail, _WHOLE)
    return low, high


class Seen(NamedTuple):
    """A share of a row's people: what is estimated, with what error, and its ends at any reach."""

    value: float
    """Unbiased, and so maybe below 0 or above 1; nan where there is no report."""
    variance: float
    ends: Callable[[Floats], Ends]


class Comparison(NamedTuple):
    """Something that rises with one share and falls with another."""

    find: Callable[[Floats, Floats, bool], Floats]
    """Its value for two shares; where it may be anything, the lower or the upper limit."""
    slopes: Callable[[float, float], tuple[float, float]]
    """How it moves with each share."""
    is_ratio: bool = True


def _divide(top: Floats, bottom: Floats, is_low: bool) -> Floats:
    """A ratio of numbers that are not below 0; 0 / 0 may be anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(top, dtype=np.float64) / bottom
    return np.where(np.isnan(ratio), 0.0 if is_low else np.inf, ratio)


DIFFERENCE = Comparison(lambda first, other, _: first - other, lambda *_: (1.0, -1.0), is_ratio=False)
RATIO = Comparison(_divide, lambda first, other: (1 / other, -first / other**2))
ODDS = Comparison(
    lambda first, other, is_low: _divide(first * (1 - other), other * (1 - first), is_low),
    lambda first, other: ((1 - other) / (other * (1 - first) ** 2), -first / ((1 - first) * other**2)),
)


def list_angles(angles: int, reach: float) -> Ends:
    """How far each of two shares reaches, at so many angles of a quarter of a circle."""
    around = np.arange(angles) * np.pi / (2 * (angles - 1))
    return np.asarray(reach * np.cos(around)), np.asarray(reach * np.sin(around))


def compare_ends(comparison: Comparison, ends: Ends, other: Ends) -> Ends:
    """The worst points of a quarter of a circle, with the angles as the last axis of all ends."""
    low, high = comparison.find(ends[0], other[1], True), comparison.find(ends[1], other[0], False)
    return low.min(axis=-1), high.max(axis=-1)


def compare_shares(
    comparison: Comparison, share: Seen, other: Seen, reach: float, angles: int, points_of: str = ""
) -> Summary:
    """A difference, a ratio or a ratio of odds of two shares, by a quarter of a circle of so many angles.

    The value is that of the unbiased shares, moved into the interval; nan where one of them is not seen.
    """
    along, across = list_angles(angles, reach)
    low, high = map(float, compare_ends(comparison, share.ends(along), other.ends(across)))
    first, second = share.value, other.value
    is_seen = not math.isnan(first + second)
    if comparison.is_ratio:  # a share of nobody divides nothing
        is_seen = is_seen and second > 0 and (comparison is RATIO or first < 1)
    value, error = math.nan, math.inf
    if is_seen:
        slopes = comparison.slopes(first, second)
        error = math.sqrt(slopes[0] ** 2 * share.variance + slopes[1] ** 2 * other.variance)
        value = float(comparison.find(np.asarray(first), np.asarray(second), True))
        value = min(max(value, low), high)
    return Summary(value, error, low, high, is_ratio=comparison.is_ratio, points_of=points_of)
