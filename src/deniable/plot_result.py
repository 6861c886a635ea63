"""Draws what reports say, never computes: a panel per attribute, a line per value with its share and its interval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.domain import Domain
from deniable.errors import InvalidParameter, counted
from deniable.estimate import Estimate, MeanEstimate
from deniable.figure import ESTIMATE, INK, TRUTH, style
from deniable.grid import Grid
from deniable.law import Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 24
_MOST_VALUES = 100  # of an attribute with more, the largest shares are shown
_LARGEST_SHARES = 40
_COLUMNS = 3
_MAP, _LINE = 2.3, 0.19  # inches: how tall a map is, and a value's line in every panel
_WIDE, _RIGHT, _BELOW = 2.9, 0.25, 0.62  # inches: a panel, what is right of it, and what is below
_LETTER, _TEXT = 0.068, 0.165  # inches: a letter of the usual width, and a line of text


class _Panel(NamedTuple):
    name: str
    estimate: Estimate | MeanEstimate
    values: Integers
    """Those that there is room for, in order."""
    grid: Grid | None = None
    """Whose cells the values are."""

    @property
    def title(self) -> list[str]:
        """In lines that the panel has room for."""
        n = self.estimate.n
        text = f"{self.name}: {counted(n, 'report')}"
        if isinstance(self.estimate, Estimate) and self.grid is None and len(self.values) < self.estimate.k:
            text += f", the {len(self.values)} largest of {self.estimate.k:,} shares"
        return wrap(text, round((_WIDE + _RIGHT) / _LETTER)) or [""]

    @property
    def labels(self) -> list[str]:
        """Of the values that are shown."""
        if isinstance(self.estimate, MeanEstimate):
            return ["mean"]
        labels = range(self.estimate.k) if self.estimate.labels is None else self.estimate.labels
        return [_short(str(labels[v])) for v in self.values]

    @property
    def left(self) -> float:
        """Inches that the labels take."""
        return 0.75 if self.grid is not None else 0.2 + _LETTER * max(map(len, self.labels))

    @property
    def above(self) -> float:
        return 0.12 + _TEXT * (len(self.title) + (self.grid is not None))

    @property
    def body(self) -> float:
        return _MAP if self.grid is not None else _LINE * len(self.values)

    @property
    def height(self) -> float:
        return self.above + self.body + _BELOW


def shares_plot(
    estimates: Mapping[str, Estimate],
    title: str,
    level: float = 0.95,
    means: Mapping[str, MeanEstimate] | None = None,
    domains: Mapping[str, Domain] | None = None,
) -> Figure:
    """Every attribute's estimated shares, from top to bottom in the order of its values; means, a line each; places, a map.

    Panels go down one column and then the next, in the order of the attributes. All sizes are in inches, so that a value's
    bar is as thick in every panel.
    """
    from matplotlib.figure import Figure

    found = len(estimates) + len(means or {})
    if found > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} attributes, got {found}; plot fewer")
    panels = [
        _Panel(name, estimate, _shown(estimate), _grid_of((domains or {}).get(name), estimate))
        for name, estimate in estimates.items()
    ]
    panels += [_Panel(name, mean, np.arange(1)) for name, mean in (means or {}).items()]
    order = {name: place for place, name in enumerate(domains or {})}
    panels.sort(key=lambda panel: order.get(panel.name, len(order)))
    columns = _columns(panels)
    lefts = [max(panel.left for panel in column) for column in columns]
    wide = sum(lefts) + len(columns) * (_WIDE + _RIGHT)
    heading = [*wrap(title, round(wide / _LETTER / 1.15)), f"estimated shares with {100 * level:g} % intervals"]
    top = 0.2 + 1.15 * _TEXT * len(heading)
    tall = top + max(map(_tall, columns))
    with style():
        figure = Figure(figsize=(wide, tall))
        figure.suptitle("\n".join(heading), x=0.1 / wide, y=1 - 0.1 / tall, ha="left", va="top", fontsize=10)
        x = 0.0
        for left, column in zip(lefts, columns, strict=True):
            x, y = x + left, tall - top
            for panel in column:
                y -= panel.above + panel.body
                axes = figure.add_axes((x / wide, y / tall, _WIDE / wide, panel.body / tall))
                _draw(axes, panel, level)
                y -= _BELOW
            x += _WIDE + _RIGHT
    return figure


def _shown(estimate: Estimate) -> Integers:
    if estimate.k <= _MOST_VALUES:
        return np.arange(estimate.k)
    return np.sort(np.argsort(-estimate.frequencies, kind="stable")[:_LARGEST_SHARES])


def _columns(panels: list[_Panel]) -> list[list[_Panel]]:
    """In order, down one column and then the next, so that the tallest is as short as can be."""
    n = len(panels)
    ways = [(0, *cuts, n) for cuts in combinations(range(1, n), min(n, _COLUMNS) - 1)]
    found = [[panels[start:end] for start, end in pairwise(way)] for way in ways]
    return min(found, key=lambda columns: max(map(_tall, columns)))


def _tall(column: list[_Panel]) -> float:
    return sum(panel.height for panel in column)


def _draw(axes: Axes, panel: _Panel, level: float) -> None:
    _, estimate, values, grid = panel
    axes.set_title("\n".join(panel.title), loc="left")
    if grid is not None and isinstance(estimate, Estimate):
        _draw_map(axes, panel.title, estimate, grid, level)
        return
    if isinstance(estimate, MeanEstimate):
        _draw_mean(axes, estimate, level)
        return
    low, high = (100 * end[values] for end in estimate.interval(level))
    middle, places = 100 * estimate.frequencies[values], np.arange(len(values))
    axes.barh(places, middle, height=0.8, color=TRUTH, alpha=0.6)
    axes.errorbar(middle, places, xerr=[middle - low, high - middle], color=ESTIMATE, linestyle="none", capsize=2, elinewidth=1)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(places, panel.labels)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of people, %")


def _grid_of(domain: Domain | None, estimate: Estimate) -> Grid | None:
    return domain if isinstance(domain, Grid) and domain.k == estimate.k else None


def _draw_map(axes: Axes, title: list[str], estimate: Estimate, grid: Grid, level: float) -> None:
    """Cells, the north at the top; how wide the intervals are is said above."""
    low, high = estimate.interval(level)
    shares = 100 * estimate.frequencies.reshape(grid.rows, grid.columns)
    most = float(np.abs(shares).max())
    east = grid.east if grid.east > grid.west else grid.east + 360
    box = (grid.west, east, grid.south, grid.north)
    drawn = axes.imshow(shares, origin="lower", extent=box, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most)
    axes.figure.colorbar(drawn, ax=axes, label="share of people, %")
    axes.grid(visible=False)
    axes.set_xlabel("longitude")
    axes.set_ylabel("latitude")
    reach = 100 * float((high - low).mean()) / 2
    axes.set_title("\n".join([*title, f"± {reach:.1f} points on average"]), loc="left")


def _draw_mean(axes: Axes, mean: MeanEstimate, level: float) -> None:
    low, high = mean.interval(level)
    axes.errorbar([mean.mean], [0], xerr=[[mean.mean - low], [high - mean.mean]], color=ESTIMATE, marker="o", capsize=2)
    axes.set_yticks([0], ["mean"])
    axes.set_ylim(0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean, in its own unit")


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"
