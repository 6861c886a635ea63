"""Compares rows of a table: means of numbered answers, relative risks and ratios of odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from deniable.arrays import Floats
from deniable.cross.sides import Side
from deniable.cross.tails import ODDS, RATIO, Comparison
from deniable.errors import InvalidParameter
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_within, ratio_error

_RATIOS = (0.0, math.inf)
_Product = tuple[float, Floats]


class Cells(Protocol):
    """The cells of a table and their errors, as far as comparisons of its rows read them."""

    @property
    def by(self) -> Side:
        """The question whose answers are the rows."""

    @property
    def of(self) -> Side:
        """The question whose answers are the columns."""

    @property
    def cells(self) -> Floats:
        """The unbiased shares of all people, by rows and columns."""

    @property
    def covariance(self) -> Floats:
        """The covariance of the cells, row by row."""

    @property
    def level(self) -> float:
        """The confidence level of intervals."""

    def weigh_cell(self, a: int, b: int) -> tuple[Floats, Floats]:
        """The weights of one cell, and of its whole row."""

    def compare_counts(
        self, comparison: Comparison, a: int, other: int, b: int, points_of: str = ""
    ) -> Summary | None:
        """Compare a column's shares in two rows by their counts; None where normal errors are as good."""


class _RowMean(NamedTuple):
    summary: Summary
    center: float
    """The mean, or the middle of its interval where nothing is known of it."""
    slopes: Floats
    """How it moves with the cells, to first order."""
    is_known: bool


def find_mean(table: Cells, row: str, positions: Sequence[float] | None = None) -> Summary:
    """The mean of the answers' positions among a row's people, with Fieller's interval."""
    return _read_mean(table, row, positions).summary


def find_mean_difference(
    table: Cells, row: str, other: str, positions: Sequence[float] | None = None
) -> Summary:
    """How much larger the mean is in one row than in another.

    Ends are combined as Zou and Donner (2008) do: by how far each interval reaches on its own side.
    """
    first, second = (_read_mean(table, name, positions) for name in (row, other))
    is_known = first.is_known and second.is_known
    errors = [
        math.sqrt(max(float(mean.slopes @ table.covariance @ mean.slopes), 0.0)) for mean in (first, second)
    ]
    covariance = float(first.slopes @ table.covariance @ second.slopes)
    # where a row says nothing, its mean may be anything, however the other one errs
    correlation = -1.0
    if is_known:
        correlation = min(max(covariance / (errors[0] * errors[1]), -1.0), 1.0) if min(errors) > 0 else 0.0
    value = first.center - second.center
    down = combine_reaches(first.center - first.summary.low, second.summary.high - second.center, correlation)
    up = combine_reaches(first.summary.high - first.center, second.center - second.summary.low, correlation)
    error = float(combine_reaches(errors[0], errors[1], correlation)) if is_known else math.inf
    within = first.summary.within + second.summary.within
    return Summary(value if is_known else math.nan, error, float(value - down), float(value + up), within)


def _read_mean(table: Cells, row: str, positions: Sequence[float] | None) -> _RowMean:
    if positions is None and table.of.no_mean:
        raise InvalidParameter(
            f"{table.of.name!r} has no mean: {table.of.no_mean}; give positions=[...], a number for each of "
            f"its {table.of.size} columns"
        )
    a, points = table.by.find(row), table.of.positions(positions)
    within = 0.0 if positions is not None else table.of.within
    # shares of a row add up to 1: only distances from here are estimated
    middle = float(points.min() + points.max()) / 2
    top, bottom = np.zeros(table.cells.shape), np.zeros(table.cells.shape)
    top[a], bottom[a] = points - middle, 1.0
    weights = np.array([top.ravel(), bottom.ravel()])
    x, y = (weights @ table.cells.ravel()).tolist()
    error = weights @ table.covariance @ weights.T
    variances, covariance = (float(error[0, 0]), float(error[1, 1])), float(error[0, 1])
    limits = float(points.min()) - middle, float(points.max()) - middle
    low, high = fieller_within(x, y, variances, covariance, (1 - table.level) / 2, limits)
    is_known = y > 0 and (low > limits[0] or high < limits[1])
    value = min(max(x / y, limits[0]), limits[1]) if y > 0 else math.nan
    slopes = (weights[0] - x / y * weights[1]) / y if y > 0 else np.zeros(table.cells.size)
    center = min(max(value, low), high) if is_known else (low + high) / 2
    summary = Summary(
        middle + value, ratio_error(x, y, variances, covariance), middle + low, middle + high, within
    )
    return _RowMean(summary, middle + center, slopes, is_known)


def find_ratio(table: Cells, row: str, other: str, column: str | None) -> Summary:
    """How many times as large a column's share is in one row as in another (the relative risk)."""
    counted = _compare_counts(table, RATIO, row, other, column)
    if counted is not None:
        return counted
    (x, y), (u, v) = _weigh_cells(table, row, other, column)
    # x / y over u / v is one fraction; its top and bottom are products, with their slopes
    return _divide(table, _product(table, x, v), _product(table, u, y))


def find_odds(table: Cells, row: str, other: str, column: str | None) -> Summary:
    """The ratio of odds, of the column against all others, in one row and in another."""
    counted = _compare_counts(table, ODDS, row, other, column)
    if counted is not None:
        return counted
    (x, y), (u, v) = _weigh_cells(table, row, other, column)
    return _divide(table, _product(table, x, v - u), _product(table, u, y - x))


def _compare_counts(
    table: Cells, comparison: Comparison, row: str, other: str, column: str | None
) -> Summary | None:
    pair = table.by.find(row), table.by.find(other)
    return table.compare_counts(comparison, *pair, table.of.find(column))


def _weigh_cells(table: Cells, row: str, other: str, column: str | None) -> list[tuple[Floats, Floats]]:
    b = table.of.find(column)
    return [table.weigh_cell(table.by.find(name), b) for name in (row, other)]


def _product(table: Cells, first: Floats, other: Floats) -> _Product:
    """The product of two sums of cells, and how it moves with each cell."""
    cells = table.cells.ravel()
    a, b = float(first @ cells), float(other @ cells)
    return a * b, b * first + a * other


def _divide(table: Cells, top: _Product, bottom: _Product) -> Summary:
    """A ratio of two products, with the ends of all ratios that the cells do not exclude."""
    across, along = table.covariance @ top[1], table.covariance @ bottom[1]
    variances = (float(top[1] @ across), float(bottom[1] @ along))
    covariance = float(top[1] @ along)
    low, high = fieller_within(top[0], bottom[0], variances, covariance, (1 - table.level) / 2, _RATIOS)
    value = max(top[0] / bottom[0], 0.0) if bottom[0] > 0 else math.nan
    error = ratio_error(top[0], bottom[0], variances, covariance)
    return Summary(value, error, low, high, is_ratio=True)


def combine_reaches(reach: Floats | float, other: Floats | float, correlation: Floats | float) -> Floats:
    """How far a difference reaches, of two numbers that reach this far and depend on each other so much."""
    return np.asarray(np.sqrt(np.maximum(reach**2 + other**2 - 2 * correlation * reach * other, 0.0)))
