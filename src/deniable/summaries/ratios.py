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


def fieller_within(
    top: float, bottom: float, variances: tuple[float, float], covariance: float, tail: float, limits: Ends
) -> Ends:
    """The ends of all ratios within limits that Fieller's set holds; the limits, where it holds none.

    Where the bottom may be 0, the set has no ends, but may still leave out one side.

    >>> fieller_within(0.2, 0.1, (0.0001, 0.01), 0.0, 0.025, (0.0, 1.0))
    (0.6..., 1.0)
    """
    reach = reach_of(tail) ** 2
    a = bottom**2 - reach * variances[1]
    b = top * bottom - reach * covariance
    c = top**2 - reach * variances[0]

    def is_held(ratio: float) -> bool:
        return a * ratio**2 - 2 * b * ratio + c <= 0

    low, high = limits
    inside = b**2 - a * c
    roots = [(b + sign * math.sqrt(inside)) / a for sign in (-1, 1)] if inside >= 0 and a else []
    between = [root for root in roots if low < root < high]
    far = a <= 0 if math.isinf(high) else is_held(high)
    held = [*([low] if is_held(low) else []), *between, *([high] if far else [])]
    return (min(held), max(held)) if held else limits


def ratio_error(top: float, bottom: float, variances: tuple[float, float], covariance: float = 0.0) -> float:
    """The standard error of top / bottom to first order; infinite where the bottom is not above 0."""
    if bottom <= 0:
        return math.inf
    ratio = top / bottom
    square = variances[0] - 2 * ratio * covariance + ratio**2 * variances[1]
    return math.sqrt(max(square, 0.0)) / bottom
