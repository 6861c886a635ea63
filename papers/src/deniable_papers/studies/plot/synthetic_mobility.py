"""Draws how far sets of days are from the true ones, by epsilon, method and noise; never computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.formatting import format_count
from deniable.plot.charts import panels
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.synthetic_mobility import CASES, SyntheticPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.2, 3.8)
_HOLLOW: dict[str, Any] = {"color": "gray", "markerfacecolor": "none", "linestyle": "none"}
_ABOVE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "fontsize": 8}
_STYLES = ("dotted", "dashdot", "dashed")


def plot_synthetic(rows: Sequence[SyntheticPoint]) -> Figure:
    """The total variation, and the relative error of unions; lines across are counts without noise."""
    done = drawable(list(rows))
    noisy = [row for row in done if row.epsilon is not None]
    exact = [row for row in done if row.epsilon is None]
    look_of = looks(CASES)

    def draw(axes: Axes, kind: str) -> None:
        for name, line in grouped(noisy, _name_case).items():
            heights = [row.tv if kind == "tv" else row.mre for row in line]
            reach = [2 * (row.stderr or 0.0) if kind == "tv" else 0.0 for row in line]
            x = [row.epsilon or 0.0 for row in line]
            axes.errorbar(x, heights, reach, label=name, capsize=1.5, elinewidth=0.8, **look_of[name])
        if kind == "tv":
            _draw_exact(axes, exact, noisy)
        else:
            for error in {row.published_mre for row in exact if row.published_mre is not None}:
                axes.axhline(error, color="gray", linewidth=1)
                axes.annotate(f"published, lp: {100 * error:.0f} %", (1, error), **_ABOVE)
        axes.set_xscale("log")
        ticks = sorted({row.epsilon or 0.0 for row in noisy})
        axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
        axes.minorticks_off()
        axes.set_xlabel("epsilon for a person's week")
        if kind == "tv":
            axes.set_ylim(bottom=0.0)
            axes.set_ylabel("total variation from the true sets of days")
        else:
            axes.set_yscale("log")
            axes.set_ylabel("mean relative error of a union")

    how = f"{format_count(max(row.runs for row in done), 'run')}, seed {done[0].seed}"
    title = f"127 sets of days from 28 unions, and from reports: {how}, bars of two standard errors"
    parts = {"who was there on which days": "tv", "people of unions of days": "mre"}
    return panels(parts, draw, title, columns=2, size=_SIZE, legend_columns=2)


def _draw_exact(axes: Axes, exact: Sequence[SyntheticPoint], noisy: Sequence[SyntheticPoint]) -> None:
    for row, style in zip(exact, _STYLES, strict=False):
        axes.axhline(row.tv, color="gray", linestyle=style, linewidth=1, label=_name_case(row))
    known = [(row.epsilon or 0.0, row.stated) for row in noisy if row.stated is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "D", label="the specification", markersize=9, **_HOLLOW)


def _name_case(row: SyntheticPoint) -> str:
    return next(name for name, case in CASES.items() if case[:2] == (row.method, row.noise))
