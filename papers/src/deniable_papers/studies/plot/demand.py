"""Draws the errors of forecasts of demand by epsilon, never computes: a panel per dataset and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.plot.figure import drawable, grouped, panels
from deniable.plot.looks import looks
from deniable_papers.studies.applications.demand import DemandPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVELS = {
    "last week": ("last week, exact counts", "-."),
    "total x share": ("total x share, exact counts", "--"),
    "oracle": ("the true means", ":"),
}
"""What is drawn across a panel, with its label and its dashes."""
_NOT_DRAWN = "last week"
"""One noisy count is so far off that nothing else could be seen."""


def plot_demand(rows: Sequence[DemandPoint]) -> Figure:
    """Each model's error at each epsilon, with two standard deviations; level lines are exact counts."""
    done = drawable([row for row in rows if row.refused is None])
    noisy = [row for row in done if row.epsilon is not None and row.model != _NOT_DRAWN] or done
    look_of = looks(dict.fromkeys(row.model for row in noisy))

    def draw(axes: Axes, members: Sequence[DemandPoint]) -> None:
        for model, line in grouped(members, lambda row: row.model).items():
            points = [row for row in line if row.epsilon is not None]
            where = [row.epsilon or 0.0 for row in points]
            values = [row.mae for row in points]
            reach = [2 * row.mae_sd for row in points]
            axes.errorbar(where, values, reach, label=model, capsize=1.5, elinewidth=0.8, **look_of[model])
        exact = [row for row in done if row.epsilon is None and row.dataset == members[0].dataset]
        for row in exact:
            if row.model in _LEVELS:
                label, dashes = _LEVELS[row.model]
                axes.axhline(row.mae, color="gray", linestyle=dashes, linewidth=0.9, label=label)
        axes.set_xscale("log")
        budgets = sorted({row.epsilon for row in members if row.epsilon is not None})
        axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
        axes.minorticks_off()
        axes.set_xlabel("epsilon of a record")
        axes.set_ylabel("mean absolute error, records")

    groups = grouped(noisy, lambda row: f"{row.dataset}, {row.protocol.upper()}")
    return panels(groups, draw, "Demand by region, from sanitized regions", columns=2, legend_columns=2)
