"""Estimates a ratio of two estimates, with an interval that holds where its denominator is uncertain."""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Floats
from deniable.estimate.intervals import reach_of

Ends = tuple[float, float]


def fieller_ends(
    top: float, bottom: float, variances: tuple[float, float], covariance: float, tail: float
) -> Ends | None:
    """Fieller's ends of top / bottom, each missed with probability `tail`; None where any is possible.

    A ratio r is held if top - r * bottom is no farther from 0 than its own error allows.

    >>> low, high = fieller_ends(0.2, 0.8, (0.0001, 0.0001), 0.0, 0.025)
    >>> round(low, 3), round(high, 3)
    (0.225, 0.275)
    """
    reach = reach_of(tail) ** 2
    a = bottom**2 - reach * variances[1]
    b = top * bottom - reach * covariance
    c = top**2 - reach * variances[0]
    inside = b**2 - a * c
    if a <= 0 or bottom <= 0 or inside < 0:
        return None
    return (b - math.sqrt(inside)) / a, (b + math.sqrt(inside)) / a


def fieller_within(
    top: float, bottom: float, variances: tuple[float, float], covariance: float, tail: float, limits: Ends
) -> Ends:
    """The ends of all ratios within limits that Fieller's set holds.

    Where the bottom may be 0, the set has no ends, but may still leave out one side. Where it holds none
    within the limits, the ends are those around the nearest limit, as if the ratio were there; the limits, if
    the bottom is not above 0.

    >>> fieller_within(0.2, 0.1, (0.0001, 0.01), 0.0, 0.025, (0.0, 1.0))
    (0.6..., 1.0)
    >>> fieller_within(-0.05, 0.4, (0.0001, 0.0001), 0.0, 0.025, (0.0, 1.0))
    (0.0, 0.04...)
    """
    numbers = np.array([[top], [bottom], [variances[0]], [variances[1]], [covariance]])
    low, high = find_fieller_ends(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], tail, limits)
    return float(low[0]), float(high[0])


def find_fieller_ends(
    top: Floats,
    bottom: Floats,
    top_variance: Floats,
    bottom_variance: Floats,
    covariance: Floats,
    tail: float,
    limits: Ends,
) -> tuple[Floats, Floats]:
    """The ends of Fieller's intervals of many ratios at once, within the limits."""
    errors = top_variance, bottom_variance, covariance
    least, most = _find_ends(top, bottom, *errors, tail, limits)
    is_outside = np.isnan(least) & (bottom > 0)
    if is_outside.any():
        moved = np.maximum(top, limits[0] * bottom)
        if math.isfinite(limits[1]):
            moved = np.minimum(moved, limits[1] * bottom)
        least, most = _find_ends(np.where(is_outside, moved, top), bottom, *errors, tail, limits)
    is_empty = np.isnan(least)
    return np.where(is_empty, limits[0], least), np.where(is_empty, limits[1], most)


def _find_ends(
    top: Floats,
    bottom: Floats,
    top_variance: Floats,
    bottom_variance: Floats,
    covariance: Floats,
    tail: float,
    limits: Ends,
) -> tuple[Floats, Floats]:
    """The least and the largest ratio of each set within the limits; nan where it holds none."""
    reach, (low, high) = reach_of(tail) ** 2, limits
    a = bottom**2 - reach * bottom_variance
    b = top * bottom - reach * covariance
    c = top**2 - reach * top_variance
    inside = b**2 - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(inside)
        roots = [
            np.where((low < root) & (root < high), root, np.nan) for root in ((b - root) / a, (b + root) / a)
        ]
    far = a <= 0 if math.isinf(high) else a * high**2 - 2 * b * high + c <= 0
    holds_low = a * low**2 - 2 * b * low + c <= 0
    candidates = np.array([np.where(holds_low, low, np.nan), *roots, np.where(far, high, np.nan)])
    return np.fmin.reduce(candidates), np.fmax.reduce(candidates)


def ratio_error(top: float, bottom: float, variances: tuple[float, float], covariance: float = 0.0) -> float:
    """The standard error of top / bottom to first order; infinite where the bottom is not above 0."""
    if bottom <= 0:
        return math.inf
    ratio = top / bottom
    square = variances[0] - 2 * ratio * covariance + ratio**2 * variances[1]
    return math.sqrt(max(square, 0.0)) / bottom
