"""Locates the bins of a range, which turns shares of bins into numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats


@final
@dataclass(frozen=True, eq=False)
class Bins:
    """Neighboring bins on a line. An open bin has no end, so nobody knows where its people are."""

    edges: Floats
    open_low: bool = False
    open_high: bool = False
    is_whole: bool = False
    """Whether an answer is the middle of its bin: a whole number, counted one by one."""

    @property
    def k(self) -> int:
        """The number of bins."""
        return int(self.edges.size) - 1

    @cached_property
    def middles(self) -> Floats:
        """The middle of every bin; that of an open bin, as if it were closed."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @property
    def half(self) -> float:
        """Half of the widest bin: as far as an answer may be from the middle of its bin."""
        return 0.0 if self.is_whole else float(np.diff(self.edges).max()) / 2

    @cached_property
    def ends(self) -> Floats:
        """The edges, infinitely far out where a bin is open."""
        ends = self.edges.copy()
        ends[0], ends[-1] = (-np.inf if self.open_low else ends[0]), (np.inf if self.open_high else ends[-1])
        return ends
