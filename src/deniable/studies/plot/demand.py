"""Draws the errors of forecasts of demand by epsilon, never computes: a panel per dataset and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.plot.figure import drawable, grouped, panels
from deniable.plot.looks import looks
from deniable.studies.applications.demand import DemandPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1)))


def plot_demand(rows: Sequence[DemandPoint]) -> Figure:
    """Each model's error at each epsilon, with two standard deviations; level lines are exact counts."""
    done = drawable([row for row in rows if row.refused is None])
    noisy = [row for row in done if row.epsilon is not None] or done
    look_of = looks(dict.fromkeys(row.model for row in done))

    def draw(axes: Axes, members: Sequence[DemandPoint]) -> None:
        for model, line in grouped(members, lambda row: row.model).items():
            points = [row for row in line if row.epsilon is not None]
            where = [row.epsilon or 0.0 for row in points]
            values = [row.mae for row in points]
            reach = [2 * row.mae_sd for row in points]
            axes.errorbar(where, values, reach, label=model, capsize=1.5, elinewidth=0.8, **look_of[model])
        exact = [row for row in done if row.epsilon is None and row.dataset == members[0].dataset]
        for row, dashes in zip(exact, _DASHES, strict=False):
            label = "oracle" if row.model == "oracle" else f"{row.model}, exact counts"
            color = look_of[row.model]["color"]
            axes.axhline(row.mae, color=color, linestyle=dashes, linewidth=0.9, label=label)
        axes.set_xlabel("epsilon of a record")
        axes.set_ylabel("mean absolute error, records")
        axes.set_ylim(bottom=0)

    groups = grouped(noisy, lambda row: f"{row.dataset}, {row.protocol.upper()}")
    return panels(groups, draw, "Demand by region, from sanitized regions", columns=2, legend_columns=2)
