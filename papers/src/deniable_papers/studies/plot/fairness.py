"""Draws accuracy and parity by epsilon, with lines for raw values and for a model without the attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.formatting import format_count
from deniable.plot.charts import panels
from deniable.plot.figure import INK, NOISE
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.fairness import BASELINES, AttributePoint, FairnessPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.8, 3.2)
_METRICS = {"acc": "accuracy", "spd": "parity difference (SPD)"}
_LINES: dict[str, dict[str, Any]] = {
    BASELINES[0]: {"color": NOISE, "linestyle": "--", "label": "raw values (NonDP)"},
    BASELINES[1]: {"color": INK, "linestyle": ":", "label": "attributes dropped"},
}


def plot_fairness(rows: Sequence[FairnessPoint | AttributePoint]) -> Figure:
    """Means with two standard errors; hollow gray diamonds were published for the same seeds."""
    done = drawable([row for row in rows if isinstance(row, FairnessPoint)])
    look_of = looks(dict.fromkeys(row.mechanism for row in done if row.mechanism not in BASELINES))

    def draw(axes: Axes, panel: tuple[str, Sequence[FairnessPoint]]) -> None:
        metric, members = panel
        for row in members:
            if row.mechanism in _LINES:
                axes.axhline(getattr(row, metric), linewidth=1.2, **_LINES[row.mechanism])
        sanitized = [row for row in members if row.mechanism not in BASELINES]
        for mechanism, line in grouped(sanitized, lambda row: row.mechanism).items():
            _draw_line(axes, metric, mechanism, line, look_of[mechanism])
        axes.set_xlabel("epsilon")
        axes.set_xscale("log")
        ticks = sorted({row.epsilon for row in sanitized if row.epsilon is not None})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()

    groups = {
        f"{name}: {what}": (metric, members)
        for name, members in grouped(done, lambda row: row.dataset).items()
        for metric, what in _METRICS.items()
    }
    title = (
        f"Four sanitized attributes, raw test part, {format_count(done[0].runs, 'seed')}; two standard errors"
    )
    return panels(groups, draw, title, columns=2, size=_SIZE, legend_columns=3)


def _draw_line(
    axes: Axes, metric: str, mechanism: str, line: Sequence[FairnessPoint], look: dict[str, Any]
) -> None:
    at = [row.epsilon or 0.0 for row in line]
    values = [getattr(row, metric) for row in line]
    reach = [0.0 if row.sd is None else 2 * row.sd[metric] / row.runs**0.5 for row in line]
    axes.errorbar(at, values, reach, label=mechanism, capsize=1.5, elinewidth=0.8, **look)
    known = [(row.epsilon, row.published[metric]) for row in line if row.published is not None]
    if known:
        hollow: dict[str, Any] = {"color": NOISE, "markerfacecolor": "none", "linestyle": "none"}
        axes.plot(*zip(*known, strict=True), "D", label="published, same seeds", markersize=9, **hollow)
