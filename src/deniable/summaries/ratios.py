"""Estimates a ratio of two estimates, with an interval that holds where its denominator is uncertain."""

from __future__ import annotations

import math

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


def ratio_error(top: float, bottom: float, variances: tuple[float, float], covariance: float = 0.0) -> float:
    """The standard error of top / bottom to first order; infinite where the bottom is not above 0."""
    if bottom <= 0:
        return math.inf
    ratio = top / bottom
    square = variances[0] - 2 * ratio * covariance + ratio**2 * variances[1]
    return math.sqrt(max(square, 0.0)) / bottom
