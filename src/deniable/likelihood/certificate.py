"""Bounds how far a distribution can be from the most likely one, whatever search found it.

Let D_i = sum over the reports' outputs j of q_j G_ij / (pG)_j, with q_j the share of reports with output j.
The mean log-likelihood of p is below the best by at most ln max D_i (Jensen), and p is the best iff no D_i is
above 1.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Floats

_UNIT = 2.0**-53


def rounding(roundings: int) -> float:
    """An upper bound of what this many roundings do to the logarithm of a sum of positive numbers."""
    return 2.0 * (roundings + 16) * _UNIT


def gap_bound(ascent: Floats, total: float, roundings: int) -> float:
    """ln(max D * sum p), rounded up: D was computed by sums of positive numbers with this many roundings in a
    row.

    A sum of positive numbers is off by less than a part in 2^53 for each rounding, so that the bound that is
    returned is never below the one that exact numbers would give. What is not a number bounds nothing.
    """
    highest = float(ascent.max()) * total
    if not math.isfinite(highest) or highest <= 0:
        return math.inf
    return math.log(max(highest, 1.0)) + rounding(roundings)


def concave_gap(gradient: Floats, shares: Floats, roundings: int, sizes: Floats | None = None) -> float:
    """Bounds how far a concave function is below its maximum, rounded up: the largest entry of the gradient
    less its mean under p (Frank and Wolfe).

    `sizes` are those of the numbers whose differences the gradient is, where these cancel.
    """
    level = float(gradient @ shares)
    bound = float(np.max(gradient)) - level
    size = float((np.abs(gradient) if sizes is None else np.abs(gradient) + 2 * sizes).max())
    return max(bound, 0.0) + rounding(roundings) * size if math.isfinite(bound) else math.inf
