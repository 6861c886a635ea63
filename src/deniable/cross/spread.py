"""Computes how the estimated cells of a table vary together, from the law of one report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from deniable.arrays import Floats
from deniable.law import Law


class Spread(Protocol):
    """How far one report's cells are from the truth, together."""

    def covariance(self, cells: Floats) -> Floats:
        """The covariance of the cells that one report gives, if these are the true ones, row by row."""


@final
@dataclass(frozen=True)
class OneReport:
    """One report that supports some of the cells.

    Where supports need not add up to the same number, the cells' total is fixed at 1: that is unbiased, and
    halves the variance of margins.
    """

    law: Law

    def covariance(self, cells: Floats) -> Floats:
        law = self.law
        supported = law.q + law.gain * cells
        found = (law.pairs.joint(cells) - np.outer(supported, supported)) / law.gain**2
        return fix_total_of(found)


def fix_total(cells: Floats) -> Floats:
    """Cells that add up to 1, all moved alike."""
    return np.asarray(cells - (cells.sum() - 1) / cells.size)


def fix_total_of(covariance: Floats) -> Floats:
    """The covariance of cells whose total is fixed."""
    centered = covariance - covariance.mean(axis=0)
    return np.asarray(centered - centered.mean(axis=1, keepdims=True))
