"""Draws the errors of predicted response times by radius, never computes: models, and ways to report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from deniable.plot.charts import panels
from deniable.plot.figure import format_tick
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.response_time import ResponsePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MODELS, _RELATIVE = "planar Laplace noise, by model", "planar Laplace noise, MAPE by model"
_PLACES = "LightGBM, by what is reported"


class _Panel(NamedTuple):
    """The rows of a panel, and which of their errors is drawn."""

    rows: Sequence[ResponsePoint]
    error: Literal["rmse", "mape"]


def plot_response_time(rows: Sequence[ResponsePoint]) -> Figure:
    """The error at each radius; level lines are for true places and for the mean of all calls."""
    done = drawable([row for row in rows if row.refused is None])
    exact = {row.model: row for row in done if row.radius is None}
    noisy = [row for row in done if row.radius is not None]
    plain = [row for row in noisy if row.protocol == "planar_laplace" and not row.remapped]
    by_model = [row for row in plain if row.tested == "reports"] or list(exact.values())
    groups = {_MODELS: _Panel(by_model, "rmse"), _RELATIVE: _Panel(by_model, "mape")}
    first = noisy[0].model if noisy else ""
    one = [row for row in noisy if row.model in ("LightGBM", first) and _is_compared(row, noisy)]
    if one:
        groups[_PLACES.replace("LightGBM", one[0].model)] = _Panel(one, "rmse")

    names = [*dict.fromkeys(row.model for row in noisy), *dict.fromkeys(map(_name_places, noisy))]

    def draw(axes: Axes, panel: _Panel) -> None:
        members = panel.rows
        by_model = len({_name_places(row) for row in members}) == 1
        lines = grouped(members, lambda row: row.model if by_model else _name_places(row))
        look_of = looks(names)
        for name, line in lines.items():
            points = [row for row in line if row.radius is not None]
            where = [row.radius or 0.0 for row in points]
            reach = [2 * row.rmse_sd if panel.error == "rmse" else 0.0 for row in points]
            values = [float(getattr(row, panel.error)) for row in points]
            axes.errorbar(where, values, reach, label=name, capsize=1.5, elinewidth=0.8, **look_of[name])
        for name, dashes in (("LightGBM", "--"), ("mean", ":")):
            if name in exact:
                label = "mean of all calls" if name == "mean" else f"{name}, true places"
                level = float(getattr(exact[name], panel.error))
                axes.axhline(level, color="gray", linestyle=dashes, linewidth=0.9, label=label)
        axes.set_xscale("log")
        radii = sorted({row.radius for row in members if row.radius is not None})
        axes.set_xticks(radii, [f"{radius:,g}" for radius in radii])
        axes.minorticks_off()
        axes.set_xlabel("radius within which places lose ln 2, meters")
        axes.set_ylabel("RMSE, minutes" if panel.error == "rmse" else "MAPE")
        if panel.error == "mape":
            axes.yaxis.set_major_formatter(format_tick)

    title = f"Response times of emergency calls, from noisy places: {done[0].dataset}"
    return panels(groups, draw, title, columns=3, legend_columns=2)


def _is_compared(row: ResponsePoint, rows: Sequence[ResponsePoint]) -> bool:
    """Whether the model's places were reported in several ways."""
    return len({_name_places(one) for one in rows if one.model == row.model}) > 1


def _name_places(row: ResponsePoint) -> str:
    name = row.protocol.replace("_l", " L").replace("_", " ")
    if row.remapped:
        return f"{name}, remapped"
    return name if row.tested == "reports" else f"{name}, tested on true places"
