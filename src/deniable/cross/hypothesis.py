"""Tests whether two answers depend on each other, with the error that the noise of reports adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import stats

from deniable.arrays import Floats
from deniable.cross.spread import Spread
from deniable.estimate.consistency import simplex
from deniable.exact import number, whole_number


@final
@dataclass(frozen=True)
class Test:
    """A chi-square statistic and its degrees of freedom; `p` is its probability if nothing is there."""

    statistic: float
    degrees: int
    n: int
    """How many reports it is of."""
    question: str = "independence"

    @property
    def p(self) -> float:
        """How often reports of independent answers have a statistic at least as large."""
        return float(stats.chi2.sf(self.statistic, self.degrees))

    @property
    def effect(self) -> float:
        """How much each report adds to the statistic on average, estimated without bias, 0 at least."""
        return max(self.statistic - self.degrees, 0.0) / self.n

    def power(self, n: int, level: float = 0.05, effect: float | None = None) -> float:
        """How often so many reports find it, if this dependence, or another `effect`, is the true one."""
        return find_power(self.effect if effect is None else effect, self.degrees, n, level)


def find_power(effect: float, degrees: int, n: int, level: float = 0.05) -> float:
    """How often a test at this level finds an effect, by the noncentral chi-square distribution."""
    limit = stats.chi2.isf(number("a level", level, 0.0, 1.0), degrees)
    noncentral = whole_number("n", n, 1) * effect
    if noncentral == 0:
        return float(stats.chi2.sf(limit, degrees))
    return float(stats.ncx2.sf(limit, degrees, noncentral))


def find_dependence(cells: Floats, spread: Spread) -> tuple[float, int]:
    """What each report adds to the statistic of independence, and the degrees of freedom.

    The differences from independence are weighed by their own covariance under the nearest independent
    table.
    """
    rows, columns = cells.shape
    apart = cells - np.outer(cells.sum(axis=1), cells.sum(axis=0))
    null = find_null(cells)
    slopes = _slopes(null)
    error = slopes @ spread.covariance(null.ravel()) @ slopes.T
    wanted = apart[:-1, :-1].ravel()
    return float(wanted @ np.linalg.solve(error, wanted)), (rows - 1) * (columns - 1)


def find_trend(cells: Floats, spread: Spread, points: tuple[Floats, Floats]) -> float:
    """What each report adds to the squared statistic of a linear trend of these positions."""
    centered = [at - cells.sum(axis=1 - axis) @ at for axis, at in enumerate(points)]
    weights = np.outer(*centered).ravel()
    error = float(weights @ spread.covariance(find_null(cells).ravel()) @ weights)
    return float(weights @ cells.ravel()) ** 2 / error


def find_null(cells: Floats) -> Floats:
    """The independent table with the nearest possible margins."""
    return np.outer(simplex(cells.sum(axis=1)), simplex(cells.sum(axis=0)))


def _slopes(null: Floats) -> Floats:
    """How the differences from independence, without the last row and column, move with the cells."""
    rows, columns = null.shape
    by_row, by_column = null.sum(axis=1), null.sum(axis=0)
    slopes = np.zeros((rows, columns, rows, columns))
    for i in range(rows):
        for j in range(columns):
            slopes[i, j, i, j] += 1.0
            slopes[i, j, i, :] -= by_column[j]
            slopes[i, j, :, j] -= by_row[i]
    return slopes[:-1, :-1].reshape(-1, rows * columns)
