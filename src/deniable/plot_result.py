"""Draws what reports say, never computes: a panel per attribute, each value's share with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidParameter
from deniable.plot import _STYLE, INK
from deniable.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 24
_MOST_LABELS = 40


def result_plot(result: Result, level: float = 0.95) -> Figure:
    """Every attribute's estimated shares, from left to right in the order of its values."""
    import matplotlib
    from matplotlib.figure import Figure

    if len(result) > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} attributes, got {len(result)}; plot fewer")
    columns = min(len(result), 3)
    lines = -(-len(result) // columns)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(0.6 + 4.6 * columns, 0.8 + 3.4 * lines), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, (name, estimate) in zip(grid, result.items(), strict=False):
            low, high = estimate.interval(level)
            places, middle = np.arange(estimate.k), 100 * estimate.frequencies
            reach = np.stack([middle - 100 * low, 100 * high - middle])
            axes.bar(places, middle, width=0.8, color="#56b4e9", alpha=0.6)
            axes.errorbar(places, middle, reach, color="#d55e00", linestyle="none", capsize=2, elinewidth=1.0)
            axes.axhline(0.0, color=INK, linewidth=0.8)
            if estimate.k <= _MOST_LABELS and estimate.labels is not None:
                labels = [str(label) for label in estimate.labels]
                axes.set_xticks(places, labels, rotation=35, ha="right", rotation_mode="anchor")
            axes.grid(axis="x", visible=False)
            axes.set_ylabel("share of people, %")
            axes.set_title(f"{name}: {estimate.n:,} reports", loc="left")
        for axes in grid[len(result) :]:
            axes.set_axis_off()
        title = f"Estimated shares with {100 * level:g} % intervals, plan {result.plan_id[:8]}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure
