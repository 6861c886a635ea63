"""Draws rows as lines with bars of their errors: a panel for each group, one legend for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

from deniable.plot.charts import panels
from deniable_papers.curves import Curve, draw_curves, drawable, grouped
from deniable_papers.looks import looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOLLOW: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
"""The look of numbers that others published, beside ours."""


@final
@dataclass(frozen=True, kw_only=True)
class Lines:
    """Which rows are drawn where, as data: each field says something of a row, or of all of them."""

    title: Callable[[Sequence[Any]], str]
    panel: Callable[[Any], str]
    line: Callable[[Any], str]
    x: Callable[[Any], float | None]
    """Where a row is; None for rows that are levels across a panel."""
    y: Callable[[Any], float | None]
    reach: Callable[[Any], float] = field(default=lambda _: 0.0)
    """How far the bar of a row reaches."""
    labels: tuple[str, str]
    names: Iterable[str] = ()
    """Lines in the order of their looks; those that are drawn, unless given."""
    level: Callable[[Any], dict[str, Any] | None] = field(default=lambda _: None)
    """How a row looks that is a level across all panels of its kind."""
    kind: Callable[[Any], str] = field(default=lambda _: "")
    """Which panels a level is drawn in."""
    known: Callable[[Any], float | None] = field(default=lambda _: None)
    """What was published for a row."""
    known_as: str = "the specification"
    known_look: dict[str, Any] = field(default_factory=lambda: HOLLOW)
    ticks: Callable[[float], str] | None = None
    """How a place on a logarithmic axis is written; None leaves the axis as it is."""
    finish: Callable[[Axes, Sequence[Any]], object] = field(default=lambda _axes, _rows: None)
    """Whatever else a panel has."""
    clipped: Literal["log", "linear", ""] = ""
    """The scale of panels whose bars end in arrows at their edge; empty where bars run freely."""
    ends: Callable[[Sequence[Any]], tuple[float, float]] | None = None
    look: Callable[[str], str] = field(default=lambda name: name)
    """Whose color and marker a line has."""
    style: Callable[[str], dict[str, Any]] = field(default=lambda _: {})
    """What the look of a line has beside its color and marker."""
    layout: dict[str, Any] = field(default_factory=dict)
    """How panels are arranged: columns, size, most, legend_columns."""


def plot_lines(lines: Lines, rows: Sequence[Any]) -> Figure:
    """Draw rows as they are described."""
    done = drawable([row for row in rows if row.refused is None])
    placed = [row for row in done if lines.x(row) is not None] or done
    look_of = looks(lines.names or dict.fromkeys(map(lines.line, placed)))
    ends = None if lines.ends is None else lines.ends(done)

    def draw(axes: Axes, members: Sequence[Any]) -> None:
        curves = []
        for name, line in grouped(members, lines.line).items():
            spots = [row for row in line if lines.x(row) is not None]
            if lines.clipped:
                spots.sort(key=lambda row: lines.x(row) or 0.0)
            x = [lines.x(row) or 0.0 for row in spots]
            heights = [math.nan if (y := lines.y(row)) is None else y for row in spots]
            reach = [lines.reach(row) for row in spots]
            curves.append(Curve(x, heights, reach, name, look_of[lines.look(name)] | lines.style(name)))
        if lines.clipped:
            draw_curves(axes, curves, ends, log=lines.clipped == "log")
        else:
            for curve in curves:
                bars: dict[str, Any] = {"label": curve.label, "capsize": 1.5, "elinewidth": 0.8}
                axes.errorbar(curve.x, curve.y, curve.reach, **bars, **curve.look)
        known = [(lines.x(row), lines.known(row)) for row in members if lines.known(row) is not None]
        if known:
            axes.plot(*zip(*known, strict=True), "D", label=lines.known_as, markersize=9, **lines.known_look)
        for row in done:
            if lines.kind(row) == lines.kind(members[0]) and (look := lines.level(row)) is not None:
                axes.axhline(lines.y(row) or 0.0, **look)
        if lines.ticks is not None:
            axes.set_xscale("log")
            spots = sorted({lines.x(row) for row in members} - {None})
            axes.set_xticks(spots, [lines.ticks(spot) for spot in spots])
            axes.minorticks_off()
        axes.set_xlabel(lines.labels[0])
        axes.set_ylabel(lines.labels[1])
        lines.finish(axes, members)

    return panels(grouped(placed, lines.panel), draw, lines.title(done), **lines.layout)
