"""Groups rows, and draws their curves with errors and axes of values, as studies show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from deniable.errors import InvalidParameter
from deniable.plot.figure import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEYOND = 2.0  # how far a logarithmic panel reaches below and above its points, as a factor
_LONGEST_BAR = 4.0  # how far a bar may reach below its point there, as a factor
_ARROW = 3.5  # points
_Member = TypeVar("_Member")


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
        least = np.maximum(y / _LONGEST_BAR, low) if log else np.full(y.size, low)
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


def drawable(rows: Sequence[_Member]) -> Sequence[_Member]:
    """Refuse to draw nothing."""
    if not rows:
        raise InvalidParameter("there is nothing to plot: every row was refused")
    return rows


def value_axis(axes: Axes, k: int, labels: Sequence[object] | None, most_labels: int) -> None:
    """A zero line, and the values' names below where there is room for them; else whole numbers."""
    axes.axhline(0.0, color=INK, linewidth=0.8)
    if labels is not None and k <= most_labels:
        axes.set_xticks(
            range(k), [str(label) for label in labels], rotation=35, ha="right", rotation_mode="anchor"
        )
    else:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))  # there is no value between two others
    axes.grid(axis="x", visible=False)


def grouped(members: Iterable[_Member], key: Callable[[_Member], str]) -> dict[str, list[_Member]]:
    """Members by key, in order of appearance."""
    groups: dict[str, list[_Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups
