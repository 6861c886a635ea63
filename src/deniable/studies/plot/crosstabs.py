"""Draws the study of tables, never computes: a panel per figure and epsilon, what is stated beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.plot.figure import drawable, grouped, panels
from deniable.plot.looks import looks
from deniable.studies.crosstabs import CrosstabPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.2, 3.8)
_MOST_PANELS = 24
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


def plot_crosstabs(rows: Sequence[CrosstabPoint]) -> Figure:
    """Each method's numbers with two standard errors; hollow gray diamonds are what is stated."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(dict.fromkeys(row.method for row in done))

    def draw(axes: Axes, members: Sequence[CrosstabPoint]) -> None:
        cases = list(dict.fromkeys(_name_case(row) for row in members))
        if members[0].figure not in _LINEAR:
            axes.set_yscale("log")
        methods = grouped(members, lambda row: row.method)
        for number, (method, line) in enumerate(methods.items()):
            beside = (number - (len(methods) - 1) / 2) * 0.7 / len(methods)
            at = [cases.index(_name_case(row)) + beside for row in line]
            look: dict[str, Any] = {**look_of[method], "linestyle": "none"}
            reach = [2 * row.stderr for row in line]
            values = [row.value for row in line]
            axes.errorbar(at, values, reach, label=method, capsize=1.5, elinewidth=0.8, **look)
            known = [(x, row.stated) for x, row in zip(at, line, strict=True) if row.stated is not None]
            hollow: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
            if known:
                axes.plot(*zip(*known, strict=True), "D", label="the specification", markersize=9, **hollow)
        axes.set_xticks(range(len(cases)), cases, rotation=30, ha="right", fontsize=7)
        axes.set_ylabel(_LABELS.get(members[0].figure, ""))

    groups = grouped(done, lambda row: f"{row.figure}, epsilon = {row.epsilon:g}")
    title = "Tables of two answers: ours beside the specification (hollow)"
    return panels(groups, draw, title, columns=2, most=_MOST_PANELS, size=_SIZE, legend_columns=3)


def _name_case(row: CrosstabPoint) -> str:
    is_fixed = row.people is None or row.figure in ("example", "adult", "classifier")
    return row.case if is_fixed else f"{row.case}, n = {row.people:,}"
