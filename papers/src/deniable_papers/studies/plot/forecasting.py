"""Draws the study of forecasting, never computes: errors by the epsilon of a person, beside the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.plot.charts import panels
from deniable.plot.figure import INK
from deniable.plot.looks import ORANGE, SKY
from deniable_papers.curves import drawable, grouped
from deniable_papers.looks import looks
from deniable_papers.studies.applications.forecasting import ForecastPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.8, 4.8)
_LINES = {"persistence": ":", "ridge": "--"}
"""What is drawn as a line across: the baseline, and the same model without noise."""
_BARS = {"none": (SKY, "no noise"), "gradient": (ORANGE, "noisy gradients, which protect a window")}


def plot_forecasting(rows: Sequence[ForecastPoint]) -> Figure:
    """Noise on the counts by epsilon; then all models at their errors, those with noisy gradients too."""
    done = drawable([row for row in rows if row.refused is None])
    noisy = [row for row in done if row.noise == "input" and row.calendar == "dates"]
    groups: dict[str, Sequence[ForecastPoint]] = {}
    if noisy:
        known = [row for row in done if row.noise == "none" and row.calendar == "dates"]
        groups["noise on the counts, for a person over 72 days"] = [*noisy, *known]
    others = [row for row in done if row.noise != "input"]
    if others:
        groups["without noise on the counts"] = others

    def draw(axes: Axes, members: Sequence[ForecastPoint]) -> None:
        if any(row.noise == "input" for row in members):
            _draw_curves(axes, members)
        else:
            _draw_models(axes, members)

    title = "Forecasts of six series of phones, half an hour ahead"
    return panels(groups, draw, title, columns=2, size=_SIZE, legend_columns=1)


def _draw_curves(axes: Axes, members: Sequence[ForecastPoint]) -> None:
    curves = grouped([row for row in members if row.noise == "input"], lambda row: row.model)
    look_of = looks(curves)
    for model, curve in curves.items():
        line = sorted(curve, key=lambda row: row.epsilon or 0.0)
        reach = [2 * (row.rmse_sd or 0.0) for row in line]
        look: dict[str, Any] = {**look_of[model]}
        at = [row.epsilon or 0.0 for row in line]
        axes.errorbar(at, [row.rmse for row in line], reach, label=f"{model}, noisy", capsize=2, **look)
    for row in members:
        if row.noise == "none" and row.model in _LINES:
            axes.axhline(
                row.rmse, color=INK, linewidth=1, linestyle=_LINES[row.model], label=f"{row.model}, no noise"
            )
    axes.set_xscale("log", base=2)
    ticks = sorted({row.epsilon for row in members if row.epsilon is not None})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("epsilon of a person, delta 1e-7")
    axes.set_ylabel("RMSE, phones")


def _draw_models(axes: Axes, members: Sequence[ForecastPoint]) -> None:
    """A bar for each model, the smallest error on top; two standard deviations, if there are several runs."""
    ordered = sorted(members, key=lambda row: -row.rmse)
    for noise, (color, label) in _BARS.items():
        at = [place for place, row in enumerate(ordered) if row.noise == noise]
        if at:
            axes.barh(at, [ordered[place].rmse for place in at], color=color, label=label)
    places = range(len(ordered))
    spreads = [row.rmse_sd or 0.0 for row in ordered]
    reach = [2 * spread for spread in spreads]
    some = [place for place in places if spreads[place]]
    ends = [ordered[place].rmse for place in some]
    axes.errorbar(ends, some, xerr=[reach[place] for place in some], fmt="none", ecolor=INK, capsize=2)
    axes.set_yticks(places, [_name_row(row) for row in ordered], fontsize=7)
    for place, row in enumerate(ordered):
        axes.text(row.rmse + reach[place], place, f" {row.rmse:,.0f}", va="center", fontsize=7)
    axes.margins(x=0.12)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("RMSE, phones")


def _name_row(row: ForecastPoint) -> str:
    name = row.model if row.calendar == "dates" else f"{row.model} (calendar by rows)"
    return name if row.epsilon is None else f"{name},\nepsilon {row.epsilon:.3g} of a {row.per}"
