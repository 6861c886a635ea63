"""Draws the study of classifiers: accuracy by epsilon, and what attacks find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.plot.charts import panels
from deniable.plot.figure import ESTIMATE
from deniable.plot.looks import BLUE, GRAY, GREEN, ORANGE, PINK, SKY, VERMILION
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.learning.point import LearningPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (6.2, 4.2)
_STYLES = (":", "-", "-.", "--")  # of baselines, in the order of their rows
_FAR = 0.7
_BROWN, _PURPLE = "#7f4a16", "#4b2e83"  # which are darker than the others
_TREES = (BLUE, VERMILION)
_BAYES = (GREEN, PINK, ORANGE, SKY, _PURPLE, _BROWN)


def plot_learning(rows: Sequence[LearningPoint]) -> Figure:
    """Accuracy by epsilon, what needs none as dashed lines; advantages with their intervals and bounds."""
    done = drawable([row for row in rows if row.refused is None])
    plain = [row for row in done if row.figure == "accuracy" and row.epsilon is None]
    lines = [row for row in done if row.figure == "accuracy" and row.epsilon is not None]
    look_of = _choose_looks([*dict.fromkeys(map(_name_line, lines))])

    def draw(axes: Axes, members: Sequence[LearningPoint]) -> None:
        if members[0].figure == "accuracy":
            _draw_accuracies(axes, members, plain, look_of)
        else:
            _draw_advantages(axes, members)

    groups = grouped([row for row in done if row not in plain], _name_panel)
    title = "Learning from sanitized data: Adult, income above 26,000"
    return panels(groups, draw, title, columns=2, most=12, size=_SIZE, legend_columns=2)


def _choose_looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A color of its own for each line. What trees learn is dashed; what is tested on reports is dotted."""
    trees = [name for name in names if name.startswith("LightGBM")]
    noisy = [name for name in names if "noisy test" in name]
    others = [name for name in names if name not in (*trees, *noisy)]
    found = looks(names)
    for some, colors, style in ((trees, _TREES, "--"), (others, _BAYES, "-"), (noisy, (GRAY,), ":")):
        for name, color in zip(some, colors, strict=False):
            found[name] |= {"color": color, "linestyle": style}
            if "damped" in name:  # below the others, which it would hide
                found[name] |= {"linewidth": 2.2, "zorder": 1.5}
    return found


def _name_panel(row: LearningPoint) -> str:
    return f"{row.sanitized} of 10 columns sanitized" if row.figure == "accuracy" else row.figure


def _name_line(row: LearningPoint) -> str:
    return f"{row.model}, {row.protocol}"


def _draw_accuracies(
    axes: Axes,
    members: Sequence[LearningPoint],
    plain: Sequence[LearningPoint],
    look_of: dict[str, dict[str, Any]],
) -> None:
    for name, line in grouped(members, _name_line).items():
        at = [row.epsilon or 0.0 for row in line]
        reach = [2 * row.stderr for row in line]
        axes.errorbar(at, [row.accuracy for row in line], reach, label=name, capsize=2, **look_of[name])
        stated = [(row.epsilon, row.stated) for row in line if row.stated is not None]
        if stated:
            hollow: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
            axes.plot(*zip(*stated, strict=True), "D", label="the specification", markersize=8, **hollow)
    for row, style in zip(plain, _STYLES, strict=False):
        # a majority is so far below that nothing else could be told apart
        if row.sanitized in (0, members[0].sanitized) and (row.accuracy > _FAR or members[0].sanitized == 10):
            axes.axhline(row.accuracy, label=_name_line(row), color="black", linewidth=1, linestyle=style)
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    axes.set_xlabel("epsilon of a record")
    axes.set_ylabel("accuracy on other people")


def _draw_advantages(axes: Axes, members: Sequence[LearningPoint]) -> None:
    look: dict[str, Any] = {"color": ESTIMATE, "marker": "o", "markersize": 4, "linestyle": "none"}
    names = []
    for number, row in enumerate(members):
        advantage, low, high = row.advantage or 0.0, row.low or 0.0, row.high or 0.0
        epsilon = "" if row.epsilon is None else f", epsilon {row.epsilon:g}"
        names.append(f"{row.model},\n{row.protocol}{epsilon}")
        reach = [[advantage - low], [high - advantage]]
        axes.errorbar([advantage], [number], xerr=reach, capsize=3, label="95 % interval", **look)
        if row.bound is not None:
            axes.plot([row.bound], [number], "|", color="black", markersize=14, label="at most, by epsilon")
    axes.axvline(0.0, color="gray", linewidth=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("advantage of the attack")
