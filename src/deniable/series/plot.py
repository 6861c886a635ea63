"""Draws numbers over days, each on an axis of its own, with bands and alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
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
_LARGE, _SMALL = (4.6, 2.2), (3.8, 1.8)  # inches, of a panel: in one row, and in several
_LEFT, _RIGHT, _BELOW, _BETWEEN = 0.7, 0.3, 0.4, 0.25  # inches around panels; a part of one between them
_TICKS, _STEPS, _FEW_MONTHS = 5, 3, 3  # on an axis of days, and of numbers
_ROOM = 0.15  # of what is drawn, above and below it
_WIDEST_BAND = 3.0  # times what the numbers span: of wider bands, only a part is seen


@final
@dataclass(frozen=True)
class Days:
    """The days of a series: their dates, and how many times the usual reports each has."""

    dates: tuple[date, ...]
    bursts: Floats


def plot_lines(title: str, days: Days, lines: Sequence[Line], alarms: Alarms, level: float) -> Figure:
    """A panel for each line; of too many, those with alarms, and then of every attribute equally many."""
    from deniable.plot.charts import panels
    from deniable.plot.figure import GRID

    by_title: dict[str, list[Alarm]] = {line.title: [] for line in lines}
    for alarm in alarms.numbers:
        by_title[f"{alarm.attribute}: {alarm.value}"].append(alarm)
    chosen = choose_lines(lines, {title for title, alarms in by_title.items() if alarms}, _PANELS)
    which = "" if len(chosen) == len(lines) else f"; {len(chosen)} of {len(lines):,} series, alarms first"
    columns = min(_COLUMNS, len(chosen))
    size = _LARGE if columns == len(chosen) else _SMALL
    figure = panels(
        {line.title: line for line in chosen},
        lambda axes, line: _draw(axes, days, line, by_title[line.title], level),
        f"{title or 'Series'} by day, {100 * level:g} % intervals; at most one false "
        f"alarm in {alarms.rule.days:,.0f} days{which}",
        columns=columns,
        most=_PANELS,
        size=size,
    )
    ticks, labels = list_ticks(days.dates)
    at = np.array(ticks, dtype="datetime64[D]")
    for place, axes in enumerate(figure.axes[: len(chosen)]):  # a column of panels has the same days
        if place + columns >= len(chosen):
            axes.set_xticks(at, labels)
        else:
            axes.xaxis.set_visible(False)  # an axis without labels takes as long as one with them
            axes.vlines(at, 0.0, 1.0, transform=axes.get_xaxis_transform(), zorder=0.5, **GRID)
    figure.set_layout_engine(None)  # to measure all ticks takes longer than to draw them
    wide, tall = figure.get_size_inches()
    figure.subplots_adjust(
        left=_LEFT / wide,
        right=1 - _RIGHT / wide,
        bottom=_BELOW / tall,
        top=size[1] * -(-len(chosen) // columns) / tall,
        hspace=_BETWEEN,
    )
    return figure


def choose_lines(lines: Sequence[Line], alarmed: Set[str], most: int) -> list[Line]:
    """As many lines as there is room for: those with these titles first, then a second of every attribute
    only after a first.
    """
    shown = Counter(line.attribute for line in lines if line.title in alarmed)
    ranks = []
    for line in lines:
        if line.title in alarmed:
            ranks.append(0)
        else:
            shown[line.attribute] += 1
            ranks.append(shown[line.attribute])
    order = sorted(range(len(lines)), key=ranks.__getitem__)[:most]
    return [lines[i] for i in sorted(order, key=lambda i: (ranks[i] > 0, i))]


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
    if not quiet.all():
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
    axes.locator_params(axis="y", nbins=_STEPS)


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
