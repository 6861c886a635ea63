"""Draws what reports say, never computes: a panel per attribute, a line per value with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate
from deniable.plan.panels import (
    BELOW,
    KEYS,
    LETTER,
    MAP_WIDE,
    RIGHT,
    TEXT,
    WIDE,
    Bar,
    Panel,
    height_of,
    in_columns,
    what_is_shown,
)
from deniable.plot.charts import draw_mean
from deniable.plot.figure import ESTIMATE, INK, TRUTH, require_matplotlib, style
from deniable.summaries import groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 24
_MOST_VALUES = 100  # of an attribute with more, the largest shares are shown
_LARGEST_SHARES = 40
_MANY_BINS = 20  # of a range with more, all are drawn side by side
_LINES = ("-.", ":", "--", "-")  # of numbers that are marked


def shares_plot(
    estimates: Mapping[str, Estimate],
    title: str,
    level: float = 0.95,
    means: Mapping[str, MeanEstimate] | None = None,
    domains: Mapping[str, Domain] | None = None,
    bins: bool = False,
    likely: Mapping[str, Mapping[str, Floats]] | None = None,
    positions: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """Every attribute's estimated shares, from top to bottom in the order of its values; means, a line each;
    locations, a map.

    Neighboring bins of a long range, and cells of a large grid, are drawn together, unless all `bins` are
    asked for. `likely` are other shares of the values, by what they are ("mle", "smoothed") and by attribute:
    marks on the bars, and a map of their own each, in place of the estimates. `positions` are numbers of
    ranges, by attribute and name, that are marked: means and quantiles. Panels go down one column and then
    the next, in the order of the attributes. All sizes are in inches, so that a value's bar is as thick
    in every panel.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    found = len(estimates) + len(means or {})
    if found > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} attributes, got {found}; plot fewer")
    panels = []
    for name, estimate in estimates.items():
        others = {of: shares[name] for of, shares in (likely or {}).items() if name in shares}
        for some in _divide_panels(estimate, (domains or {}).get(name), others):
            panel = _panel(name, estimate, (domains or {}).get(name), level, bins, some)
            panels.append(
                panel._replace(positions={} if panel.edges is None else (positions or {}).get(name, {}))
            )
    panels += [Panel(name, mean) for name, mean in (means or {}).items()]
    order = {name: position for position, name in enumerate(domains or {})}
    panels.sort(key=lambda panel: order.get(panel.name, len(order)))
    columns = in_columns(panels)
    lefts = [max(panel.left for panel in column) for column in columns]
    wide = sum(lefts) + len(columns) * (WIDE + RIGHT)
    heading = [*wrap(title, round(wide / LETTER / 1.15)), what_is_shown(panels, level)]
    top = 0.2 + 1.15 * TEXT * len(heading)
    tall = top + max(map(height_of, columns))
    with style():
        figure = Figure(figsize=(wide, tall))
        figure.suptitle("\n".join(heading), x=0.1 / wide, y=1 - 0.1 / tall, ha="left", va="top", fontsize=10)
        x = 0.0
        for left, column in zip(lefts, columns, strict=True):
            x, y = x + left, tall - top
            for panel in column:
                y -= panel.above + panel.body
                width = WIDE if panel.grid is None else MAP_WIDE
                axes = figure.add_axes((x / wide, y / tall, width / wide, panel.body / tall))
                scale = None
                if panel.grid is not None:
                    scale = figure.add_axes(
                        ((x + width + 0.1) / wide, y / tall, 0.12 / wide, panel.body / tall)
                    )
                _draw(axes, panel, level, scale)
                y -= BELOW
            x += WIDE + RIGHT
    return figure


def _divide_panels(
    estimate: Estimate, domain: Domain | None, likely: Mapping[str, Floats]
) -> list[Mapping[str, Floats]]:
    """Which other shares go in one panel: all of them as marks on bars, and one only on a map."""
    if isinstance(domain, Grid) and domain.k == estimate.k and likely:
        return [{of: shares} for of, shares in likely.items()]
    return [likely]


def _panel(
    name: str,
    estimate: Estimate,
    domain: Domain | None,
    level: float,
    bins: bool,
    likely: Mapping[str, Floats],
) -> Panel:
    low, high = estimate.interval(level)
    groups = [] if bins else groups_of(estimate, domain, level)
    if isinstance(domain, Grid) and domain.k == estimate.k:
        of, shares = next(iter(likely.items()), ("", None))
        if groups and not of:
            note = f", {estimate.k:,} cells in {len(groups)} blocks"
            return Panel(name, estimate, note=note, grid=domain, blocks=groups)
        reach = 100 * float((high - low).mean()) / 2
        note = f", {of} shares" if of else f", ± {reach:.1f} points on average"
        return Panel(name, estimate, note=note, grid=domain, shares=shares)
    if groups:
        bars = [
            Bar(
                _short(label),
                one.value,
                one.low,
                one.high,
                {of: float(all_[values].sum()) for of, all_ in likely.items()},
            )
            for label, values, one in groups
        ]
        edges = None
        if isinstance(domain, Range) and domain.k == estimate.k:
            edges = domain.edges[[*(group.values[0] for group in groups), domain.k]]
        return Panel(name, estimate, bars, f", {estimate.k:,} values in {len(bars)} groups", edges=edges)
    shown, note, edges = np.arange(estimate.k), "", None
    if isinstance(domain, Range) and domain.k == estimate.k:
        edges = domain.edges
    many = edges is not None and estimate.k > _MANY_BINS
    if many:
        note = f", {estimate.k:,} bins"
    elif estimate.k > _MOST_VALUES:
        shown = np.sort(np.argsort(-estimate.frequencies, kind="stable")[:_LARGEST_SHARES])
        note = f", the {len(shown)} largest of {estimate.k:,} shares"
    labels = range(estimate.k) if estimate.labels is None else estimate.labels
    bars = []
    for v in shown.tolist():
        share, least, most = (float(end[v]) for end in (estimate.frequencies, low, high))
        bars.append(
            Bar(
                _short(str(labels[v])),
                share,
                least,
                most,
                {of: float(all_[v]) for of, all_ in likely.items()},
            )
        )
    return Panel(name, estimate, bars, note, edges=edges, side_by_side=many)


def _draw(axes: Axes, panel: Panel, level: float, scale: Axes | None) -> None:
    axes.set_title("\n".join(panel.title), loc="left", pad=6 + 72 * panel.keyed)
    if panel.grid is not None and scale is not None:
        _draw_map(axes, scale, panel)
        return
    if isinstance(panel.estimate, MeanEstimate):
        draw_mean(axes, panel.estimate.mean, panel.estimate.interval(level))
        return
    low, middle, high = (100 * np.array([bar[of] for bar in panel.bars]) for of in (2, 1, 3))
    if panel.side_by_side:
        _draw_steps(axes, panel, low, middle, high)
        return
    positions = np.arange(len(panel.bars))
    axes.barh(positions, middle, height=0.8, color=TRUTH, alpha=0.6)
    axes.errorbar(
        middle,
        positions,
        xerr=[middle - low, high - middle],
        color=ESTIMATE,
        linestyle="none",
        capsize=2,
        elinewidth=1,
    )
    for of, marker in zip(panel.bars[0].likely, "oD", strict=False):
        marks = [100 * bar.likely[of] for bar in panel.bars]
        axes.plot(
            marks,
            positions,
            marker,
            color=INK,
            markersize=4,
            markerfacecolor="none",
            label=of,
            linestyle="none",
        )
    for (name, position), line in zip(panel.positions.items(), cycle(_LINES), strict=False):
        # as if people were even in a bar
        at = np.interp(position, np.asarray(panel.edges), np.arange(len(positions) + 1) - 0.5)
        axes.axhline(float(at), color=INK, linewidth=1, linestyle=line, label=f"{name} {position:.4g}")
    _draw_keys(axes, panel)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(positions, [bar.label for bar in panel.bars])
    axes.set_ylim(len(positions) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of people, %")


def _draw_keys(axes: Axes, panel: Panel) -> None:
    """What marks and lines mean, between the title and the axes, where nothing else is."""
    if panel.keyed:
        axes.legend(
            fontsize=7,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=KEYS,
            borderaxespad=0.2,
            borderpad=0.1,
            frameon=False,
        )


def _draw_steps(axes: Axes, panel: Panel, low: Floats, middle: Floats, high: Floats) -> None:
    """Many bins side by side: a step each, their intervals as a band."""
    edges = panel.edges
    assert edges is not None
    axes.stairs(high, edges, baseline=low, fill=True, color=ESTIMATE, alpha=0.25)
    axes.stairs(middle, edges, baseline=None, color=ESTIMATE)
    for of, style_of in zip(panel.bars[0].likely, ("-", "--"), strict=False):
        marks = np.array([100 * bar.likely[of] for bar in panel.bars])
        axes.stairs(marks, edges, baseline=None, color=INK, linestyle=style_of, label=of)
    for (name, position), line in zip(panel.positions.items(), cycle(_LINES), strict=False):
        axes.axvline(position, color=INK, linewidth=1, linestyle=line, label=f"{name} {position:.4g}")
    _draw_keys(axes, panel)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set_ylim(1.05 * min(0.0, low.min()), 1.05 * max(0.0, high.max()))
    axes.set_xlabel("value, in its own unit")
    axes.set_ylabel("share of people, %")


def _draw_map(axes: Axes, scale: Axes, panel: Panel) -> None:
    """Cells, the north at the top, and a scale of their colors, with two if shares are below 0."""
    grid = panel.grid
    assert grid is not None
    assert isinstance(panel.estimate, Estimate)
    shown = (panel.estimate.frequencies if panel.shares is None else panel.shares).copy()
    for block in panel.blocks:
        shown[block.values] = block.share.value
    shares = 100 * shown.reshape(grid.rows, grid.columns)
    most = float(np.abs(shares).max())
    east = grid.east if grid.east > grid.west else grid.east + 360
    box = (grid.west, east, grid.south, grid.north)
    colors, least = ("Reds", 0.0) if shares.min() >= 0 else ("RdBu_r", -most)
    drawn = axes.imshow(shares, origin="lower", extent=box, aspect="auto", cmap=colors, vmin=least, vmax=most)
    axes.figure.colorbar(drawn, cax=scale, label=f"share of people{' in a block' if panel.blocks else ''}, %")
    for _, values, share in panel.blocks:
        down, across = (float(cells.mean()) + 0.5 for cells in np.divmod(values, grid.columns))
        x, y = (
            box[0] + (box[1] - box[0]) * across / grid.columns,
            box[2] + (box[3] - box[2]) * down / grid.rows,
        )
        dark = abs(share.value) * 100 > 0.6 * most
        text = f"{100 * share.value:.1f}\n± {50 * (share.high - share.low):.1f}"
        axes.text(x, y, text, fontsize=6, ha="center", va="center", color="white" if dark else INK)
    axes.grid(visible=False)
    scale.grid(visible=False)
    axes.set_xlabel("longitude")
    axes.set_ylabel("latitude")
    axes.locator_params(axis="x", nbins=5)


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"
