"""Makes tables of a target possible, and draws their dependence toward none as far as it may be noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.cross.hypothesis import find_slopes
from deniable.cross.table import CrossTable
from deniable.estimate.consistency import simplex

_SIZES = np.concatenate([[0.0], np.geomspace(1e-3, 1e2, 400)])
"""The standard deviations of relative departures that are tried."""
_TINY = 1e-12


def shrink_tables(tables: Sequence[CrossTable], target: Floats) -> list[Floats]:
    """The expected tables, if all of them depend on the target about as much.

    A cell departs from independence by a part of what independence gives it. Such parts are taken to vary
    alike in all tables. How much they vary is the most likely size, given all tables and their noise
    (empirical Bayes). So an answer of which hardly anything is known keeps about the target's shares of
    everybody, and a sure one keeps its own.
    """
    departures = [_Departure.of(table, target) for table in tables]
    fits = sum(departure.fit(_SIZES) for departure in departures)
    size = float(_SIZES[np.argmax(fits)])
    return [departure.shrink(size) for departure in departures]


def project_shares(shares: Floats) -> Floats:
    """The nearest possible shares of those who answered."""
    answered = float(shares.sum())
    return simplex(shares / answered if answered > 0 else shares)


@final
@dataclass(frozen=True, eq=False)
class _Departure:
    """How a table departs from independence, in directions in which noise is 1, and each is apart."""

    null: Floats
    kept: tuple[npt.NDArray[np.intp], ...]
    """The rows and columns that somebody is in."""
    seen: Floats
    sizes: Floats
    """The variance of each direction, where relative departures have a variance of 1."""
    back: Floats
    """From the directions to cells without the last row and column."""

    @staticmethod
    def of(table: CrossTable, target: Floats) -> _Departure:
        null = np.outer(target, project_shares(table.cells.sum(axis=0)))
        kept = np.ix_(np.flatnonzero(null.any(axis=1)), np.flatnonzero(null.any(axis=0)))
        inside = null[kept]
        answered = float(table.cells.sum())
        if min(inside.shape) < 2 or answered <= 0:
            return _Departure(null, kept, np.zeros(0), np.zeros(0), np.zeros((0, 0)))
        cells = table.cells[kept] / answered
        at = np.arange(null.size).reshape(null.shape)[kept].ravel()
        slopes = find_slopes(inside)
        # at estimates below 0 noise would be less than none
        spread = table.spread(table.find_possible()) / (table.n * answered**2)
        noise = slopes @ spread[np.ix_(at, at)] @ slopes.T
        apart = cells * cells.sum() - np.outer(cells.sum(axis=1), cells.sum(axis=0))
        # without noise in some direction, rounding might leave less than none
        root = np.linalg.cholesky(noise + _TINY * np.trace(noise) * np.eye(len(noise)))
        whitened = np.linalg.solve(root, slopes * inside.ravel())
        sizes, directions = np.linalg.eigh(whitened @ whitened.T)
        seen = directions.T @ np.linalg.solve(root, apart[:-1, :-1].ravel())
        return _Departure(null, kept, seen, np.clip(sizes, 0.0, None), root @ directions)

    def fit(self, sizes: Floats) -> Floats:
        """The logarithm of the likelihood of each size of relative departures, up to a constant."""
        variances = 1 + sizes[:, None] ** 2 * self.sizes
        return np.asarray(-0.5 * (np.log(variances) + self.seen**2 / variances).sum(axis=1))

    def shrink(self, size: float) -> Floats:
        """The expected table for this size; what would still be below 0 is 0."""
        signal = size**2 * self.sizes
        inside = self.null[self.kept]
        apart = np.zeros(inside.shape)
        if self.seen.size:
            apart[:-1, :-1] = (self.back @ (self.seen * signal / (1 + signal))).reshape(apart[:-1, :-1].shape)
            apart[-1] = -apart.sum(axis=0)
            apart[:, -1] = -apart.sum(axis=1)
        shrunk = self.null.copy()
        shrunk[self.kept] = np.clip(inside + apart, 0.0, None)
        return shrunk
