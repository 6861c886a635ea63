"""Draws what reports say, never computes: a panel per attribute, a line per value with its share and its interval."""

from __future__ import annotations

from collections.abc import Mapping
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
_MAP = 3.2  # inches
_LINE, _AROUND = 0.19, 0.85  # inches: a value, and what is above and below a panel


class _Panel(NamedTuple):
    name: str
    estimate: Estimate | MeanEstimate
    values: Integers
    """Those that there is room for, in order."""
    grid: Grid | None = None
    """Whose cells the values are."""

    @property
    def height(self) -> float:
        return _MAP if self.grid is not None else _AROUND + _LINE * len(self.values)


def shares_plot(
    estimates: Mapping[str, Estimate],
    title: str,
    level: float = 0.95,
    means: Mapping[str, MeanEstimate] | None = None,
    domains: Mapping[str, Domain] | None = None,
) -> Figure:
    """Every attribute's estimated shares, from top to bottom in the order of its values; means, a line each; places, a map."""
    from matplotlib.figure import Figure

    found = len(estimates) + len(means or {})
    if found > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} attributes, got {found}; plot fewer")
    panels = [
        _Panel(name, estimate, _shown(estimate), _grid_of((domains or {}).get(name), estimate))
        for name, estimate in estimates.items()
    ]
    panels += [_Panel(name, mean, np.arange(1)) for name, mean in (means or {}).items()]
    columns = _columns(panels)
    tall = max(map(_tall, columns))
    with style():
        figure = Figure(figsize=(0.6 + 4.6 * len(columns), 0.7 + tall), layout="constrained")
        parts = figure.subfigures(1, len(columns), squeeze=False)[0]
        for part, column in zip(parts, columns, strict=True):
            heights = [*(panel.height for panel in column), tall - _tall(column) + 0.01]
            *grid, rest = part.subplots(len(heights), 1, height_ratios=heights)
            rest.set_axis_off()
            for axes, panel in zip(grid, column, strict=True):
                _draw(axes, panel, level)
        figure.suptitle(f"{title}\nestimated shares with {100 * level:g} % intervals", x=0.01, ha="left", fontsize=10)
    return figure


def _shown(estimate: Estimate) -> Integers:
    if estimate.k <= _MOST_VALUES:
        return np.arange(estimate.k)
    return np.sort(np.argsort(-estimate.frequencies, kind="stable")[:_LARGEST_SHARES])


def _columns(panels: list[_Panel]) -> list[list[_Panel]]:
    """Each panel below the shortest column so far."""
    columns: list[list[_Panel]] = [[] for _ in range(min(len(panels), _COLUMNS))]
    for panel in panels:
        min(columns, key=_tall).append(panel)
    return columns


def _tall(column: list[_Panel]) -> float:
    return sum(panel.height for panel in column)


def _draw(axes: Axes, panel: _Panel, level: float) -> None:
    name, estimate, values, grid = panel
    if grid is not None and isinstance(estimate, Estimate):
        _draw_map(axes, name, estimate, grid, level)
        return
    if isinstance(estimate, MeanEstimate):
        _draw_mean(axes, name, estimate, level)
        return
    low, high = (100 * end[values] for end in estimate.interval(level))
    middle, places = 100 * estimate.frequencies[values], np.arange(len(values))
    labels = range(estimate.k) if estimate.labels is None else estimate.labels
    axes.barh(places, middle, height=0.8, color=TRUTH, alpha=0.6)
    axes.errorbar(middle, places, xerr=[middle - low, high - middle], color=ESTIMATE, linestyle="none", capsize=2, elinewidth=1)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(places, [_short(str(labels[v])) for v in values])
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of people, %")
    some = f", the {len(values)} largest of {estimate.k:,} shares" if len(values) < estimate.k else ""
    axes.set_title(f"{name}: {counted(estimate.n, 'report')}{some}", loc="left")


def _grid_of(domain: Domain | None, estimate: Estimate) -> Grid | None:
    return domain if isinstance(domain, Grid) and domain.k == estimate.k else None


def _draw_map(axes: Axes, name: str, estimate: Estimate, grid: Grid, level: float) -> None:
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
    axes.set_title(f"{name}: {counted(estimate.n, 'report')}, ± {reach:.1f} points on average", loc="left")


def _draw_mean(axes: Axes, name: str, mean: MeanEstimate, level: float) -> None:
    low, high = mean.interval(level)
    axes.errorbar([mean.mean], [0], xerr=[[mean.mean - low], [high - mean.mean]], color=ESTIMATE, marker="o", capsize=2)
    axes.set_yticks([0], ["mean"])
    axes.set_ylim(0.6, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"mean of {name}")
    axes.set_title(f"{name}: {counted(mean.n, 'report')}", loc="left")


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"
