"""Draws lines with error bars that stay in their panel: what is cut ends in an arrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEYOND = 2.0  # how far a logarithmic panel reaches below and above its points, as a factor
_LONGEST = 4.0  # how far a bar may reach below its point there, as a factor
_ARROW = 3.5  # points


class Curve(NamedTuple):
    """Points with errors, and how they look."""

    x: Sequence[float]
    y: Sequence[float]
    reach: Sequence[float]
    label: str
    look: dict[str, Any]


def find_ends(heights: Sequence[float]) -> tuple[float, float]:
    """Where a logarithmic axis begins and ends that has room for these."""
    positive = [y for y in heights if math.isfinite(y) and y > 0]
    return min(positive, default=0.1) / _BEYOND, max(positive, default=1.0) * _BEYOND


def draw_curves(
    axes: Axes, curves: Sequence[Curve], ends: tuple[float, float] | None = None, log: bool = True
) -> None:
    """Draw all of them on an axis that their points choose, unless its ends are given.

    On a logarithmic axis a bar to 0 or below would run through the panel. There a bar ends at a quarter of
    its point at the latest, everywhere at the edge, and an arrow says that it goes on. A point at 0 is an
    arrow at the edge.
    """
    low, high = ends or find_ends([y for curve in curves for y in curve.y])
    axes.set_yscale("log" if log else "linear")
    axes.set_ylim(low, high)
    for curve in curves:
        x, y, reach = (np.asarray(numbers, dtype=np.float64) for numbers in (curve.x, curve.y, curve.reach))
        least = np.maximum(y / _LONGEST, low) if log else np.full(y.size, low)
        nothing = log & (y <= 0)
        y = np.where(nothing, np.nan, y)
        bars = [np.minimum(reach, y - least), np.minimum(reach, high - y)]
        axes.errorbar(
            x, y, np.maximum(bars, 0.0), label=curve.label, capsize=1.5, elinewidth=0.8, **curve.look
        )
        ends_below = np.where(nothing, low, least)
        for cut, edge, marker in (
            (nothing | (y - reach < least), ends_below, "v"),
            (y + reach > high, np.full(y.size, high), "^"),
        ):
            if cut.any():
                arrow = {"color": curve.look["color"], "markersize": _ARROW, "clip_on": False}
                axes.plot(x[cut], edge[cut], marker, linestyle="none", **arrow)
