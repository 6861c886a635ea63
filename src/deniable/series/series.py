"""The door to a plan over days: its numbers, drawings and alarms."""

from __future__ import annotations

import glob
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import FileMissing, InvalidParameter, InvalidReport, not_among
from deniable.exact import number
from deniable.formatting import Printed, format_count, shorten_names
from deniable.frames import Backend, Show, frame_of_rows
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.results.windows import Windows, tally_source
from deniable.series.lines import Line, read_lines
from deniable.series.rule import BURST, Alarm, Alarms, Rule, find_alarms, find_bursts
from deniable.series.spans import Days

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.rounds.differences import People

_MOST_DAYS = 20_000
_WRITTEN = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})(?!\d)")


class _Documented(Protocol):
    """A plan that was read already."""

    @property
    def document(self) -> PlanDocument: ...


@final
@dataclass(frozen=True, eq=False)
class Series(Printed):
    """The shares and means of a plan over days.

    Of an attribute with two values, the rarer one is followed, which says all; of others, each value; of
    numbers and ranges, the mean.
    """

    document: PlanDocument
    dates: tuple[date, ...]
    """All days from the first to the last one with reports."""
    reports: Floats
    """How many reports each day has."""
    lines: tuple[Line, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The attributes that are not followed, and why."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many rows were not counted, by reason."""

    @staticmethod
    def read(
        plan: str | Path | _Documented,
        reports: object,
        table: str | None = None,
        *,
        by: str = "day",
        people: People | None = None,
        number: int | None = None,
        until: date | None = None,
        show: Show | None = None,
    ) -> Series:
        """Count a table of reports by day, or read the tallies that `deniable tally` keeps in a JSON file.

        The plan is a file, a pattern of one, or a plan. `people` says who reports on several days: "others"
        is new people every day, "population" the same people, "same" or not. A plan that asks once is taken
        to have others, one with rounds the same. Days after `until` are left out.
        """
        document = _read_document(plan)
        if isinstance(reports, str | Path) and str(reports).endswith(".json"):
            kept = KeptTallies.read(reports, document)
            windows = (kept if number is None else kept.choose_round(number)).tally_windows(by)
        else:
            counted = tally_source(document, reports, table, by, number, show)
            assert isinstance(counted, Windows)
            windows = counted
        return Series.of(document, windows, people, until)

    @staticmethod
    def of(
        document: PlanDocument, windows: Windows, people: People | None = None, until: date | None = None
    ) -> Series:
        """The series of tallies by day."""
        by_day = read_days(windows, until)
        if not by_day:
            raise InvalidReport(f"there are no reports on any {windows.by[0]}")
        first, last = min(by_day), max(by_day)
        length = (last - first).days + 1
        if length > _MOST_DAYS:
            raise InvalidParameter(
                f"a series has at most {_MOST_DAYS:,} days, got {length:,}, from {first} to {last}; is the "
                "column a day?"
            )
        dates = tuple(first + timedelta(days=t) for t in range(length))
        days = [by_day.get(day) for day in dates]
        reports = np.array([0 if tallies is None else tallies.n for tallies in days], dtype=np.float64)
        lines, left_out = read_lines(document, days, people)
        return Series(document, dates, reports, tuple(lines), left_out, windows.refused)

    def alarms(self, days: float = 1000, spread: bool = True, least: float = 0.1) -> Alarms:
        """The days on which a number moved: at most one false alarm in so many days over all numbers.

        Spans of 1, 2, 4, 7 and 14 days are compared with the same weekdays of the eight weeks before. How
        much days vary beyond noise is learned from them; without `spread`, they are taken to vary by noise
        alone, which finds less and sooner. A change is at least this part of the share before, or of the
        rest where that is smaller. There is no alarm in the first five weeks.
        """
        return self._find_alarms(self.lines, Rule(days, spread, least))

    def _find_alarms(self, lines: Sequence[Line], rule: Rule) -> Alarms:
        """The alarms of some lines, at the rate of all."""
        quiet = self.bursts <= BURST
        shared: dict[bytes, Days] = {}
        alarms: list[Alarm] = []
        for line in lines:
            nothing = Days(line.n, quiet, np.zeros(len(self.dates), dtype=np.int64))
            same_days = shared.setdefault(line.n.tobytes(), nothing)
            alarms += find_alarms(line, same_days, self.dates, self.bursts, rule, len(self.lines))
        left_out = {day: float(self.bursts[t]) for t, day in enumerate(self.dates) if not quiet[t]}
        return Alarms(tuple(sorted(alarms, key=lambda alarm: alarm.day)), left_out, len(self.lines), rule)

    @cached_property
    def bursts(self) -> Floats:
        """How many times the usual reports each day has."""
        return find_bursts(self.reports)

    def choose(self, names: Sequence[str]) -> list[Line]:
        """The lines of these attributes; of all, without any."""
        known = dict.fromkeys(line.attribute for line in self.lines)
        for name in names:
            if name in self.left_out:
                raise InvalidParameter(f"{name!r} is not followed: {self.left_out[name]}")
            if name not in known:
                raise InvalidParameter(not_among(name, "an attribute", known))
        return [line for line in self.lines if not names or line.attribute in names]

    def plot(self, *names: str, days: float = 1000, level: float = 0.95) -> Figure:
        """A figure of matplotlib: a panel for each number of these attributes, with alarms at this rate.

        Each has an axis of its own, on which a share that doubles is seen.
        """
        from deniable.series.plot import Days, plot_lines

        lines = self.choose(names)
        alarms = self._find_alarms(lines, Rule(days))
        days_shown = Days(tuple(self.dates), self.bursts)
        return plot_lines(self.document.title, days_shown, lines, alarms, number("level", level, 0.0, 1.0))

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """A row for each number on each day with reports."""
        rows = []
        for line in self.lines:
            low, high = line.interval(level)
            about = {"attribute": line.attribute, "value": line.value, "kind": line.kind}
            for t in np.flatnonzero(line.n).tolist():
                ends = {"number": float(line.numbers[t]), "low": float(low[t]), "high": float(high[t])}
                rows.append({"day": str(self.dates[t]), **about, "n": int(line.n[t]), **ends})
        return rows

    def frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """A row for each number on each day, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(level), backend)

    def __str__(self) -> str:
        days = f"{format_count(len(self.dates), 'day')}, {self.dates[0]} to {self.dates[-1]}"
        text = f"{days}: {format_count(int(self.reports.sum()), 'report')}, {len(self.lines):,} series"
        left_out = [f"not followed: {name}, {why}" for name, why in self.left_out.items()]
        return "\n".join([text, *left_out])


def _read_document(plan: str | Path | _Documented) -> PlanDocument:
    """The document of the one plan of a series."""
    if not isinstance(plan, str | Path):
        return plan.document
    names = sorted(glob.glob(str(plan), recursive=True)) or [str(plan)]
    if len(names) > 1:
        raise InvalidParameter(
            f"a series is of one plan, and {plan} names {len(names)}: {shorten_names(names)}; name one"
        )
    if not Path(names[0]).is_file():
        raise FileMissing(f"there is no file {plan}; deniable plan makes one")
    return PlanDocument.read(names[0])


def read_days(windows: Windows, until: date | None = None) -> dict[date, Tallies]:
    """The tallies of each day that has reports; days are in the first column that windows are by."""
    by_day: dict[date, Tallies] = {}
    for values, in_window in windows.items():
        if not in_window.n:
            continue
        window = values[0] if isinstance(values, tuple) else values
        day, tallies = read_day(window), replace(in_window, round=1)  # late reports are of others
        if day is None:
            raise InvalidReport(
                f"{windows.by[0]!r} is a column of days, such as 2026-11-17, got {window!r}; write the day "
                "into it, or name another column"
            )
        if until is None or day <= until:
            by_day[day] = by_day[day] + tallies if day in by_day else tallies
    return by_day


def read_day(window: Hashable) -> date | None:
    """A day as a date, a time, or text or a number such as 2026-11-17 or 20261117; None of anything else.

    >>> read_day("2026-11-17") == read_day(20261117) == date(2026, 11, 17)
    True
    >>> read_day("Tuesday") is read_day(1712121234) is None
    True
    """
    if isinstance(window, datetime):
        return window.date()
    if isinstance(window, date):
        return window
    written = _WRITTEN.match(str(window))
    try:
        return None if written is None else date(*map(int, written.groups()))
    except ValueError:
        return None
