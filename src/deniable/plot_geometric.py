"""Draws the rows of the geometric study, never computes: the measured error of each channel against epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.figure import drawable, grouped, looks, panels
from deniable.studies import geometric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.5)
_MOST_PANELS = 24


def geometric_plot(rows: Sequence[geometric.Row]) -> Figure:
    """Measured errors with two standard errors (solid), and what is expected of many people (dotted)."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(geometric.CHANNELS)

    def draw(axes: Axes, members: Sequence[geometric.Row]) -> None:
        for channel, line in grouped(members, lambda row: row.channel).items():
            line.sort(key=lambda row: row.epsilon)
            epsilons, look = [row.epsilon for row in line], look_of[channel]
            heights = [math.nan if row.mse is None else row.mse for row in line]
            reach = [2 * (row.mse_stderr or 0.0) for row in line]
            axes.errorbar(epsilons, heights, reach, label=channel, capsize=1.5, elinewidth=0.8, **look)
            expected = [_per_share(row) for row in line]
            axes.plot(epsilons, expected, color=look["color"], linestyle=":", linewidth=0.9)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("epsilon per step")
        axes.set_ylabel("MSE of a share")

    groups = grouped(done, lambda row: f"{row.prior}, n = {row.n}")
    first = done[0]
    how = f"{first.people:,} people, {first.runs:,} runs, seed {first.seed}"
    title = f"Most likely shares through channels with the same promise to neighbors;\ndotted: for many people\n{how}"
    return panels(groups, draw, title, most=_MOST_PANELS, size=_SIZE, legend_columns=2)


def _per_share(row: geometric.Row) -> float:
    return math.nan if row.l2 is None else row.l2 / (row.people * (row.n + 1))
