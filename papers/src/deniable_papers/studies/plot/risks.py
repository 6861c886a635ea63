"""Draws the rows of the attack studies, never computes: success against epsilon, and error against success.

Where there is one epsilon only, lines would be points above each other; they are listed below each other
then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from deniable.errors import InvalidParameter
from deniable.formatting import format_count
from deniable.plot.charts import panels
from deniable.plot.figure import INK, format_tick
from deniable.plot.looks import BLACK
from deniable_papers.curves import Curve, draw_curves, drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies import tradeoffs
from deniable_papers.studies.accuracy import COMPUTED, AttackPoint, describe_measurement
from deniable_papers.studies.reidentification import AMONG_FAKES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.4)
_MOST_PANELS = 36
_WIDE = 56  # letters above a panel
_LARGE, _SMALL = 7.0, 4.5  # points in a list: of the strongest attack, and of others
_BELOW = 3.0  # how far below the lowest point, as a factor, bars are shown
_ABOVE = 1.5
_LOGARITHMIC = ("value", "reidentify")
_AXES = {
    "value": "all values are guessed (ASR)",
    "reidentify": "RID-ACC: person among the top k",
    "sampled-attribute": "AIF-ACC: sampled attribute found",
    "rsrfd": "AIF-ACC: sampled attribute found",
}
"""What is measured in each figure, in the words of the study."""
_KINDS = {"guess": "measured", "exact": "by the law", "published": "by the study's formulas"}
_LOOKS: dict[str, dict[str, Any]] = {
    "bayes": {"linewidth": 2.2},
    "support": {"linewidth": 2.2},
    "exact": {"linewidth": 2.2},
    "guess": {"linestyle": "--", "markerfacecolor": "white"},
    "guess-bayes": {"linestyle": "-.", "markerfacecolor": "white"},
    "published": {"linestyle": ":", "markerfacecolor": "white"},
    "published-figure": {"linestyle": (0, (1, 3)), "markerfacecolor": "white"},
}


def risks_plot(rows: Sequence[AttackPoint]) -> Figure:
    """Draws a panel per figure and dataset: values by kind of number, people by surveys and top k, sampled
    attributes by protocol. The strongest attack is thick or large.

    People are drawn for one background and metric, the first of the rows; `--figures` draws each of them.
    """
    measured = [row for row in rows if row.refused is None]
    first = next((row for row in measured if row.figure == "reidentify"), None)
    done = drawable(
        sorted(
            (
                row
                for row in measured
                if first is None
                or row.figure != "reidentify"
                or (row.background, row.metric) == (first.background, first.metric)
            ),
            key=lambda row: row.top or 0,
        )
    )
    groups = {
        f"{name}\n{fill(describe_measurement(members), _WIDE)}": members
        for name, members in grouped(done, _panel).items()
    }
    if len(groups) > _MOST_PANELS:
        raise InvalidParameter(
            f"a plot has room for {_MOST_PANELS} panels, got {len(groups)}; name one --figure or --dataset"
        )
    look_of = looks(dict.fromkeys(_choose_color(row) for row in done))
    if AMONG_FAKES in look_of:  # elsewhere as blue as GRR, from which it is told apart here
        look_of[AMONG_FAKES] = look_of[AMONG_FAKES] | {"color": BLACK}
    size: dict[str, Any] = {"most": _MOST_PANELS, "size": _SIZE}
    if {row.figure for row in done} == {"reidentify"}:
        size["columns"] = len({row.surveys for row in done})  # a line of panels for each top k
    alone = len({row.epsilon for row in done}) == 1

    def list_points(axes: Axes, members: Sequence[AttackPoint]) -> None:
        names = list(grouped(members, _line))
        for row in members:
            look: dict[str, Any] = look_of[_choose_color(row)] | _style(row) | {"linestyle": "none"}
            look["markersize"] = _LARGE if _style(row).get("linewidth") else _SMALL
            reach = 2 * (row.stderr or 0.0)
            right = row.accuracy or 0.0
            shorter = max(0.0, min(reach, right - _ends(members)[0]))  # no bar runs through the panel
            axes.errorbar(
                [right],
                [names.index(_line(row))],
                xerr=[[shorter], [reach]],
                capsize=1.5,
                elinewidth=0.8,
                **look,
            )
            if shorter < reach:
                edge = {"color": look["color"], "markersize": 3.5, "clip_on": False}
                axes.plot([_ends(members)[0]], [names.index(_line(row))], "<", **edge)
        axes.axvline(members[0].baseline, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        if members[0].figure in _LOGARITHMIC:
            axes.set_xscale("log")
            axes.set_xlim(left=_ends(members)[0])
        axes.xaxis.set_major_formatter(format_tick)
        axes.set_xlabel(f"{_AXES[members[0].figure]} (dotted: blind guess)")

    def draw(axes: Axes, members: Sequence[AttackPoint]) -> None:
        curves = []
        for name, line in grouped(members, _line).items():
            line.sort(key=lambda row: row.epsilon)
            look: dict[str, Any] = look_of[_choose_color(line[0])] | _style(line[0])
            heights = [math.nan if row.accuracy is None else row.accuracy for row in line]
            reach = [2 * (row.stderr or 0.0) for row in line]
            curves.append(Curve([row.epsilon for row in line], heights, reach, name, look))
        low, high = _ends(members)
        draw_curves(axes, curves, (low, high), log=members[0].figure in _LOGARITHMIC)
        axes.axhline(members[0].baseline, color=INK, linewidth=0.8, linestyle=":", label="blind guess")
        axes.yaxis.set_major_formatter(format_tick)
        axes.yaxis.set_minor_formatter("")  # it would write powers of ten between percent
        axes.set_xlabel("epsilon")
        axes.set_ylabel(_AXES[members[0].figure])

    if alone:
        title = (
            f"Epsilon {_budgets(done)}: attacks as published, and the strongest (large); bars are two "
            "standard errors"
        )
        return panels(groups, list_points, title, **size)
    title = "Attacks as published, and the strongest (thick); bars are two standard errors"
    return panels(groups, draw, title, legend_columns=2, **size)


def tradeoffs_plot(rows: Sequence[AttackPoint]) -> Figure:
    """Draws error against success, exact (filled) and as published (hollow), and the front."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(tradeoffs.METHODS)
    groups = grouped(
        done, lambda row: "robust protocols" if row.protocol.startswith("A") else "classical protocols"
    )
    front = sorted((row.accuracy or 0.0, row.mse or 0.0) for row in done if row.pareto)

    def draw(axes: Axes, members: Sequence[AttackPoint]) -> None:
        axes.plot(
            *zip(*front, strict=True),
            color="#c8ccd0",
            linewidth=6,
            solid_capstyle="round",
            zorder=0,
            label="the front",
        )
        for protocol, line in grouped(members, lambda row: row.protocol).items():
            look = look_of[protocol]
            for attack in ("exact", "published"):
                points = sorted((row for row in line if row.attack == attack), key=lambda row: row.epsilon)
                hollow = (
                    {"markerfacecolor": "white", "linestyle": ":", "linewidth": 0.8}
                    if attack == "published"
                    else {}
                )
                right, errors = [row.accuracy or 0.0 for row in points], [row.mse or 0.0 for row in points]
                axes.plot(right, errors, **(look | hollow), label=protocol if attack == "exact" else None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(format_tick)
        axes.set_xlabel("ASR: best guess is right")
        axes.set_ylabel("MSE of a share")

    measured = describe_measurement([row for row in done if row.attack in COMPUTED])
    how = f"{done[0].dataset}, k = {done[0].k}, {measured}"
    title = (
        f"Error against attack, epsilon {_budgets(done)}\nfilled: exact; hollow: by the published "
        f"formulas\n{how}"
    )
    return panels(groups, draw, title, size=(5.4, 4.2), legend_columns=3)


def _panel(row: AttackPoint) -> str:
    if row.figure == "value":
        return (
            f"{row.dataset}: {row.figure}, {row.metric} metric\n{_KINDS[row.attack.removesuffix('-figure')]}"
        )
    if row.figure == "reidentify":
        surveys = format_count(row.surveys or 0, "survey")
        return f"{row.dataset}: top {row.top}, {surveys}\n{row.background}, {row.metric} metric"
    return f"{row.dataset}: {row.protocol}" + (f", prior {row.prior}" if row.prior else "")


def _line(row: AttackPoint) -> str:
    """What the legend calls a line: protocols where a panel has several of them."""
    if row.figure == "value":
        return f"{row.protocol}, in its figure" if row.attack == "published-figure" else row.protocol
    return f"{row.protocol}, {row.attack}" if row.figure == "reidentify" else row.attack


def _choose_color(row: AttackPoint) -> str:
    """What has a color and a marker of its own: protocols where a panel has several, else attacks."""
    return row.protocol if row.figure in ("value", "reidentify") else row.attack


def _style(row: AttackPoint) -> dict[str, Any]:
    """How a line is drawn beside its color: in panels of one attack all lines are alike."""
    if row.figure == "value":
        return _LOOKS["published-figure"] if row.attack == "published-figure" else {}
    return _LOOKS.get(row.attack, {})


def _budgets(rows: Sequence[AttackPoint]) -> str:
    epsilons = sorted({row.epsilon for row in rows})
    return f"{epsilons[0]:g}" if len(epsilons) == 1 else f"{epsilons[0]:g} to {epsilons[-1]:g}"


def _ends(rows: Sequence[AttackPoint]) -> tuple[float, float]:
    """Where the axis of a panel begins and ends."""
    shown = [rows[0].baseline, *(row.accuracy for row in rows if row.accuracy)]
    if rows[0].figure in _LOGARITHMIC:
        return min(shown) / _BELOW, max(shown) * _ABOVE
    room = 0.1 * (max(shown) - min(shown)) or 0.05
    return max(0.0, min(shown) - room), min(1.0, max(shown) + room)
