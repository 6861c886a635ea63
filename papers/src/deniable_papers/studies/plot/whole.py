"""Draws what whole reports gain, never computes: a panel per dataset, a curve per method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.formatting import format_count
from deniable.plot.errors import Curve, draw_curves
from deniable.plot.figure import drawable, grouped, panels
from deniable.plot.looks import looks
from deniable_papers.studies.whole import METHODS, WholePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.5)
_ROOM = 2.0  # points beyond the outermost bars


def plot_gains(rows: Sequence[WholePoint]) -> Figure:
    """The part of the composite error that whole reports take away."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(METHODS)
    bars = [(100 * (row.gain or 0.0), 200 * (row.gain_stderr or 0.0)) for row in done]
    low = min(0.0, *(middle - reach for middle, reach in bars)) - _ROOM
    high = max(0.0, *(middle + reach for middle, reach in bars)) + _ROOM

    def draw(axes: Axes, members: Sequence[WholePoint]) -> None:
        curves = []
        for method, line in grouped(members, lambda row: row.method).items():
            line.sort(key=lambda row: row.epsilon)
            heights = [math.nan if row.gain is None else 100 * row.gain for row in line]
            reach = [200 * (row.gain_stderr or 0.0) for row in line]
            curves.append(Curve([row.epsilon for row in line], heights, reach, method, look_of[method]))
        draw_curves(axes, curves, (low, high), log=False)
        axes.axhline(0.0, color="gray", linewidth=0.8)
        axes.set_xlabel("epsilon per record")
        axes.set_ylabel("squared error taken away (%)")

    groups = grouped(done, lambda row: f"{row.dataset}: n = {row.n:,} people, d = {row.d}")
    how = f"{format_count(done[0].runs, 'run')}, seed {done[0].seed}, bars of two standard errors"
    title = f"Most likely shares: whole reports against tallies\n{how}"
    return panels(groups, draw, title, size=_SIZE, legend_columns=2)
