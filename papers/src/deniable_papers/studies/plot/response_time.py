"""Draws the errors of predicted response times by radius, never computes: models, and ways to report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.plot.charts import panels
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.response_time import ResponsePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MODELS, _PLACES = "planar Laplace noise, by model", "LightGBM, by what is reported"


def plot_response_time(rows: Sequence[ResponsePoint]) -> Figure:
    """The error at each radius; level lines are for true places and for the mean of all calls."""
    done = drawable([row for row in rows if row.refused is None])
    exact = {row.model: row for row in done if row.radius is None}
    noisy = [row for row in done if row.radius is not None]
    plain = [row for row in noisy if row.protocol == "planar_laplace" and not row.remapped]
    groups = {_MODELS: [row for row in plain if row.tested == "reports"] or list(exact.values())}
    first = noisy[0].model if noisy else ""
    one = [row for row in noisy if row.model in ("LightGBM", first) and _is_compared(row, noisy)]
    if one:
        groups[_PLACES.replace("LightGBM", one[0].model)] = one

    names = [*dict.fromkeys(row.model for row in noisy), *dict.fromkeys(map(_name_places, noisy))]

    def draw(axes: Axes, members: Sequence[ResponsePoint]) -> None:
        by_model = len({_name_places(row) for row in members}) == 1
        lines = grouped(members, lambda row: row.model if by_model else _name_places(row))
        look_of = looks(names)
        for name, line in lines.items():
            points = [row for row in line if row.radius is not None]
            where = [row.radius or 0.0 for row in points]
            reach = [2 * row.rmse_sd for row in points]
            values = [row.rmse for row in points]
            axes.errorbar(where, values, reach, label=name, capsize=1.5, elinewidth=0.8, **look_of[name])
        for name, dashes in (("LightGBM", "--"), ("mean", ":")):
            if name in exact:
                label = "mean of all calls" if name == "mean" else f"{name}, true places"
                axes.axhline(exact[name].rmse, color="gray", linestyle=dashes, linewidth=0.9, label=label)
        axes.set_xscale("log")
        radii = sorted({row.radius for row in members if row.radius is not None})
        axes.set_xticks(radii, [f"{radius:,g}" for radius in radii])
        axes.minorticks_off()
        axes.set_xlabel("radius within which places lose ln 2, meters")
        axes.set_ylabel("root mean squared error, minutes")

    title = f"Response times of emergency calls, from noisy places: {done[0].dataset}"
    return panels(groups, draw, title, columns=2, legend_columns=2)


def _is_compared(row: ResponsePoint, rows: Sequence[ResponsePoint]) -> bool:
    """Whether the model's places were reported in several ways."""
    return len({_name_places(one) for one in rows if one.model == row.model}) > 1


def _name_places(row: ResponsePoint) -> str:
    name = row.protocol.replace("_l", " L").replace("_", " ")
    if row.remapped:
        return f"{name}, remapped"
    return name if row.tested == "reports" else f"{name}, tested on true places"
