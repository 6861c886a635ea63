"""Draws numbers over days, each on an axis of its own, with bands and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.series.lines import ADDED, Line
from deniable.series.rule import BURST, Alarm, Alarms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS, _COLUMNS = 24, 3
_SIZE = 4.6, 2.2  # inches, of a panel
_LEFT, _RIGHT, _BELOW, _BETWEEN = 0.7, 0.3, 0.4, 0.4  # inches around panels; a part of one between them
_TICKS, _FEW_MONTHS = 5, 3
_ROOM = 0.15  # of what is drawn, above and below it
_WIDEST_BAND = 3.0  # times what the numbers span: of wider bands, only a part is seen


@final
@dataclass(frozen=True)
class Days:
    """The days of a series: their dates, and how many times the usual reports each has."""

    dates: tuple[date, ...]
    bursts: Floats


def plot_lines(title: str, days: Days, lines: Sequence[Line], alarms: Alarms, level: float) -> Figure:
    """A panel for each line; of too many, those with alarms first."""
    from deniable.plot.charts import panels

    by_title: dict[str, list[Alarm]] = {line.title: [] for line in lines}
    for alarm in alarms:
        by_title[f"{alarm.attribute}: {alarm.value}"].append(alarm)
    chosen = sorted(lines, key=lambda line: not by_title[line.title])[:_PANELS]
    which = "" if len(chosen) == len(lines) else f"; {len(chosen)} of {len(lines):,} series, alarms first"
    columns = min(_COLUMNS, len(chosen))
    figure = panels(
        {line.title: line for line in chosen},
        lambda axes, line: _draw(axes, days, line, by_title[line.title], level),
        f"{title or 'Series'} by day, {100 * level:g} % intervals; at most one false "
        f"alarm in {alarms.rule.days:,.0f} days{which}",
        columns=columns,
        most=_PANELS,
        size=_SIZE,
    )
    figure.set_layout_engine(None)  # to measure all ticks takes longer than to draw them
    wide, tall = figure.get_size_inches()
    figure.subplots_adjust(
        left=_LEFT / wide,
        right=1 - _RIGHT / wide,
        bottom=_BELOW / tall,
        top=_SIZE[1] * -(-len(chosen) // columns) / tall,
        hspace=_BETWEEN,
    )
    return figure


def _draw(axes: Axes, days: Days, line: Line, alarms: Sequence[Alarm], level: float) -> None:
    from deniable.plot.charts import draw_band
    from deniable.plot.figure import ESTIMATE, NOISE, format_tick
    from deniable.plot.looks import BLUE

    quiet = days.bursts <= BURST
    numbers = np.where(line.n > 0, line.numbers, np.nan)
    low, high = line.interval(level)
    dates = np.array(days.dates, dtype="datetime64[D]")
    look = {"color": BLUE, "linewidth": 1.1}
    draw_band(axes, (dates, np.where(quiet, numbers, np.nan), low, high), line.title, look)  # type: ignore[arg-type]  # matplotlib takes arrays
    axes.plot(dates[~quiet], numbers[~quiet], linestyle="none", marker="x", color=NOISE, markersize=5)
    places = dict(zip(days.dates, numbers.tolist(), strict=True))
    for alarm in alarms:
        axes.axvline(np.datetime64(alarm.day), color=ESTIMATE, linewidth=0.8, linestyle="--")  # type: ignore[arg-type]
        axes.plot(np.datetime64(alarm.day), places[alarm.day], marker="o", color=ESTIMATE, markersize=5)
    for t, why in line.breaks.items():
        begin: Any = np.datetime64(days.dates[t])
        axes.axvline(begin, color=NOISE, linewidth=1.2, linestyle=":")
        label = "added" if why == ADDED else "asked anew"
        axes.text(begin, 1.0, f" {label}", transform=axes.get_xaxis_transform(), va="top", fontsize=7)
    axes.set_ylim(*find_ends(numbers, low, high, line.is_share))
    if line.is_share:
        axes.yaxis.set_major_formatter(format_tick)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_label_coords(0.5, 0.0)  # there is no label; room for it would be looked for
    ticks, labels = list_ticks(days.dates)
    axes.set_xticks(np.array(ticks, dtype="datetime64[D]"), labels)


def list_ticks(dates: Sequence[date]) -> tuple[list[date], list[str]]:
    """The days that are named below a panel: firsts of months, or of few months some days."""
    firsts = [day for day in dates if day.day == 1]
    if len(firsts) < _FEW_MONTHS:
        ticks = list(dates[:: max(1, -(-len(dates) // _TICKS))])
        return ticks, [f"{day:%d %b}" for day in ticks]
    ticks = firsts[:: -(-len(firsts) // _TICKS)]
    return ticks, [
        f"{day:%b %Y}" if i == 0 or day.year > ticks[i - 1].year else f"{day:%b}"
        for i, day in enumerate(ticks)
    ]


def find_ends(numbers: Floats, low: Floats, high: Floats, is_share: bool) -> tuple[float, float]:
    """The ends of an axis: around the numbers and their bands, where these are not far wider.

    A share that is far from 0 does not begin there, so that its changes are seen.
    """
    known = np.isfinite(numbers)
    least, most = float(numbers[known].min()), float(numbers[known].max())
    typical = float(np.median((high - low)[known]))
    span = max(most - least, typical)
    bottom = max(float(np.min(low[known])), least - _WIDEST_BAND * span)
    top = min(float(np.max(high[known])), most + _WIDEST_BAND * span)
    room = _ROOM * max(top - bottom, 1e-9)
    bottom, top = bottom - room, top + room
    return (0.0 if is_share and bottom < 0.25 * top else bottom), top
