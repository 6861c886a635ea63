"""Estimates ratios of two rows' shares: relative risks, and ratios of odds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable.arrays import Floats
from deniable.cross.tails import ODDS, RATIO, Comparison
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_within, ratio_error

if TYPE_CHECKING:
    from deniable.cross.table import CrossTable

_RATIOS = (0.0, math.inf)
_Product = tuple[float, Floats]


def find_ratio(table: CrossTable, row: str, other: str, column: str | None) -> Summary:
    """How many times as large a column's share is in one row as in another (the relative risk)."""
    counted = _compare_counts(table, RATIO, row, other, column)
    if counted is not None:
        return counted
    (x, y), (u, v) = _weigh_cells(table, row, other, column)
    # x / y over u / v is one fraction; its top and bottom are products, with their slopes
    return _divide(table, _product(table, x, v), _product(table, u, y))


def find_odds(table: CrossTable, row: str, other: str, column: str | None) -> Summary:
    """The ratio of odds, of the column against all others, in one row and in another."""
    counted = _compare_counts(table, ODDS, row, other, column)
    if counted is not None:
        return counted
    (x, y), (u, v) = _weigh_cells(table, row, other, column)
    return _divide(table, _product(table, x, v - u), _product(table, u, y - x))


def _compare_counts(
    table: CrossTable, comparison: Comparison, row: str, other: str, column: str | None
) -> Summary | None:
    pair = table.by.find(row), table.by.find(other)
    return table.compare_counts(comparison, *pair, table.of.find(column))


def _weigh_cells(table: CrossTable, row: str, other: str, column: str | None) -> list[tuple[Floats, Floats]]:
    b = table.of.find(column)
    return [table.weigh_cell(table.by.find(name), b) for name in (row, other)]


def _product(table: CrossTable, first: Floats, other: Floats) -> _Product:
    """The product of two sums of cells, and how it moves with each cell."""
    cells = table.cells.ravel()
    a, b = float(first @ cells), float(other @ cells)
    return a * b, b * first + a * other


def _divide(table: CrossTable, top: _Product, bottom: _Product) -> Summary:
    """A ratio of two products, with the ends of all ratios that the cells do not exclude."""
    across, along = table.covariance @ top[1], table.covariance @ bottom[1]
    variances = (float(top[1] @ across), float(bottom[1] @ along))
    covariance = float(top[1] @ along)
    low, high = fieller_within(top[0], bottom[0], variances, covariance, (1 - table.level) / 2, _RATIOS)
    value = max(top[0] / bottom[0], 0.0) if bottom[0] > 0 else math.nan
    error = ratio_error(top[0], bottom[0], variances, covariance)
    return Summary(value, error, low, high, is_ratio=True)
