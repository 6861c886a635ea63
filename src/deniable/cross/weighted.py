"""Computes how cells vary that are joined from groups, each of which counts as much as in a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.cross.spread import OneReport, Supports, Within, fix_total, sampling_covariance
from deniable.estimate import Estimate
from deniable.estimate.consistency import simplex
from deniable.law import Moments
from deniable.summaries.weighted import Strata, Weighing


@final
@dataclass(frozen=True, eq=False)
class WeightedReport:
    """One report of a person in one of several groups, whose shares differ, about cells of the population.

    If the population had another table, each group would still differ as much from it.
    """

    law: Supports
    weighing: Weighing
    apart: Floats
    """How far the cells of each group, by row, are from those of the population."""
    residuals: Floats

    @staticmethod
    def of(strata: Strata) -> WeightedReport:
        """From the estimates of the groups."""
        law = strata.groups[0].law
        assert not isinstance(law, Moments), "metric values are in no table"
        cells = fix_total(strata.shares)
        apart = cells - strata.weighing.weights @ cells
        return WeightedReport(law, strata.weighing, apart, strata.weighing.leave(cells))

    @property
    def n(self) -> int:
        """How many reports all groups have."""
        return round(float(self.weighing.counts.sum()))

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(OneReport(self.law).covariance, cells, sums)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(sampling_covariance, cells, sums)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        report, simulated = OneReport(self.law), np.zeros((runs, cells.size))
        counts = self.weighing.counts.astype(np.int64).tolist()
        groups = zip(self._list_cells(cells), self.weighing.weights, counts, self.residuals, strict=True)
        for shares, weight, count, residual in groups:
            simulated += weight * report.draw(shares, count, runs, generator)
            if residual.any():  # which people of a cell came moves a sum that is weighted by its margins
                moved = generator.standard_normal((runs, 1)) / np.sqrt(count)
                simulated += weight * moved * residual
        return simulated

    def count_supports(self, cells: Floats, n: int) -> float:
        report, counts = OneReport(self.law), self.weighing.counts.astype(np.int64).tolist()
        pairs = zip(self._list_cells(cells), counts, strict=True)
        return min(report.count_supports(shares, count) for shares, count in pairs)

    def _join(self, within: Within, cells: Floats, sums: Floats) -> Floats:
        """What varies in the groups, for one of all reports."""
        covariance = np.zeros((len(sums), len(sums)))
        groups = zip(
            self._list_cells(cells), self.residuals, self.weighing.squares, self.weighing.counts, strict=True
        )
        for shares, residual, square, count in groups:
            left = sums @ residual
            covariance += square / count * (within(shares, sums) + np.outer(left, left))
        return self.n * covariance

    def _list_cells(self, cells: Floats) -> Floats:
        """The cells of each group, none of them quite empty: noise would look too small there."""
        counts = self.weighing.counts[:, None]
        return np.asarray((counts * simplex(cells + self.apart) + 0.5) / (counts + cells.size / 2))


@final
@dataclass(frozen=True, eq=False)
class WeightedRows:
    """One report of a person whose row is known, and whose group in that row has a weight.

    The cells are those of all rows, then what is beside them (no answer), row by row. The sizes of rows are
    no chance.
    """

    estimates: tuple[Estimate | None, ...]
    """What is estimated of each row's people; None where nobody reported."""
    size: int
    """How many cells a row has."""
    counts: Floats | None = None
    """How many reports name each row; None where the sizes of rows are those of the population."""
    notes: tuple[str, ...] = ()
    """What to beware of in some rows."""

    @cached_property
    def positions(self) -> Integers:
        """Where the cells of each row are."""
        k = next(row.k for row in self.estimates if row is not None)
        rows = len(self.estimates)
        inside = np.arange(rows * self.size).reshape(rows, self.size)
        return np.hstack([inside, inside.size + np.arange(rows * (k - self.size)).reshape(rows, -1)])

    @cached_property
    def _rows(self) -> list[tuple[Integers, WeightedReport]]:
        """The rows with reports: where their cells are, and how these vary."""
        rows = []
        for position, estimate in zip(self.positions, self.estimates, strict=True):
            if estimate is not None:
                rows.append((position, WeightedReport.of(read_strata(estimate))))
        return rows

    @property
    def effective(self) -> Floats:
        """How many people of a simple sample the reports about each row are about as good as."""
        rows = [None if row is None else read_strata(row).weighing.effective for row in self.estimates]
        return np.array([0.0 if people is None else people for people in rows])

    @property
    def n(self) -> int:
        """How many reports all rows have."""
        return sum(row.n for _, row in self._rows)

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        parts = self._split(cells)
        return self._add([row.covariance(shares, sums[:, at]) for row, at, shares, _ in parts], cells)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        parts = self._split(cells)
        return self._add([row.sampling(shares, sums[:, at]) for row, at, shares, _ in parts], cells)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        simulated = np.zeros((runs, cells.size))
        for row, position, shares, base in self._split(cells):
            simulated[:, position] = base * row.draw(shares, row.n, runs, generator)
        return simulated

    def count_supports(self, cells: Floats, n: int) -> float:
        return min(row.count_supports(shares, row.n) for row, _, shares, _ in self._split(cells))

    def _split(self, cells: Floats) -> list[tuple[WeightedReport, Integers, Floats, float]]:
        """Each row with people: where its cells are, its people's share of each, and their share of all."""
        bases = [(row, at, float(cells[at].sum())) for at, row in self._rows]
        return [(row, at, cells[at] / base, base) for row, at, base in bases if base > 0]

    def _add(self, covariances: Sequence[Floats], cells: Floats) -> Floats:
        """Independent rows together, each as large as it is."""
        rows = zip(self._split(cells), covariances, strict=True)
        return self.n * np.asarray(sum(base**2 / row.n * covariance for (row, *_, base), covariance in rows))


def read_strata(estimate: Estimate) -> Strata:
    """The groups that an estimate is joined from."""
    joined = estimate.law.joined if isinstance(estimate.law, Moments) else None
    assert isinstance(joined, Strata)
    return joined
