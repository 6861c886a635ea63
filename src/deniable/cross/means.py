"""Estimates the mean of numbered answers among a row's people, and how much larger it is in one row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.arrays import Floats
from deniable.cross.change import combine_reaches
from deniable.errors import InvalidParameter
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_within, ratio_error

if TYPE_CHECKING:
    from deniable.cross.table import CrossTable


class _RowMean(NamedTuple):
    summary: Summary
    center: float
    """The mean, or the middle of its interval where nothing is known of it."""
    slopes: Floats
    """How it moves with the cells, to first order."""
    is_known: bool


def find_mean(table: CrossTable, row: str, positions: Sequence[float] | None = None) -> Summary:
    """The mean of the answers' positions among a row's people, with Fieller's interval."""
    return _read_mean(table, row, positions).summary


def find_mean_difference(
    table: CrossTable, row: str, other: str, positions: Sequence[float] | None = None
) -> Summary:
    """How much larger the mean is in one row than in another.

    Ends are combined as Zou and Donner (2008) do: by how far each interval reaches on its own side.
    """
    first, two = (_read_mean(table, name, positions) for name in (row, other))
    is_known = first.is_known and two.is_known
    errors = [
        math.sqrt(max(float(mean.slopes @ table.covariance @ mean.slopes), 0.0)) for mean in (first, two)
    ]
    covariance = float(first.slopes @ table.covariance @ two.slopes)
    # where a row says nothing, its mean may be anything, however the other one errs
    correlation = -1.0
    if is_known:
        correlation = min(max(covariance / (errors[0] * errors[1]), -1.0), 1.0) if min(errors) > 0 else 0.0
    value = first.center - two.center
    down = combine_reaches(first.center - first.summary.low, two.summary.high - two.center, correlation)
    up = combine_reaches(first.summary.high - first.center, two.center - two.summary.low, correlation)
    error = float(combine_reaches(errors[0], errors[1], correlation)) if is_known else math.inf
    within = first.summary.within + two.summary.within
    return Summary(value if is_known else math.nan, error, float(value - down), float(value + up), within)


def _read_mean(table: CrossTable, row: str, positions: Sequence[float] | None) -> _RowMean:
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
