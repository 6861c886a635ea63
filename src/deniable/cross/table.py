"""Reads a table of two answers: cells, conditional shares, ratios of them, and whether they depend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.hypothesis import Test, find_dependence, find_trend
from deniable.cross.spread import OneReport, Spread, fix_total
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.exact import number
from deniable.law import Law
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_ends, ratio_error


@final
@dataclass(frozen=True, eq=False)
class CrossTable:
    """The shares of people with two answers, one by row and one by column, and how far they may be off.

    Cells are unbiased: they may be negative. Shares of a row's people come with Fieller's intervals, cut to
    0..1; where too little is known of the row, the interval is all of that.
    """

    n: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Floats
    spread: Spread = field(repr=False)
    level: float = 0.95

    @staticmethod
    def of(
        estimate: Estimate, rows: Sequence[str], columns: Sequence[str], level: float = 0.95
    ) -> CrossTable:
        """From an estimate of all pairs, row by row."""
        if estimate.k != len(rows) * len(columns):
            raise InvalidParameter(
                f"a table of {len(rows)} rows and {len(columns)} columns has {len(rows) * len(columns)} cells, "
                f"and the estimate has {estimate.k} values"
            )
        if not isinstance(estimate.law, Law):
            raise InvalidParameter("a table needs counts of support, and these shares are not counts")
        cells = fix_total(estimate.frequencies).reshape(len(rows), len(columns))
        number("a confidence level", level, 0.0, 1.0)
        return CrossTable(estimate.n, tuple(rows), tuple(columns), cells, OneReport(estimate.law), level)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the cells, row by row."""
        return self.spread.covariance(self.cells.ravel()) / self.n

    @cached_property
    def _conditional(self) -> list[list[Summary]]:
        return [
            [self._divide(*self._cell(a, b), limits=(0.0, 1.0)) for b in range(len(self.columns))]
            for a in range(len(self.rows))
        ]

    @cached_property
    def shares(self) -> Floats:
        """The share of each column among a row's people, row by row; nan where nobody is seen in the row."""
        return np.array([[one.value for one in row] for row in self._conditional])

    @cached_property
    def low(self) -> Floats:
        """The lower ends of the shares' intervals."""
        return np.array([[one.low for one in row] for row in self._conditional])

    @cached_property
    def high(self) -> Floats:
        """The upper ends of the shares' intervals."""
        return np.array([[one.high for one in row] for row in self._conditional])

    @cached_property
    def stderr(self) -> Floats:
        """The standard errors of the shares, to first order; infinite where nobody is seen in the row."""
        return np.array([[one.stderr for one in row] for row in self._conditional])

    def test(self) -> Test:
        """Whether the two answers are independent, by a chi-square statistic that knows the noise."""
        each, degrees = find_dependence(self.cells, self.spread)
        return Test(self.n * each, degrees, self.n)

    def trend(self, rows: Sequence[float] | None = None, columns: Sequence[float] | None = None) -> Test:
        """Whether one answer grows or falls with the other; positions are 0, 1, 2, ... unless given."""
        points = (_positions(rows, len(self.rows), "rows"), _positions(columns, len(self.columns), "columns"))
        return Test(self.n * find_trend(self.cells, self.spread, points), 1, self.n, "no trend")

    def ratio(self, row: str, other: str, column: str | None = None) -> Summary:
        """How many times as large a column's share is in one row as in another (the relative risk)."""
        b = self._column(column)
        (x, y), (u, v) = ((self._cell(self._row(one), b)) for one in (row, other))
        # x / y over u / v is one fraction; its top and bottom are products, with their slopes
        top, bottom = _product(self._flat, x, v), _product(self._flat, u, y)
        return self._divide_products(top, bottom)

    def odds(self, row: str, other: str, column: str | None = None) -> Summary:
        """The same ratio of odds: of the column against all others."""
        b = self._column(column)
        (x, y), (u, v) = ((self._cell(self._row(one), b)) for one in (row, other))
        top, bottom = _product(self._flat, x, v - u), _product(self._flat, u, y - x)
        return self._divide_products(top, bottom)

    @property
    def _flat(self) -> Floats:
        return self.cells.ravel()

    def _cell(self, a: int, b: int) -> tuple[Floats, Floats]:
        """The weights of one cell, and of its whole row."""
        cell, row = np.zeros(self.cells.shape), np.zeros(self.cells.shape)
        cell[a, b] = 1.0
        row[a] = 1.0
        return cell.ravel(), row.ravel()

    def _divide(self, top: Floats, bottom: Floats, limits: tuple[float, float]) -> Summary:
        """A ratio of two sums of cells, with these weights."""
        return self._ratio(float(top @ self._flat), float(bottom @ self._flat), top, bottom, limits)

    def _divide_products(self, top: _Product, bottom: _Product) -> Summary:
        return self._ratio(top[0], bottom[0], top[1], bottom[1], (0.0, math.inf))

    def _ratio(
        self, top: float, bottom: float, by_top: Floats, by_bottom: Floats, limits: tuple[float, float]
    ) -> Summary:
        """A ratio, with the ends of all ratios that the cells do not exclude."""
        across, along = self.covariance @ by_top, self.covariance @ by_bottom
        variances = (float(by_top @ across), float(by_bottom @ along))
        both = float(by_top @ along)
        ends = fieller_ends(top, bottom, variances, both, (1 - self.level) / 2)
        low, high = (min(max(end, limits[0]), limits[1]) for end in (limits if ends is None else ends))
        value = min(max(top / bottom, limits[0]), limits[1]) if bottom > 0 else math.nan
        return Summary(value, ratio_error(top, bottom, variances, both), low, high)

    def _row(self, name: str) -> int:
        return _index(name, self.rows, "a row")

    def _column(self, name: str | None) -> int:
        return 0 if name is None else _index(name, self.columns, "a column")


_Product = tuple[float, Floats]


def _product(cells: Floats, one: Floats, other: Floats) -> _Product:
    """The product of two sums of cells, and how it moves with each cell."""
    a, b = float(one @ cells), float(other @ cells)
    return a * b, b * one + a * other


def _index(name: str, names: Sequence[str], what: str) -> int:
    if name not in names:
        raise InvalidParameter(not_among(name, what, names))
    return names.index(name)


def _positions(given: Sequence[float] | None, count: int, what: str) -> Floats:
    points = np.arange(count) if given is None else np.asarray(given)
    if points.shape != (count,) or not np.isfinite(points.astype(np.float64)).all():
        raise InvalidParameter(f"the positions of {what} are {count} numbers, got {given!r}")
    return points.astype(np.float64)
