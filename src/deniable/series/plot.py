"""Draws numbers over days, each in a panel with an axis of its own, with bands and alarms.

All panels are drawn at once, in inches of the figure. The axes of matplotlib would take longer than all that
is drawn on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.formatting import fill_paragraph
from deniable.plot.figure import ESTIMATE, GRID, INK, NOISE, format_tick, require_matplotlib, style
from deniable.plot.looks import BLUE
from deniable.series.lines import ADDED, Line
from deniable.series.rule import BURST, Alarm, Alarms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS, _COLUMNS = 24, 3
_ALONE, _ROW, _ROWS = (7.0, 2.6), (4.6, 2.2), (3.5, 1.6)  # inches of a panel: alone, in a row, and in several
_LEFT, _RIGHT, _ABOVE, _BELOW = 0.7, 0.2, 0.25, 0.15  # inches, of these around a panel
_EDGE, _LINE, _DAYS, _GAP = 0.1, 0.18, 0.25, 0.06  # inches: of the figure, of a title, of days, beside a tick
_TICKS, _STEPS, _FEW_MONTHS = 5, 3, 3  # on an axis of days, and of numbers
_ROOM, _BESIDE = 0.15, 0.03  # of what is drawn: above and below it, and beside it
_WIDEST_BAND = 3.0  # times what the numbers span: of wider bands, only a part is seen


@final
@dataclass(frozen=True)
class Days:
    """The days of a series: their dates, and how many times the usual reports each has."""

    dates: tuple[date, ...]
    bursts: Floats


class Span(NamedTuple):
    """What lies between two ends of an axis, and where the ends are, in inches."""

    low: float
    high: float
    start: float
    length: float

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends, in inches."""
        return self.start, self.start + self.length

    def place(self, numbers: Floats) -> Floats:
        """Where numbers are drawn; at an end, those beyond it."""
        parts = (numbers - self.low) / (self.high - self.low)
        return np.asarray(self.start + self.length * np.clip(parts, 0.0, 1.0))


@final
@dataclass(frozen=True)
class Panel:
    """A line with its intervals, and the two axes on which it is drawn."""

    line: Line
    low: Floats
    high: Floats
    across: Span
    up: Span
    has_days: bool
    """Whether days are named below."""

    @property
    def numbers(self) -> Floats:
        """The number of each day that has reports."""
        return np.where(self.line.n > 0, self.line.numbers, np.nan)

    @property
    def steps(self) -> list[float]:
        """The numbers that are named beside it."""
        from matplotlib.ticker import MaxNLocator

        ticks = MaxNLocator(nbins=_STEPS, steps=[1, 2, 2.5, 5, 10]).tick_values(self.up.low, self.up.high)
        return [tick for tick in ticks if self.up.low <= tick <= self.up.high]


def plot_lines(title: str, days: Days, lines: Sequence[Line], alarms: Alarms, level: float) -> Figure:
    """A panel for each line; of too many, those with alarms, and then of every attribute equally many."""
    require_matplotlib()
    from deniable.plot.charts import LETTER
    from deniable.plot.picture import Picture

    by_title: dict[str, list[Alarm]] = {line.title: [] for line in lines}
    for alarm in alarms.numbers:
        by_title[f"{alarm.attribute}: {alarm.value}"].append(alarm)
    chosen = choose_lines(lines, {title for title, alarms in by_title.items() if alarms}, _PANELS)
    which = "" if len(chosen) == len(lines) else f"; {len(chosen)} of {len(lines):,} series, alarms first"
    columns = min(_COLUMNS, len(chosen))
    wide, tall = _ALONE if len(chosen) == 1 else _ROW if len(chosen) == columns else _ROWS
    heading = fill_paragraph(
        f"{title or 'Series'} by day, {100 * level:g} % intervals; at most one false "
        f"alarm in {alarms.rule.days:,.0f} days{which}",
        round(columns * wide / LETTER),
    )
    body = tall * -(-len(chosen) // columns) + _DAYS
    size = (columns * wide, body + _EDGE + _LINE * (2 + heading.count("\n")))
    panels = []
    for i, line in enumerate(chosen):
        corner = (i % columns * wide, body - (i // columns + 1) * tall)
        panels.append(_lay_out(line, days, level, corner, (wide, tall), i + columns >= len(chosen)))
    with style():
        figure = Picture(figsize=size)
        figure.text(_EDGE / size[0], 1 - _EDGE / size[1], heading, va="top", fontsize=10)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(0, size[1]))
        axes.set_axis_off()
        _draw_axes(axes, panels, days.dates)
        _draw_numbers(axes, panels, days)
        _draw_alarms(axes, [(panel, by_title[panel.line.title]) for panel in panels], days.dates)
        _draw_breaks(axes, panels, days.dates)
    return figure


def _lay_out(
    line: Line,
    days: Days,
    level: float,
    corner: tuple[float, float],
    size: tuple[float, float],
    has_days: bool,
) -> Panel:
    """The panel of a line, of this size with all around it, whose lower left corner is there."""
    low, high = line.interval(level)
    first, last = days.dates[0].toordinal(), days.dates[-1].toordinal()
    room = max(0.5, _BESIDE * (last - first))
    across = Span(first - room, last + room, corner[0] + _LEFT, size[0] - _LEFT - _RIGHT)
    ends = find_ends(np.where(line.n > 0, line.numbers, np.nan), low, high, line.is_share)
    up = Span(*ends, corner[1] + _BELOW, size[1] - _BELOW - _ABOVE)
    return Panel(line, low, high, across, up, has_days)


def _draw_axes(axes: Axes, panels: Sequence[Panel], dates: Sequence[date]) -> None:
    """The titles of panels, their axes, and what is named on them."""
    ticks, labels = list_ticks(dates)
    rows: list[tuple[float, float, float]] = []
    columns: list[tuple[float, float, float]] = []
    for panel in panels:
        (left, right), (bottom, top) = panel.across.ends, panel.up.ends
        axes.text(left, top + _GAP, panel.line.title, va="bottom", parse_math=False)
        for step, at in zip(panel.steps, panel.up.place(np.array(panel.steps)).tolist(), strict=True):
            name = format_tick(step, 0) if panel.line.is_share else f"{step:,.6g}"
            axes.text(left - _GAP, at, name, ha="right", va="center_baseline")
            rows.append((at, left, right))
        for label, at in zip(labels, panel.across.place(_count(ticks)).tolist(), strict=True):
            if panel.has_days:
                axes.text(at, bottom - _GAP, label, ha="center", va="top")
            columns.append((at, bottom, top))
    axes.hlines(*zip(*rows, strict=True), **GRID)
    axes.vlines(*zip(*columns, strict=True), **GRID)
    corners = [_corner(panel) for panel in panels]
    axes.plot(*np.concatenate(corners).T, color=INK, linewidth=0.8)


def _corner(panel: Panel) -> Floats:
    """Points of the two axes of a panel, and a gap."""
    (left, right), (bottom, top) = panel.across.ends, panel.up.ends
    return np.array([(left, top), (left, bottom), (right, bottom), (np.nan, np.nan)])


def _draw_numbers(axes: Axes, panels: Sequence[Panel], days: Days) -> None:
    """The numbers of quiet days with bands for their intervals, and those of days with a burst."""
    quiet, at = days.bursts <= BURST, _count(days.dates)
    across = _follow(panels, lambda panel: panel.across.place(at))
    low = _follow(panels, lambda panel: panel.up.place(panel.low))
    high = _follow(panels, lambda panel: panel.up.place(panel.high))
    axes.fill_between(across, low, high, color=BLUE, alpha=0.16, linewidth=0)
    numbers = _follow(panels, lambda panel: panel.up.place(np.where(quiet, panel.numbers, np.nan)))
    axes.plot(across, numbers, color=BLUE, linewidth=1.1)
    if not quiet.all():
        bursts = _follow(panels, lambda panel: panel.up.place(np.where(quiet, np.nan, panel.numbers)))
        axes.plot(across, bursts, linestyle="none", marker="x", color=NOISE, markersize=5)


def _draw_alarms(axes: Axes, alarmed: Sequence[tuple[Panel, Sequence[Alarm]]], dates: Sequence[date]) -> None:
    """A line through the panel and a dot on the number, of every alarm."""
    for panel, alarms in alarmed:
        days = [alarm.day for alarm in alarms]
        at, up = panel.across.place(_count(days)), panel.up
        axes.vlines(at, *up.ends, color=ESTIMATE, linewidth=0.8, linestyle="--")
        numbers = up.place(panel.numbers[[dates.index(day) for day in days]])
        axes.plot(at, numbers, linestyle="none", marker="o", color=ESTIMATE, markersize=5)


def _draw_breaks(axes: Axes, panels: Sequence[Panel], dates: Sequence[date]) -> None:
    """A dotted line, and why, where an answer was added or a question is asked anew."""
    for panel in panels:
        for t, why in panel.line.breaks.items():
            [at], (bottom, top) = panel.across.place(_count([dates[t]])), panel.up.ends
            axes.vlines(at, bottom, top, color=NOISE, linewidth=1.2, linestyle=":")
            axes.text(at, top, f" {'added' if why == ADDED else 'asked anew'}", va="top", fontsize=7)


def _count(days: Iterable[date]) -> Floats:
    """The numbers of days, of which one day has one more than the day before it."""
    return np.array([day.toordinal() for day in days], dtype=np.float64)


def _follow(panels: Iterable[Panel], draw: Callable[[Panel], Floats]) -> Floats:
    """What is drawn in each panel, after one another, with gaps between."""
    return np.concatenate([np.append(draw(panel), np.nan) for panel in panels])


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
