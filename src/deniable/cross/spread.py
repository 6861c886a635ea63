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


@final
@dataclass(frozen=True)
class TwoReports:
    """Two reports of one person, one about rows and one about columns, whose noise is independent."""

    by_row: Law
    by_column: Law

    def covariance(self, cells: Floats) -> Floats:
        rows, columns = _added_squares(self.by_row), _added_squares(self.by_column)
        shares = cells.reshape(len(rows), len(columns))
        mixed = np.tensordot(shares, columns, axes=1)
        found = np.einsum("xij,xkl->ikjl", rows, mixed, optimize=True).reshape(cells.size, cells.size)
        return fix_total_of(found - np.outer(cells, cells))


def _added_squares(law: Law) -> Floats:
    """The mean products of what a report adds to each two shares, for each true value."""
    found = []
    for value in np.eye(law.k):
        supported = law.q + law.gain * value
        blind = law.q * (supported[:, None] + supported) - law.q**2
        found.append((law.pairs.joint(value) - blind) / law.gain**2)
    return np.array(found)


def fix_total(cells: Floats) -> Floats:
    """Cells that add up to 1, all moved alike."""
    return np.asarray(cells - (cells.sum() - 1) / cells.size)


def fix_total_of(covariance: Floats) -> Floats:
    """The covariance of cells whose total is fixed."""
    centered = covariance - covariance.mean(axis=0)
    return np.asarray(centered - centered.mean(axis=1, keepdims=True))
