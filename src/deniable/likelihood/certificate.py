"""Bounds how far shares can be from the most likely ones, and holds what a search found with that bound.

Let D_i = sum over the reports' outputs j of q_j G_ij / (pG)_j, with q_j the share of reports with output j.
The mean log-likelihood of p is below the best by at most ln max D_i (Jensen), and p is the best iff no D_i is
above 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from deniable.arrays import Floats

_UNIT = 2.0**-53
NEGLIGIBLE_GAIN = 1e-3
"""Nats that all reports together may be from the best, where a search may end: far less than they scatter."""
Stop = Literal["certified", "iteration limit", "rounding limit", "passes done"]
"""Why a search ended. `certified`: the gap is within the tolerance. `iteration limit`: it is not, more steps
may help. `rounding limit`: it is not, and floats do not carry further. `passes done`:
smoothing, which is not meant to reach the maximum, ended by its own rule.
"""
Progress = Callable[[int, float], None]
"""Hears how many steps are done, and how far the mean log-likelihood can still be from the best."""


def rounding(roundings: int) -> float:
    """An upper bound of what this many roundings do to the logarithm of a sum of positive numbers."""
    return 2.0 * (roundings + 16) * _UNIT


def gap_bound(ascent: Floats, total: float, roundings: int) -> float:
    """ln(max D * sum p), rounded up: D was computed by sums of positive numbers with this many roundings in a
    row.

    A sum of positive numbers is off by less than a part in 2^53 for each rounding, so that the bound that is
    returned is never below the one that exact numbers would give. What is not a number bounds nothing.
    """
    return round_up_log(float(ascent.max()) * total, roundings)


def round_up_log(highest: float, roundings: int) -> float:
    """ln of what bounds a mean likelihood, at least 0 and rounded up; infinite for what bounds nothing."""
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


@final
@dataclass(frozen=True)
class Solution:
    """Shares, how far their mean log-likelihood can be from the best, and why the search ended there."""

    shares: Floats
    gap: float
    iterations: int
    stop: Stop
    method: str


@final
@dataclass(frozen=True)
class Search:
    """How exact, how long, and the callback that follows it."""

    method: str
    tolerance: float
    limit: int
    progress: Progress | None = None
    further: bool = False
    """Whether an interior point goes on beyond the tolerance while that is cheap."""

    def enough(self, step: int, gap: float) -> bool:
        """Whether the gap is within the tolerance."""
        if self.progress is not None:
            self.progress(step, gap)
        return gap <= self.tolerance

    def done(self, shares: Floats, gap: float, step: int) -> Solution:
        """The tolerance is met."""
        return Solution(shares, gap, step, "certified", self.method)

    def ended(self, shares: Floats, gap: float, step: int) -> Solution:
        """All the steps are used up."""
        return Solution(shares, gap, step, "iteration limit", self.method)

    def stalled(self, shares: Floats, gap: float, step: int) -> Solution:
        """Steps no longer help."""
        return Solution(shares, gap, step, "rounding limit", self.method)
