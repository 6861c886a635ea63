"""Draws what made-up reports gain, by protocol and defense."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.formatting import format_count
from deniable.plot.charts import panels
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.poisoning import FAKES, NORMALIZED, PoisoningPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.2, 3.4)
_SHOWN = {
    ("MGA", "nothing"): "MGA, no defense",
    ("RPA", "nothing"): "RPA, no defense",
    ("RIA", "nothing"): "RIA, no defense",
    ("MGA", "recovery, pushed values"): "MGA, recovered",
    ("MGA", NORMALIZED): "MGA, normalized",
    ("MGA", "norm-sub"): "MGA, norm-sub",
}
_STEP = 0.12  # between markers of one protocol
_MOST = 0.5  # of the runs


def poisoning_plot(rows: Sequence[PoisoningPoint]) -> Figure:
    """What each attack gains by protocol, and what MGA gains against some defenses.

    There is a panel for each epsilon and number of targets. A filled marker is noticed in most runs.
    """
    done = drawable([row for row in rows if row.refused is None and (row.attack, row.defense) in _SHOWN])
    protocols = list(dict.fromkeys(row.protocol for row in done))
    look_of = looks(_SHOWN.values())

    def draw(axes: Axes, members: Sequence[PoisoningPoint]) -> None:
        for place, (label, points) in enumerate(grouped(members, _name_series).items()):
            x = [protocols.index(row.protocol) + _STEP * (place - 2.5) for row in points]
            y = [math.nan if row.gain is None else row.gain for row in points]
            look = look_of[label] | {"linestyle": "none"}
            axes.plot(x, y, label=label, **(look | {"markerfacecolor": "white"}))
            noticed = [i for i, row in enumerate(points) if row.alarmed is not None and row.alarmed > _MOST]
            axes.plot([x[i] for i in noticed], [y[i] for i in noticed], **look)
        axes.set_xticks(range(len(protocols)), protocols, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(bottom=-0.1)
        axes.set_yticks([-0.1, 0, 0.1, 1, 3], ["-10", "0", "10", "100", "300"])
        axes.set_ylabel("gain of all targets, in points")

    first = done[0]
    title = (
        f"{100 * FAKES:g} % of made-up reports, {first.k} values, {first.n:,} people ({first.dataset}), "
        f"{format_count(first.runs, 'run')}\nfilled: the health of the reports raises an alarm in most runs"
    )
    return panels(grouped(done, _name_panel), draw, title, columns=2, size=_SIZE, legend_columns=3)


def _name_series(row: PoisoningPoint) -> str:
    return _SHOWN[row.attack, row.defense]


def _name_panel(row: PoisoningPoint) -> str:
    return f"epsilon {row.epsilon:g}, {format_count(row.targets, 'target')}"
