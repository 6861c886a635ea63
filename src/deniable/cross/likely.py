"""Holds a possible table: the most likely one, or the nearest to the unbiased one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from deniable.arrays import Floats
from deniable.estimate.consistency import nearest_with_total


@final
@dataclass(frozen=True, eq=False)
class LikelyTable:
    """Cells that are all possible, for display: sums, error bars and tests are of the unbiased table.

    >>> project_cells(np.array([[0.7, 0.4], [-0.1, 0.0]])).cells.round(2).tolist()
    [[0.65, 0.35], [0.0, 0.0]]
    """

    cells: Floats
    """The shares of all people, by rows and columns."""
    method: Literal["most likely", "projected"]
    gap: float | None = None
    """How much more likely each report could be at most, as a logarithm; None where nothing was searched."""

    @property
    def shares(self) -> Floats:
        """The share of each column among a row's people; nan where nobody is in the row."""
        rows = self.cells.sum(axis=1, keepdims=True)
        nobody = np.full(self.cells.shape, np.nan)
        return np.asarray(np.divide(self.cells, rows, out=nobody, where=rows > 0))


def project_cells(cells: Floats) -> LikelyTable:
    """The nearest possible table with the same total."""
    total = min(max(float(cells.sum()), 0.0), 1.0)
    return LikelyTable(nearest_with_total(cells.ravel(), total).reshape(cells.shape), "projected")
