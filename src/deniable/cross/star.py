"""Simulates people by the tables of one question with each other one: a star, whose center is the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.cross.shrink import project_shares, shrink_tables
from deniable.cross.table import CrossTable

_STEPS = 200  # of raking
_CLOSE = 1e-12


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
        for table, cells in zip(tables, shrink_tables(tables, target), strict=True):
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
    for _ in range(_STEPS):
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
