"""Draws the geometric study, never computes: measured error of each channel against epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.plot.figure import drawable, grouped, looks, panels
from deniable.studies import geometric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.5)
_MOST_PANELS = 24
_ABOVE = 4.0
"""How far above the largest measured error a panel reaches: what is expected can be many powers of ten above
that.
"""


def geometric_plot(rows: Sequence[geometric.ChannelPoint]) -> Figure:
    """Measured errors with two standard errors (solid), and what is expected of many people (dotted).

    An expected error beyond the panel is a triangle at its upper edge; a channel without one is named in the
    corner.
    """
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(geometric.CHANNELS)

    def draw(axes: Axes, members: Sequence[geometric.ChannelPoint]) -> None:
        top = _ABOVE * max((row.mse for row in members if row.mse), default=1.0)
        for position, (channel, line) in enumerate(grouped(members, lambda row: row.channel).items()):
            drawn = sorted((row for row in line if row.refused is None), key=lambda row: row.epsilon)
            epsilons, look = [row.epsilon for row in drawn], look_of[channel]
            heights = [math.nan if row.mse is None else row.mse for row in drawn]
            reach = [2 * (row.mse_stderr or 0.0) for row in drawn]
            axes.errorbar(epsilons, heights, reach, label=channel, capsize=1.5, elinewidth=0.8, **look)
            expected = [_per_share(row) for row in drawn]
            axes.plot(epsilons, expected, color=look["color"], linestyle=":", linewidth=0.9)
            beyond = [epsilon for epsilon, error in zip(epsilons, expected, strict=True) if error > top]
            if beyond:  # hollow and of different sizes, so that several at one position are seen
                edge = {"color": look["color"], "markerfacecolor": "none", "markersize": 5 + 2 * position}
                axes.plot(beyond, [top] * len(beyond), "^", clip_on=False, in_layout=False, **edge)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(top=top)
        axes.set_xlabel("epsilon per step")
        axes.set_ylabel("MSE of a share")
        axes.text(0.02, 0.02, _absent(members), transform=axes.transAxes, fontsize=7, in_layout=False)

    shown = {f"{row.prior}, n = {row.n}" for row in done}
    groups = {
        name: group
        for name, group in grouped(rows, lambda row: f"{row.prior}, n = {row.n}").items()
        if name in shown
    }
    first = done[0]
    how = f"{first.people:,} people, {first.runs:,} runs, seed {first.seed}"
    title = (
        "Most likely shares through channels that keep one promise to neighbors; dotted: for many "
        f"people\n(triangle: beyond the panel)\n{how}"
    )
    return panels(groups, draw, title, most=_MOST_PANELS, size=_SIZE, legend_columns=2)


def _per_share(row: geometric.ChannelPoint) -> float:
    return math.nan if row.l2 is None else row.l2 / (row.people * (row.n + 1))


def _absent(members: Sequence[geometric.ChannelPoint]) -> str:
    """Lists at the left the channels whose error is infinite, and at which epsilons."""
    missing = grouped(
        (row for row in members if row.refused == geometric.UNDETERMINED), lambda row: row.channel
    )
    lines = [
        f"{channel} at {', '.join(f'{row.epsilon:g}' for row in line)}" for channel, line in missing.items()
    ]
    return "\n".join(["not drawn, infinite:", *lines] if lines else [])
