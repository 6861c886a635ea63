"""Holds what a search was asked and what it found, always with its certificate and why it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

from deniable.arrays import Floats

Stop = Literal["certified", "iteration limit", "rounding limit", "likelihood settled", "passes done"]
"""Why a search ended. `certified`: the gap is within the tolerance. `iteration limit`: it is not, more steps
may help. `rounding limit`: it is not, and floats do not carry further. `likelihood settled` and `passes
done`: methods that are not meant to reach the maximum ended by their own rule.
"""
Progress = Callable[[int, float], None]
"""Hears how many steps are done, and how far the mean log-likelihood can still be from the best."""


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
