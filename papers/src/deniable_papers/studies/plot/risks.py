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
from deniable.plot.charts import panels
from deniable.plot.figure import INK, format_tick
from deniable_papers.curves import Curve, draw_curves, drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies import tradeoffs
from deniable_papers.studies.accuracy import COMPUTED, AttackPoint, describe_measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.4, 3.4)
_MOST_PANELS = 24
_WIDE = 56  # letters above a panel
_LARGE, _SMALL = 7.0, 4.5  # points in a list: of the strongest attack, and of others
_BELOW = 3.0  # how far below the lowest point, as a factor, bars are shown
_ABOVE = 1.5
_LOGARITHMIC = ("value", "reidentify")
_SHOWN = {"surveys": 5, "top": 10}  # of re-identification; all rows are in the table
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
    """Draws a panel per figure, dataset and protocol; the strongest attack is thick or large."""
    done = drawable([row for row in rows if row.refused is None and _is_shown(row)])
    groups = {
        f"{name}\n{fill(describe_measurement(members), _WIDE)}": members
        for name, members in grouped(done, _panel).items()
    }
    if len(groups) > _MOST_PANELS:
        raise InvalidParameter(
            f"a plot has room for {_MOST_PANELS} panels, got {len(groups)}; name one --figure or --dataset"
        )
    look_of = looks(dict.fromkeys(_choose_color(row) for row in done))
    alone = len({row.epsilon for row in done}) == 1

    def list_points(axes: Axes, members: Sequence[AttackPoint]) -> None:
        names = list(grouped(members, _line))
        for row in members:
            look: dict[str, Any] = (
                look_of[_choose_color(row)] | _LOOKS.get(row.attack, {}) | {"linestyle": "none"}
            )
            look["markersize"] = _LARGE if _LOOKS.get(row.attack, {}).get("linewidth") else _SMALL
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
        axes.set_xlabel("attack is right (dotted: blind guess)")

    def draw(axes: Axes, members: Sequence[AttackPoint]) -> None:
        curves = []
        for name, line in grouped(members, _line).items():
            line.sort(key=lambda row: row.epsilon)
            look: dict[str, Any] = look_of[_choose_color(line[0])] | _LOOKS.get(line[0].attack, {})
            heights = [math.nan if row.accuracy is None else row.accuracy for row in line]
            reach = [2 * (row.stderr or 0.0) for row in line]
            curves.append(Curve([row.epsilon for row in line], heights, reach, name, look))
        low, high = _ends(members)
        draw_curves(axes, curves, (low, high), log=members[0].figure in _LOGARITHMIC)
        axes.axhline(members[0].baseline, color=INK, linewidth=0.8, linestyle=":", label="blind guess")
        axes.yaxis.set_major_formatter(format_tick)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("attack is right")

    if alone:
        title = (
            f"Epsilon {_budgets(done)}: attacks as published, and the strongest (large); bars are two "
            "standard errors"
        )
        return panels(groups, list_points, title, most=_MOST_PANELS, size=_SIZE)
    title = "Attacks as published, and the strongest (thick); bars are two standard errors"
    return panels(groups, draw, title, most=_MOST_PANELS, size=_SIZE, legend_columns=2)


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
        axes.set_xlabel("best guess is right")
        axes.set_ylabel("mean squared error of a share")

    measured = describe_measurement([row for row in done if row.attack in COMPUTED])
    how = f"{done[0].dataset}, k = {done[0].k}, {measured}"
    title = (
        f"Error against attack, epsilon {_budgets(done)}\nfilled: exact; hollow: by the published "
        f"formulas\n{how}"
    )
    return panels(groups, draw, title, size=(5.4, 4.2), legend_columns=3)


def _is_shown(row: AttackPoint) -> bool:
    return all(getattr(row, name) in (None, value) for name, value in _SHOWN.items()) or row.figure == "value"


def _panel(row: AttackPoint) -> str:
    if row.figure in ("value", "reidentify"):
        more = [row.background or "", f"{row.metric} metric"]
        more += [f"top {row.top}, {row.surveys} surveys"] if row.top else []
        return f"{row.dataset}: {row.figure}\n{', '.join(one for one in more if one)}"
    return f"{row.dataset}: {row.protocol}" + (f", prior {row.prior}" if row.prior else "")


def _line(row: AttackPoint) -> str:
    """What the legend calls a line: protocols where a panel has several of them."""
    return f"{row.protocol}, {row.attack}" if row.figure in ("value", "reidentify") else row.attack


def _choose_color(row: AttackPoint) -> str:
    """What has a color of its own: protocols where a panel has several, else attacks."""
    return row.protocol if row.figure in ("value", "reidentify") else row.attack


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
