"""Draws bars and means with intervals, and panels side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.formatting import fill_paragraph
from deniable.plot.figure import (
    ESTIMATE,
    INK,
    NOISE,
    NOISE_TEXT,
    TRUTH,
    format_tick,
    require_matplotlib,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 60  # of more, the largest are drawn
_LARGEST = 40
_COLORS = (TRUTH, "#e69f00", "#009e73", "#cc79a7", "#8c8c8c")
_LINE, _LEFT, _WIDE = 0.19, 0.07, 4.2  # inches: a bar, a letter of its label, and the axes
LETTER = 0.078
"""The inches of a letter of a title."""
_LONGEST = 48  # letters of a label
_KEY, _KEY_LINE = 0.55, 0.17  # inches: the patch and the gap beside a name of the legend, and its line

_Member = TypeVar("_Member")

Ticks = Callable[[float, float], str]
"""What is written at a number of an axis, which also has a position."""


class Bars(NamedTuple):
    """One number for each label, with the ends of its interval where it has one."""

    values: Floats
    name: str = ""
    """What the legend says, where there are several."""
    low: Floats | None = None
    high: Floats | None = None
    numbers: Sequence[str] = ()
    """What is written at the end of each bar, where there are few."""
    noisy: Sequence[bool] = ()
    """Which are too noisy to read: words take their place."""


class Line(NamedTuple):
    """A number that all bars are compared with."""

    position: float
    name: str


def plot_bars(
    labels: Sequence[object],
    bars: Sequence[Bars],
    title: str,
    about: str,
    ticks: Ticks | None = format_tick,
    line: Line | None = None,
) -> Figure:
    """A bar for each label, from top to bottom, several side by side; of very many, the largest.

    Without ticks, the axis has plain numbers.
    """
    require_matplotlib()
    from deniable.plot.picture import Picture

    indices = np.arange(len(labels))
    if len(labels) > _MOST_BARS:
        indices = np.sort(np.argsort(-bars[0].values, kind="stable")[:_LARGEST])
        title = f"{title}; the {_LARGEST} largest of {len(labels):,}"
    names = [_shorten(str(labels[i])) for i in indices.tolist()]
    left = 0.3 + _LEFT * max(map(len, names))
    heading = fill_paragraph(title, round((left + _WIDE) / LETTER))
    wide = left + _WIDE + 0.3
    keys = [_shorten(series.name) for series in bars] if len(bars) > 1 or line is not None else []
    keys += [] if line is None else [_shorten(line.name)]
    columns = max(1, int(wide / (_KEY + _LEFT * max(map(len, keys), default=0))))
    below = 0.6 + (0.08 + _KEY_LINE * math.ceil(len(keys) / columns) if keys else 0.0)
    body = max(0.5, _LINE * len(names) * max(1.0, 0.7 * len(bars)))
    tall = 0.2 + 0.18 * (1 + heading.count("\n")) + body + below
    with style():
        figure = Picture(figsize=(wide, tall))
        figure.suptitle(heading, x=0.1 / wide, y=1 - 0.1 / tall, ha="left", va="top", fontsize=10)
        axes = figure.add_axes((left / wide, below / tall, _WIDE / wide, body / tall))
        _draw_bars(axes, bars, indices)
        if line is not None:
            axes.axvline(line.position, color=INK, linewidth=1, linestyle="--", label=_shorten(line.name))
        axes.set_yticks(np.arange(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.set_xlabel(about)
        if ticks is not None:
            axes.xaxis.set_major_formatter(ticks)
        if keys:
            figure.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=columns, fontsize=8)
    return figure


def write_noisy(axes: Axes, at: float, ends: str = "") -> None:
    """Words in place of a number that is too noisy to read: a line from end to end would cross the panel."""
    where, words = axes.get_yaxis_transform(), f"too noisy to read{ends}"
    axes.text(0.02, at, words, color=NOISE_TEXT, fontsize=7.5, va="center", transform=where)


def _draw_bars(axes: Axes, bars: Sequence[Bars], indices: np.typing.NDArray[np.intp]) -> None:
    height = 0.8 / len(bars)
    for i, series in enumerate(bars):
        positions = np.arange(len(indices)) + (i - (len(bars) - 1) / 2) * height
        noisy = np.isin(indices, np.flatnonzero(series.noisy))
        values = np.where(noisy, np.nan, series.values[indices])
        color = _COLORS[i % len(_COLORS)]
        patches = axes.barh(
            positions, values, height=height, color=color, alpha=0.7, label=_shorten(series.name)
        )
        if series.numbers:
            axes.bar_label(patches, [series.numbers[i] for i in indices.tolist()], padding=3, fontsize=8)
            axes.margins(x=0.15)
        if series.low is not None and series.high is not None:
            ends = np.stack([values - series.low[indices], series.high[indices] - values])
            axes.errorbar(
                values, positions, xerr=ends, color=ESTIMATE, linestyle="none", capsize=2, elinewidth=1
            )
        for at in positions[noisy].tolist():
            write_noisy(axes, at)


def draw_band(axes: Axes, columns: tuple[Sequence[float], ...], label: str, look: Mapping[str, Any]) -> None:
    """A line through numbers, with a band for their intervals: where they are, numbers, and both ends."""
    at, middle, low, high = columns
    axes.fill_between(at, low, high, color=look["color"], alpha=0.16, linewidth=0)
    axes.plot(at, middle, label=label, **look)


def plot_mean(mean: float, ends: tuple[float, float], line: tuple[float, float], title: str) -> Figure:
    """A mean and its interval, on the line of all numbers that it may be."""
    require_matplotlib()
    from deniable.plot.picture import Picture

    with style():
        figure = Picture(figsize=(5.4, 1.5), layout="constrained")
        axes = figure.subplots()
        draw_mean(axes, mean, ends, line)
        axes.set_title(fill_paragraph(title, 64), loc="left", fontsize=10)
    return figure


def draw_mean(
    axes: Axes, mean: float | None, ends: tuple[float, float], line: tuple[float, float] | None = None
) -> None:
    """A dot and its interval, on the line of all numbers that it may be; without a mean only the interval, in
    gray.
    """
    low, high = ends
    middle = (low + high) / 2 if mean is None else mean
    color, marker = (NOISE, "") if mean is None else (ESTIMATE, "o")
    reach = [[middle - low], [high - middle]]
    axes.errorbar([middle], [0], xerr=reach, color=color, marker=marker, capsize=2)
    if line is not None:
        axes.set_xlim(min(line[0], low), max(line[1], high))
    axes.set_yticks([0], ["mean"])
    axes.set_ylim(0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean, in its own unit")


def panels(
    groups: Mapping[str, _Member],
    draw: Callable[[Axes, _Member], None],
    title: str,
    columns: int = 3,
    most: int = 12,
    what: str = "panels",
    size: tuple[float, float] = (4.6, 3.0),
    legend_columns: int = 0,
) -> Figure:
    """One panel per group, side by side and below, with one legend for all, if it has columns."""
    require_matplotlib()
    from deniable.plot.picture import Picture

    if len(groups) > most:
        raise InvalidParameter(f"a plot has room for {most} {what}, got {len(groups)}; plot fewer")
    wide = min(len(groups), columns)
    lines = -(-len(groups) // wide)
    width = 0.6 + size[0] * wide
    heading = fill_paragraph(title, round(width / LETTER))
    above = (1.4 if legend_columns else 0.8) + 0.18 * heading.count("\n")
    with style():
        figure = Picture(figsize=(width, above + size[1] * lines), layout="constrained")
        grid = figure.subplots(lines, wide, squeeze=False).flatten()
        for axes, (name, members) in zip(grid, groups.items(), strict=False):
            draw(axes, members)
            axes.set_title(name, loc="left", y=1.0)  # to look for its place takes as long as to draw it
        for axes in grid[len(groups) :]:
            axes.set_axis_off()
        figure.suptitle(heading, x=0.01, ha="left", fontsize=10)
        if legend_columns:
            handles = {
                label: handle
                for axes in grid
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
            }
            figure.legend(
                handles.values(), handles.keys(), loc="outside lower center", ncols=legend_columns * wide
            )
    return figure


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
