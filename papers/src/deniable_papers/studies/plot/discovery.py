"""Draws the study of discovery, never computes: a panel per figure, what is stated beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from deniable.plot.charts import panels
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.stated import StatedPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS = {
    "F1": "F1 of the 20 most common",
    "hits": "found, of the 20 most common",
    "reported": "reported, 20 at most",
    "errors": "studies with a string nobody has",
    "shown": "strings that are shown",
    "bias": "bias of a plain share, in sd",
    "coverage": "how often 95 % intervals hold",
    "above": "conditional shares above the truth",
    "width": "width, in widths of a plain interval",
    "limit": "share found half the time, %",
    "power": "found at the limit",
}
_BY_EPSILON = ("F1", "hits", "reported", "limit")
_LEFT_OUT = ("hits", "reported", "shown", "above", "width")
_LINES = {"errors": 0.05, "coverage": 0.95, "power": 0.5}
_PERCENTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_SIZE = (5.4, 3.6)


def plot_discovery(rows: Sequence[StatedPoint]) -> Figure:
    """Numbers with two standard errors; hollow gray diamonds are what is stated.

    Several figures together leave out those that say the same in other words.
    """
    done = drawable([row for row in rows if row.refused is None])
    several = {row.figure for row in done} - set(_LEFT_OUT)
    shown = [row for row in done if row.figure in several] if several else list(done)
    look_of = looks(dict.fromkeys(map(_name_line, shown)))

    def draw(axes: Axes, members: Sequence[StatedPoint]) -> None:
        figure = members[0].figure
        by_epsilon = figure in _BY_EPSILON
        at, ticks = _place(members, _name_epsilon if by_epsilon else _name_case)
        for name, line in grouped(members, _name_line).items():
            style: dict[str, Any] = {**look_of[name], **({} if by_epsilon else {"linestyle": "none"})}
            spots = [at[id(row)] for row in line]
            reach = [2 * row.stderr for row in line]
            axes.errorbar(spots, [row.value for row in line], reach, label=name, capsize=1.5, **style)
            stated = [(x, row.stated) for x, row in zip(spots, line, strict=True) if row.stated is not None]
            hollow: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
            if stated:
                axes.plot(*zip(*stated, strict=True), "D", label="the specification", markersize=8, **hollow)
        if figure in _LINES:
            axes.axhline(_LINES[figure], color="gray", linewidth=0.8, linestyle=":")
        if figure == "limit":
            axes.set_yscale("log")
            axes.set_yticks(_PERCENTS, [f"{percent:g}" for percent in _PERCENTS])
            axes.yaxis.set_minor_formatter("")
        else:
            axes.set_ylim(bottom=min(0.0, *(row.value for row in members)))
        axes.margins(x=0.12)
        turned: dict[str, Any] = {} if by_epsilon else {"rotation": 15, "ha": "right", "fontsize": 7}
        axes.set_xticks(range(len(ticks)), ticks, **turned)
        axes.set_xlabel("epsilon" if by_epsilon else "")
        axes.set_ylabel(_LABELS.get(figure, figure))

    groups = grouped(shown, lambda row: row.figure)
    title = "Strings that nobody listed: ours beside the specification (hollow)"
    return panels(groups, draw, title, columns=2, most=len(_LABELS), size=_SIZE, legend_columns=2)


def _place(
    members: Sequence[StatedPoint], name: Callable[[StatedPoint], str]
) -> tuple[dict[int, float], list[str]]:
    """Where each number is drawn, beside those of other lines, and what is written below."""
    ticks = list(dict.fromkeys(map(name, members)))
    lines = list(dict.fromkeys(map(_name_line, members)))
    at = {}
    for row in members:
        apart = 0.0 if row.figure in _BY_EPSILON else 0.3
        beside = (lines.index(_name_line(row)) - (len(lines) - 1) / 2) * apart
        at[id(row)] = ticks.index(name(row)) + beside
    return at, ticks


def _name_epsilon(row: StatedPoint) -> str:
    return f"{row.epsilon:g}"


def _name_case(row: StatedPoint) -> str:
    return f"{row.case}, epsilon {row.epsilon:g}" if row.figure == "power" else row.case


def _name_line(row: StatedPoint) -> str:
    """What has one color: a case by its people, or a method."""
    if row.figure in _BY_EPSILON:
        name = f"{row.people or 0:,} people, {row.case}"
        shorter = name.replace("1,000,000", "10^6").replace("100,000", "10^5")
        return shorter if row.method == "this" else f"{shorter}, by its levels"
    return "discovery" if row.method == "this" else f"{row.method} shares"
