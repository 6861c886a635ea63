"""Draws the errors of forecasts of demand by epsilon, never computes: a panel per dataset and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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


class _Drawn(NamedTuple):
    """A row for one of the two errors; all else is the row's."""

    row: DemandPoint
    measure: str
    refused: None = None

    @property
    def error(self) -> float:
        """The mean absolute error, or the root of the mean squared one."""
        return self.row.mae if self.measure == "MAE" else self.row.rmse


_LINES = Lines(
    title=lambda _: "Demand by region, from sanitized regions",
    panel=lambda drawn: f"{drawn.row.dataset}, {drawn.row.protocol.upper()}: {drawn.measure}",
    kind=lambda drawn: f"{drawn.row.dataset} {drawn.measure}",
    line=lambda drawn: drawn.row.model,
    x=lambda drawn: drawn.row.epsilon,
    y=lambda drawn: drawn.error,
    reach=lambda drawn: 2 * drawn.row.mae_sd if drawn.measure == "MAE" else 0.0,
    level=lambda drawn: _draw_level(drawn.row),
    ticks=lambda epsilon: f"{epsilon:g}",
    labels=("epsilon of a record", "error, records"),
    layout={"columns": 2, "legend_columns": 2},
)


def plot_demand(rows: Sequence[DemandPoint]) -> Figure:
    """Each model's MAE, with two standard deviations, and RMSE by epsilon; level lines are exact counts."""
    drawn = [row for row in rows if row.epsilon is None or row.model != _NOT_DRAWN]
    return plot_lines(_LINES, [_Drawn(row, measure) for row in drawn for measure in ("MAE", "RMSE")])
