"""Draws the errors of a week's reports by epsilon, and what they truly lose; never computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.formatting import format_count
from deniable.plot.charts import panels
from deniable.plot.figure import INK
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.mobility import METHODS, MobilityPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.8, 3.6)
_HOLLOW: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
_BASELINES = {
    "uniform": ("all shares alike", "dotted"),
    "sample": ("sample, no noise", "dashdot"),
}
_LOSSES = "what a person can lose, at most"
_DAYS = "each day alone: Smp[GRR], epsilon 1"


def plot_mobility(rows: Sequence[MobilityPoint]) -> Figure:
    """Errors with norm-sub, errors as published beside the paper's figure, and true losses by epsilon.

    Where days were estimated alone, their errors have a panel of their own.
    """
    done = drawable([row for row in rows if row.epsilon is not None])
    days = [row for row in done if row.figure != "week"]
    week = [row for row in done if row.figure == "week"]
    baselines = [row for row in rows if row.epsilon is None]

    def draw(axes: Axes, panel: tuple[str, Sequence[MobilityPoint]]) -> None:
        kind, members = panel
        if kind == _DAYS:
            _draw_days(axes, members)
            return
        if kind == _LOSSES:
            _draw_losses(axes, members)
        else:
            _draw_errors(axes, members)
            _draw_baselines(axes, baselines)
        axes.set_yscale("log")
        axes.set_xlabel("epsilon, as claimed")

    steps = grouped(week, lambda row: row.consistency)
    parts: dict[str, tuple[str, Sequence[MobilityPoint]]] = {
        f"estimates by {step}" + (", as published" if step == "clip" else ""): (step, members)
        for step, members in steps.items()
    }
    if week:
        parts[_LOSSES] = (_LOSSES, next(iter(steps.values())))
    if days:
        parts[_DAYS] = (_DAYS, days)
    how = f"{format_count(done[0].runs, 'run')}, seed {done[0].seed}, bars of two standard errors"
    whom = f"{week[0].people:,} people, 28 unions of days" if week else "each day alone"
    title = f"A week of visits, {whom}: {how}"
    return panels(parts, draw, title, columns=3, size=_SIZE, legend_columns=1)


def _draw_days(axes: Axes, members: Sequence[MobilityPoint]) -> None:
    """The errors of each day, by what is done to the estimates; they are lines of their own names."""
    lines = grouped(members, lambda row: f"a day, {row.consistency}")
    for name, line in lines.items():
        reach = [2 * (row.stderr or 0.0) for row in line]
        numbers = range(1, len(line) + 1)
        look = looks(lines)[name]
        axes.errorbar(numbers, [row.rmse for row in line], reach, label=name, capsize=1.5, **look)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("day of the week")
    axes.set_ylabel("error of a share (RMSE)")


def _draw_errors(axes: Axes, members: Sequence[MobilityPoint]) -> None:
    for name, line in grouped(members, _name_method).items():
        reach = [2 * (row.stderr or 0.0) for row in line]
        points = [row.epsilon or 0.0 for row in line], [row.rmse for row in line]
        axes.errorbar(*points, reach, label=name, capsize=1.5, elinewidth=0.8, **looks(METHODS)[name])
    known = [(row.epsilon or 0.0, row.paper) for row in members if row.paper is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "D", label="the paper's figure", markersize=9, **_HOLLOW)
    axes.set_ylabel("error of a share (RMSE)")


def _draw_losses(axes: Axes, members: Sequence[MobilityPoint]) -> None:
    """The loss of each method; of those that lose the same, the first ones are wider, and all are named."""
    claimed = sorted({row.epsilon or 0.0 for row in members})
    curves = {
        name: tuple((row.epsilon or 0.0, round(row.loss, 9)) for row in line if row.loss is not None)
        for name, line in grouped(members, _name_method).items()
    }
    drawn = {name: curve for name, curve in curves.items() if curve}
    left = list(drawn.values())
    for name, curve in drawn.items():
        left.remove(curve)
        more = left.count(curve)
        wider = {"linewidth": 1.2 + 3.5 * more, "markersize": 4.0 + 5.0 * more}
        axes.plot(*zip(*curve, strict=True), **(looks(METHODS)[name] | wider))  # the other panels name it
    axes.plot(claimed, claimed, "--", color=INK, linewidth=1, label="claimed")
    named = grouped(drawn, lambda name: str(drawn[name]))
    as_claimed = tuple((epsilon, round(epsilon, 9)) for epsilon in claimed)
    for names in named.values():
        at = drawn[names[0]][-1]
        shown = [*names, "claimed"] if drawn[names[0]] == as_claimed else names
        axes.annotate("\n".join(shown), at, (7, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(right=claimed[-1] + 0.22 * (claimed[-1] - claimed[0] or 1.0))  # names are beside the lines
    unbounded = dict.fromkeys(_name_method(row) for row in members if row.loss is None)
    for name in unbounded:
        axes.text(0.98, 0.02, f"{name}: no bound", transform=axes.transAxes, ha="right", va="bottom")
    axes.set_ylabel("true loss of a week")


def _draw_baselines(axes: Axes, rows: Sequence[MobilityPoint]) -> None:
    for row in rows:
        label, style = _BASELINES[row.method]
        axes.axhline(row.rmse, color="gray", linestyle=style, linewidth=1, label=label)


def _name_method(row: MobilityPoint) -> str:
    return next(name for name, pair in METHODS.items() if pair == (row.method, row.noise))
