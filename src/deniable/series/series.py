"""The door to a plan over days: its numbers, drawings and alarms."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import FileMissing, InvalidParameter, InvalidReport, not_among
from deniable.exact import number
from deniable.formatting import Printed, format_count, shorten_names
from deniable.frames import Backend, Show, frame_of_rows
from deniable.frames.files import TALLIES, file_kind
from deniable.plan.chain import list_last
from deniable.plan.document import PlanDocument
from deniable.plan.strict_json import InvalidPlan
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.results.windows import Windows, describe_refused, join_refused, read_first_day, tally_chain
from deniable.series.lines import ADDED, Line, read_lines
from deniable.series.rule import BURST, Alarm, Alarms, Rule, find_alarms, find_bursts, join_mirrored
from deniable.series.spans import Days

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.rounds.differences import People

_MOST_DAYS = 20_000


class _Documented(Protocol):
    """A plan that was read already."""

    @property
    def document(self) -> PlanDocument: ...


@final
@dataclass(frozen=True)
class Break(Printed):
    """A day from which on a series is of a plan that asks the question anew, or has the answer."""

    day: date
    name: str
    """The attribute, or the attribute and the value, where an answer was added."""
    why: str

    def __str__(self) -> str:
        return f"{self.day}: {self.name} begins anew, and is compared with no day before: {self.why}"


@final
@dataclass(frozen=True, eq=False)
class Series(Printed):
    """The shares and means of a plan over days, and of the plans that it continues.

    A day's number is that of all people who reported to any of these plans. Of an attribute with two values,
    the rarer one is followed, which says all; of others, each value; of numbers and ranges, the mean.
    """

    document: PlanDocument
    """The plan, which has those that it continues."""
    dates: tuple[date, ...]
    """All days from the first to the last one with reports."""
    reports: Floats
    """How many reports each day has."""
    lines: tuple[Line, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The attributes that are not followed, and why."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """How many rows were not counted, by reason."""
    breaks: tuple[Break, ...] = ()
    """Where a plan asks a question anew."""
    plans: int = 1
    """How many plans that continue each other have reports."""

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

        The plan is a plan, or a file or a pattern of files: of plans that continue each other, the last one
        says all. `people` says who reports on several days: "others" is new people every day, "population"
        the same people, "same" or not. A plan that asks each person once is taken to have others, one
        that asks again the same. Days after `until` are left out.
        """
        document = _read_document(plan)
        if isinstance(reports, str | Path) and str(reports).endswith(".json"):
            kept = KeptTallies.read(reports, document)
            windows = (kept if number is None else kept.choose_round(number)).list_windows(by)
        else:
            windows = tally_chain(document, reports, table, by, number, show)
        return Series.of(document, windows, people, until)

    @staticmethod
    def of(
        document: PlanDocument,
        windows: Windows | Sequence[Windows],
        people: People | None = None,
        until: date | None = None,
    ) -> Series:
        """The series of tallies by day, of a plan and of those that it continues."""
        if people not in (None, "others", "population"):
            raise InvalidParameter(f'people is "others" or "population", got {people!r}')
        whole = [windows] if isinstance(windows, Windows) else windows
        of_plans = [part for each in whole for part in (*each.before, replace(each, before=()))]
        by_plan = read_days(of_plans, until)
        every_day = [day for by_day in by_plan.values() for day in by_day]
        if not every_day:
            raise InvalidReport(f"there are no reports on any {of_plans[0].by[0]}")
        first, last = min(every_day), max(every_day)
        length = (last - first).days + 1
        if length > _MOST_DAYS:
            raise InvalidParameter(
                f"a series has at most {_MOST_DAYS:,} days, got {length:,}, from {first} to {last}; is the "
                "column a day?"
            )
        dates = tuple(first + timedelta(days=t) for t in range(length))
        plans = [
            (plan, [by_plan.get(plan.id, {}).get(day, []) for day in dates])
            for plan in (*document.continues, document)
        ]
        counted = [(plan, days) for plan, days in plans if plan.id in (document.id, *by_plan)]
        reports = np.array([[sum(part.n for part in day) for day in days] for _, days in counted], np.float64)
        lines, left_out = read_lines(counted, people)
        breaks = {
            (t, line.title if why == ADDED else line.attribute): why
            for line in lines
            for t, why in line.breaks.items()
        }
        return Series(
            document,
            dates,
            reports.sum(axis=0),
            tuple(lines),
            left_out,
            join_refused(document.id, of_plans),
            tuple(Break(dates[t], name, why) for (t, name), why in sorted(breaks.items())),
            sum(map(bool, by_plan.values())),
        )

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
        return Alarms(join_mirrored(alarms), left_out, len(self.lines), rule)

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
        refused = [describe_refused(self.refused)] if self.refused else []
        return "\n".join([text, *refused, *map(str, self.breaks), *left_out])


def _read_document(plan: str | Path | _Documented) -> PlanDocument:
    """The document of a series: of several plans, the one that continues all others."""
    if not isinstance(plan, str | Path):
        if not hasattr(plan, "document"):
            raise InvalidParameter(
                f"a series is of a plan, or of a file or pattern of plans, got {type(plan).__name__}"
            )
        return plan.document
    names = sorted(glob.glob(str(plan), recursive=True)) or [str(plan)]
    if not Path(plan).is_file():  # tallies are often kept beside plans
        names = [name for name in names if not (Path(name).is_file() and file_kind(Path(name)) == TALLIES)]
    if not names or not all(Path(name).is_file() for name in names):
        raise FileMissing(f"there is no file {plan}; deniable plan makes one")
    last = list_last(list(map(_read_plan, names)))
    if len(last) > 1:
        raise InvalidParameter(
            f"a series is of one plan, or of plans that continue each other, and {plan} names "
            f"{len(last)} that do not: {shorten_names(names)}; name one"
        )
    return last[0]


def _read_plan(name: str) -> PlanDocument:
    """The plan in one of the files of a pattern, which its refusal names."""
    try:
        return PlanDocument.read(name)
    except InvalidPlan as problem:
        raise InvalidPlan(f"{name} is refused: {problem}", problem.reason) from None


def read_days(of_plans: Sequence[Windows], until: date | None = None) -> dict[str, dict[date, list[Tallies]]]:
    """The tallies of each plan on each day that has reports: those of each round, the most reports last.

    Days are in the first column that windows are by.
    """
    by_plan: dict[str, dict[date, list[Tallies]]] = {}
    for windows in of_plans:
        for window, in_window in windows.items():
            days = by_plan.setdefault(in_window.plan_id, {})
            if not in_window.n:
                continue
            day = read_first_day(window)
            if day is None:
                raise InvalidReport(
                    f"{windows.by[0]!r} is a column of days, such as 2026-11-17, got {window!r}; write the "
                    "day into it, or name another column"
                )
            if until is not None and day > until:
                continue
            rounds = days.setdefault(day, [])
            known = next((i for i, tallies in enumerate(rounds) if tallies.round == in_window.round), None)
            if known is None:
                rounds.append(in_window)
            else:
                rounds[known] += in_window
    for days in by_plan.values():
        for rounds in days.values():
            rounds.sort(key=lambda tallies: tallies.n)
    return by_plan
