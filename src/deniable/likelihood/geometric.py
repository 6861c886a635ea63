"""Builds the channel of geometric noise down and across a grid, whose rows factor by its sides."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.likelihood.lines import Lattice
from deniable.metric.line import GeometricChannel

__all__ = ["GeometricChannel", "GridChannel"]


@final
class GridChannel:
    """Geometric noise down and across a grid, whose cells are counted row by row."""

    def __init__(self, down: GeometricChannel, across: GeometricChannel) -> None:
        self.down, self.across = down, across

    @property
    def k(self) -> int:
        """The number of cells."""
        return self.down.k * self.across.k

    @cached_property
    def ends(self) -> Floats:
        """The factor of each output."""
        return np.outer(self.down.ends, self.across.ends).reshape(-1)

    @cached_property
    def rows(self) -> Lattice:
        """All cells, without the outputs' factors."""
        return Lattice(self.down.kernel, self.across.kernel)

    def output(self, shares: npt.ArrayLike) -> Floats:
        """How likely each output is if the cells have these shares."""
        return np.asarray(self.rows.forward(np.asarray(shares, dtype=np.float64)) * self.ends)
