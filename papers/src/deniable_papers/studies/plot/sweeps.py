"""Draws the rows of the reproductions, never computes: error against epsilon, one panel per dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.formatting import format_count
from deniable.plot.errors import Curve, draw_curves
from deniable.plot.figure import drawable, grouped, panels
from deniable.plot.looks import looks
from deniable_papers.studies import allomfree, rsfd
from deniable_papers.studies.sweep import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AT_RECORD = " at record"
_SIZE = (4.4, 3.5)
_MOST_PANELS = 24


def rsfd_plot(rows: Sequence[rsfd.RsfdPoint]) -> Figure:
    """Draws errors as published (solid) and at equal true loss (dashed), and what RS+FD loses."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(name for name in rsfd.METHODS if not name.endswith(_AT_RECORD))

    def draw(axes: Axes, members: Sequence[rsfd.RsfdPoint]) -> None:
        curves = []
        for method, line in grouped(members, lambda row: row.method).items():
            look = look_of[method.removesuffix(_AT_RECORD)]
            if method.endswith(_AT_RECORD):
                look = look | {"linestyle": "--", "markerfacecolor": "white"}
            line.sort(key=lambda row: row.epsilon)
            curves.append(_curve([row.epsilon for row in line], line, look))
        _draw(axes, curves)
        epsilons = sorted({row.epsilon for row in members})
        axes.set_xticks(epsilons, [_as_logarithm(epsilon) for epsilon in epsilons])
        axes.set_xlabel("epsilon that is claimed")
        true = {row.epsilon: row.loss_record for row in members if _published_fake(row.method)}
        if true:
            above = axes.secondary_xaxis("top")
            above.set_xticks(list(true), [f"{loss:.2f}" for loss in true.values()])
            above.set_xlabel("true loss of RS+FD per record")

    groups = grouped(done, lambda row: f"{row.dataset}: n = {row.n:,} people, d = {row.d}")
    title = (
        "RS+FD, SMP and SPL, solid as published;\ndashed (at record): a record truly loses no more than "
        "epsilon"
    )
    return panels(groups, draw, f"{title}\n{_how(done[0].runs, done[0].seed)}", size=_SIZE, legend_columns=2)


def allomfree_plot(rows: Sequence[allomfree.AllomfreePoint]) -> Figure:
    """One collection of each dataset, for each part of the budget that one report may spend."""
    done = drawable([row for row in rows if row.refused is None])
    look_of = looks(allomfree.METHODS)

    def draw(axes: Axes, members: Sequence[allomfree.AllomfreePoint]) -> None:
        curves = []
        for method, line in grouped(members, lambda row: row.method).items():
            line.sort(key=lambda row: row.epsilon_forever)
            curves.append(_curve([row.epsilon_forever for row in line], line, look_of[method]))
        _draw(axes, curves)
        axes.set_xlabel("epsilon of all reports of one value")

    def name(row: allomfree.AllomfreePoint) -> str:
        part = row.epsilon_first / row.epsilon_forever
        return f"{row.dataset}: n = {row.n:,}, d = {row.d}, one report {part:.2g} epsilon"

    title = (
        "Two rounds on one attribute per person:\nthe error of one "
        f"collection\n{_how(done[0].runs, done[0].seed)}"
    )
    return panels(
        grouped(done, name), draw, title, columns=2, most=_MOST_PANELS, size=_SIZE, legend_columns=2
    )


def _how(runs: int, seed: int) -> str:
    return f"estimates clipped at 0 and rescaled, {format_count(runs, 'run')}, seed {seed}"


def _published_fake(method: str) -> bool:
    return method.startswith("RS+FD") and not method.endswith(_AT_RECORD)


def _curve(x: Sequence[float], points: Sequence[Point], look: dict[str, Any]) -> Curve:
    reach = [2 * (point.mse_avg_stderr or 0.0) for point in points]
    heights = [math.nan if point.mse_avg is None else point.mse_avg for point in points]
    return Curve(x, heights, reach, points[0].method, look)


def _draw(axes: Axes, curves: Sequence[Curve]) -> None:
    draw_curves(axes, curves)
    axes.set_ylabel("mean squared error of a share")


def _as_logarithm(epsilon: float) -> str:
    whole = round(math.exp(epsilon))
    return f"ln {whole}" if math.isclose(math.log(max(whole, 1)), epsilon, rel_tol=1e-3) else f"{epsilon:.3g}"
