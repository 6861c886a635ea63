"""Draws numbers beside those that a specification states, never computes: a panel per figure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from deniable.plot.charts import panels
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.stated import StatedPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.2, 3.8)
_MOST_PANELS = 24
_HOLLOW: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}

Name = Callable[[StatedPoint], str]


def name_panel(row: StatedPoint) -> str:
    """A panel for each figure and epsilon."""
    return f"{row.figure}, epsilon = {row.epsilon:g}"


@final
@dataclass(frozen=True)
class Drawing:
    """What the panels of a study say beside its numbers."""

    title: str
    labels: Mapping[str, str]
    """What the axis of each figure is called."""
    linear: Collection[str] = ()
    """Figures whose numbers are shares; others are drawn on logarithmic axes."""
    name_case: Name = lambda row: row.case
    """What stands below a number."""
    name_panel: Name = name_panel
    """The panel that a number is in."""


def plot_stated(rows: Sequence[StatedPoint], drawing: Drawing) -> Figure:
    """Each method's numbers with two standard errors; hollow gray diamonds are what is stated."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(dict.fromkeys(row.method for row in done))

    def draw(axes: Axes, members: Sequence[StatedPoint]) -> None:
        cases = list(dict.fromkeys(drawing.name_case(row) for row in members))
        if members[0].figure not in drawing.linear:
            axes.set_yscale("log")
        columns = grouped(members, drawing.name_case)
        widest = max(len({row.method for row in column}) for column in columns.values())
        for method, line in grouped(members, lambda row: row.method).items():
            at = []
            for row in line:
                beside = list(dict.fromkeys(other.method for other in columns[drawing.name_case(row)]))
                moved = beside.index(method) - (len(beside) - 1) / 2
                at.append(cases.index(drawing.name_case(row)) + moved * 0.7 / widest)
            look: dict[str, Any] = {**look_of[method], "linestyle": "none"}
            reach = [2 * row.stderr for row in line]
            values = [row.value for row in line]
            axes.errorbar(at, values, reach, label=method, capsize=1.5, elinewidth=0.8, **look)
            known = [(x, row.stated) for x, row in zip(at, line, strict=True) if row.stated is not None]
            if known:
                axes.plot(*zip(*known, strict=True), "D", label="the specification", markersize=9, **_HOLLOW)
        axes.set_xticks(range(len(cases)), cases, rotation=30, ha="right", fontsize=7)
        axes.set_ylabel(drawing.labels.get(members[0].figure, ""))

    groups = grouped(done, drawing.name_panel)
    title = f"{drawing.title}: ours beside the specification (hollow)"
    return panels(groups, draw, title, columns=2, most=_MOST_PANELS, size=_SIZE, legend_columns=3)
