"""Draws what reports say, never computes: a panel per attribute, each value's share with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.estimate import Estimate
from deniable.figure import ESTIMATE, TRUTH, panels, value_axis
from deniable.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 24
_MOST_LABELS = 40


def result_plot(result: Result, level: float = 0.95) -> Figure:
    """Every attribute's estimated shares, from left to right in the order of its values."""

    def draw(axes: Axes, estimate: Estimate) -> None:
        low, high = estimate.interval(level)
        places, middle = np.arange(estimate.k), 100 * estimate.frequencies
        reach = np.stack([middle - 100 * low, 100 * high - middle])
        axes.bar(places, middle, width=0.8, color=TRUTH, alpha=0.6)
        axes.errorbar(places, middle, reach, color=ESTIMATE, linestyle="none", capsize=2, elinewidth=1.0)
        value_axis(axes, estimate.k, estimate.labels, _MOST_LABELS)
        axes.set_ylabel("share of people, %")

    groups = {f"{name}: {estimate.n:,} reports": estimate for name, estimate in result.items()}
    title = f"Estimated shares with {100 * level:g} % intervals, plan {result.plan_id[:8]}"
    return panels(groups, draw, title, most=_MOST_PANELS, what="attributes", size=(4.6, 3.4))
