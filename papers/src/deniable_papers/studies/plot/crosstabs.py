"""Draws the study of tables, never computes: a panel per figure and epsilon, what is stated beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable_papers.studies.plot.stated import Drawing, plot_stated
from deniable_papers.studies.stated import StatedPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINEAR = ("coverage", "size", "power", "classifier")
_LABELS = {
    "designs": "people x variance of a cell",
    "coverage": "how often 95 % intervals hold",
    "widths": "median width of an interval",
    "size": "rejected, though independent",
    "power": "rejected, and dependent",
    "adult": "error of a cell x 1000",
    "example": "half width, points",
    "people": "people needed",
    "classifier": "area under the curve",
}


def plot_crosstabs(rows: Sequence[StatedPoint]) -> Figure:
    """Each method's numbers with two standard errors; hollow gray diamonds are what is stated."""
    return plot_stated(rows, Drawing("Tables of two answers", _LABELS, _LINEAR, _name_case))


def _name_case(row: StatedPoint) -> str:
    is_fixed = row.people is None or row.figure in ("example", "adult", "classifier")
    return row.case if is_fixed else f"{row.case}, n = {row.people:,}"
