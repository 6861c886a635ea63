"""Draws the study of ranges, never computes: variances by fan-out, and errors by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable_papers.studies.plot.stated import Drawing, plot_stated
from deniable_papers.studies.stated import StatedPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {
    "variances": "people x variance / noise of a value",
    "ranges of 1/100": "error of a range x 1000",
    "ranges of 1/10": "error of a range x 1000",
    "cumulative": "error of a cumulative share x 1000",
    "held": "how often 95 % intervals hold",
}


def plot_ranges(rows: Sequence[StatedPoint]) -> Figure:
    """Each method's numbers with two standard errors; hollow gray diamonds are what is stated."""
    return plot_stated(rows, Drawing("Ranges", _LABELS, ("held",), _name_case, _name_panel))


def _name_case(row: StatedPoint) -> str:
    return row.case.rpartition(", ")[2] if row.figure == "variances" else row.case


def _name_panel(row: StatedPoint) -> str:
    if row.figure == "variances":
        return row.case.rpartition(", ")[0]
    return f"{row.figure}, epsilon = {row.epsilon:g}"
