"""Draws the errors of forecasts of demand by epsilon, never computes: a panel per dataset and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable_papers.studies.applications.demand import DemandPoint
from deniable_papers.studies.plot.lines import Lines, plot_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEVELS = {
    "last week": ("last week, exact counts", "-."),
    "total x share": ("total x share, exact counts", "--"),
    "oracle": ("the true means", ":"),
}
"""What is drawn across a panel, with its label and its dashes."""
_NOT_DRAWN = "last week"
"""One noisy count is so far off that nothing else could be seen."""


def _draw_level(row: DemandPoint) -> dict[str, Any] | None:
    if row.epsilon is not None or row.model not in _LEVELS:
        return None
    label, dashes = _LEVELS[row.model]
    return {"color": "gray", "linestyle": dashes, "linewidth": 0.9, "label": label}


_LINES = Lines(
    title=lambda _: "Demand by region, from sanitized regions",
    panel=lambda row: f"{row.dataset}, {row.protocol.upper()}",
    kind=lambda row: row.dataset,
    line=lambda row: row.model,
    x=lambda row: row.epsilon,
    y=lambda row: row.mae,
    reach=lambda row: 2 * row.mae_sd,
    level=_draw_level,
    ticks=lambda epsilon: f"{epsilon:g}",
    labels=("epsilon of a record", "mean absolute error, records"),
    layout={"columns": 2, "legend_columns": 2},
)


def plot_demand(rows: Sequence[DemandPoint]) -> Figure:
    """Each model's error at each epsilon, with two standard deviations; level lines are exact counts."""
    return plot_lines(_LINES, [row for row in rows if row.epsilon is None or row.model != _NOT_DRAWN])
