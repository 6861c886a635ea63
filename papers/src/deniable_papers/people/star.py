"""Simulates people by the tables of one question with each other one: a star, whose center is the target.

The tables are made possible, and their dependence is drawn toward none as far as it may be noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.cross import CrossTable
from deniable.cross.independence import find_slopes
from deniable.estimate.consistency import simplex

_RAKING_STEPS = 200  # of raking
_CLOSE = 1e-12
_SIZES = np.concatenate([[0.0], np.geomspace(1e-3, 1e2, 400)])
"""The standard deviations of relative departures that are tried."""
_TINY = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Star:
    """The shares of a target's answers, and of each other question's among the people with each of them.

    Given the target, other answers do not depend on each other: what tables of the target do not say is left
    out.
    """

    target: str
    shares: Floats
    labels: tuple[str, ...]
    others: tuple[tuple[str, tuple[str, ...], Floats], ...]
    """The name, the answers and the shares, a row for each answer to the target, of every other question."""

    @staticmethod
    def of(tables: Sequence[CrossTable]) -> Star:
        """From tables by the same question. They are made possible: no share is below 0, and all agree.

        Dependence that may be noise is drawn toward none. Shares are of those who answered the questions of a
        table.
        """
        first = tables[0]
        # tables that were made to agree say the same of the target, up to rounding
        target = np.mean([project_shares(table.cells.sum(axis=1)) for table in tables], axis=0)
        others = []
        for table, cells in zip(tables, _shrink_tables(tables, target), strict=True):
            raked = rake(cells, target, project_shares(table.cells.sum(axis=0)))
            others.append((table.of.name, table.columns, _divide_rows(raked)))
        return Star(first.by.name, target, first.rows, tuple(others))

    def draw(self, n: int, generator: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        """The answers of n simulated people, a column for each question."""
        chosen = generator.choice(self.shares.size, size=n, p=self.shares)
        answers = {self.target: np.array(self.labels)[chosen]}
        for name, labels, shares in self.others:
            # an answer is the first whose cumulative share is above a uniform number
            ends = shares.cumsum(axis=1)[:, :-1]
            answers[name] = np.array(labels)[(generator.random(n)[:, None] >= ends[chosen]).sum(axis=1)]
        return answers


def rake(cells: Floats, by_row: Floats, by_column: Floats) -> Floats:
    """The cells, scaled by rows and columns in turn until their sums are these.

    A row or column that must have people and has none in the cells is filled as its margins say.
    """
    scaled = cells.copy()
    for rows, side in ((True, by_row), (False, by_column)):
        empty = (scaled.sum(axis=1 if rows else 0) <= 0) & (side > 0)
        filled = np.outer(by_row, by_column)
        scaled = np.where(empty[:, None] if rows else empty, filled, scaled)
    for _ in range(_RAKING_STEPS):
        scaled *= _ratio(by_row, scaled.sum(axis=1))[:, None]
        off = np.abs(scaled.sum(axis=0) - by_column).max()
        if off < _CLOSE:
            break
        scaled *= _ratio(by_column, scaled.sum(axis=0))
    return scaled


def _ratio(targets: Floats, sums: Floats) -> Floats:
    return np.divide(targets, sums, out=np.zeros_like(targets), where=sums > 0)


def _divide_rows(cells: Floats) -> Floats:
    """Shares of each row; of a row without people, those of all."""
    totals = cells.sum(axis=1, keepdims=True)
    everybody = cells.sum(axis=0) / cells.sum()
    return np.where(totals > 0, cells / np.where(totals > 0, totals, 1.0), everybody)


def _shrink_tables(tables: Sequence[CrossTable], target: Floats) -> list[Floats]:
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
