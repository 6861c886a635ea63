"""Draws the geometric study, never computes: measured error of each channel against epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from deniable.plot.charts import panels
from deniable_papers.curves import Curve, draw_curves, drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies import geometric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.5)
_MOST_PANELS = 24
_WIDE = 52  # letters above a panel
_BELOW = 2.0  # how far below the smallest measured error a panel begins
_ABOVE = 4.0
"""How far above the largest measured error a panel reaches: what is expected can be many powers of ten above
that.
"""


def geometric_plot(rows: Sequence[geometric.ChannelPoint]) -> Figure:
    """Measured errors with two standard errors (solid), and what is expected of many people (dotted).

    An expected error beyond the panel is a triangle at its upper edge; a channel without one is named above
    the panel.
    """
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(geometric.CHANNELS)

    def draw(axes: Axes, members: Sequence[geometric.ChannelPoint]) -> None:
        measured = [row.mse for row in members if row.mse]
        low, top = min(measured, default=1.0) / _BELOW, _ABOVE * max(measured, default=1.0)
        lines = {
            channel: sorted((row for row in line if row.refused is None), key=lambda row: row.epsilon)
            for channel, line in grouped(members, lambda row: row.channel).items()
        }
        draw_curves(axes, [_curve(line, look_of[name]) for name, line in lines.items() if line], (low, top))
        for position, (channel, drawn) in enumerate(lines.items()):
            epsilons, look = [row.epsilon for row in drawn], look_of[channel]
            expected = [_per_share(row) for row in drawn]
            axes.plot(epsilons, expected, color=look["color"], linestyle=":", linewidth=0.9)
            beyond = [epsilon for epsilon, error in zip(epsilons, expected, strict=True) if error > top]
            if beyond:  # hollow and of different sizes, so that several at one position are seen
                edge = {"color": look["color"], "markerfacecolor": "none", "markersize": 5 + 2 * position}
                axes.plot(beyond, [top] * len(beyond), "^", clip_on=False, in_layout=False, **edge)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon per step")
        axes.set_ylabel("mean squared error of a share")

    shown = {f"{row.prior}, n = {row.n}" for row in done}
    groups = {
        "\n".join([name, *_list_absent(group)]): group
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


def _curve(line: Sequence[geometric.ChannelPoint], look: dict[str, Any]) -> Curve:
    heights = [math.nan if row.mse is None else row.mse for row in line]
    reach = [2 * (row.mse_stderr or 0.0) for row in line]
    return Curve([row.epsilon for row in line], heights, reach, line[0].channel, look)


def _list_absent(members: Sequence[geometric.ChannelPoint]) -> list[str]:
    """The channels whose error is infinite, and at which epsilons: lines above a panel."""
    missing = grouped(
        (row for row in members if row.refused == geometric.UNDETERMINED), lambda row: row.channel
    )
    named = [
        f"{channel} at {', '.join(f'{row.epsilon:g}' for row in line)}" for channel, line in missing.items()
    ]
    return wrap(f"not drawn, infinite: {'; '.join(named)}", _WIDE) if named else []
