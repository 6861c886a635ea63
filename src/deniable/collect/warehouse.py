"""Shows results over days from tables of reports, without a collector's store, survey and intake."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import final

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from deniable.arrays import Floats
from deniable.collect import messages
from deniable.collect.app import Settings
from deniable.collect.front import Front, Scope, Send
from deniable.collect.intake import Served
from deniable.collect.joining import Before, Shown
from deniable.collect.limits import Receive
from deniable.collect.messages import Refusal
from deniable.collect.metrics import Metrics
from deniable.collect.openapi import OPERATIONS
from deniable.collect.requests import respond
from deniable.collect.viewing import Views
from deniable.errors import DeniableError
from deniable.frames import Show
from deniable.plan.chain import list_last
from deniable.plan.document import PlanDocument
from deniable.reports import Tallies
from deniable.reports.reports import tally_reports
from deniable.results.kept_tallies import KeptTallies
from deniable.results.windows import join_others, read_first_day
from deniable.series import Alarm, Series
from deniable.series.series import read_days
from deniable.store.access import Access
from deniable.store.schedule import Offer
from deniable.store.sweeping import Traces
from deniable.study import Plan

SECONDS = 60.0
"""Seconds until files are looked at again."""
_LEVEL = 0.95
_DIGITS = 6
_UNEXPECTED = "an error that nobody expected; the log of deniable serve has it"
_log = logging.getLogger("deniable.collect")


@final
class Nobody:
    """Nobody has a token of their own: there is no store that could keep it."""

    def find(self, hashed: bytes) -> Access | None:
        """Nobody."""
        return None


@final
@dataclass(frozen=True)
class Counted:
    """The tallies of a plan and of those that it continues, and what they say."""

    kept: KeptTallies
    plan_id: str
    """The plan that is shown: the last one that has a day with enough reports."""
    last: Shown
    """The last day on which this plan has enough reports."""
    days: messages.Days | None
    """None where no day has enough."""
    when: datetime
    """When tables were counted last."""
    outdated: messages.Outdated | None = None
    """Why tables could not be counted again; None where they could at the last look."""


@final
class Warehouse:
    """Tables of reports that are counted by day where they are, and again where files are new or changed.

    Its results are those of the last day: days are not added up, since the same people may report on several.
    Plans that continue each other are one, with one series. Until the newest of them has a day with enough
    reports, those before it are shown without it. While tables cannot be read, results are those of the last
    count, and say so.
    """

    def __init__(
        self, plans: Iterable[Plan], source: str, table: str | None, by: str, minimum: int, show: Show | None
    ) -> None:
        self.access = Nobody()
        self._source, self._by, self._minimum = source, by, minimum
        self._counting = threading.Lock()
        self._counted: dict[str, Counted] = {}  # by the newest plan of each chain, which may not be shown yet
        for document in list_last([plan.document for plan in plans]):
            keys = (by,) if document.rounds is None else (by, document.table_form.round_column)
            self._counted[document.id] = self._count(KeptTallies.begin(document, keys, None, table), show)
        self._looked = time.monotonic()

    def offers(self) -> dict[str, Offer]:
        """Every plan that is shown, without rounds: a table does not say when they were open."""
        self._look()
        return {counted.plan_id: Offer(False, []) for counted in self._counted.values()}

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The tallies of a round on all days; without one, those of the last day."""
        shown = self.show(plan_id, number)
        return shown.tallies.round if number is None else number, shown.tallies

    def show(self, plan_id: str, number: int | None = None) -> Shown:
        """A round on all days; without one, the last day with all that is joined.

        All of it is of one count, even if tables are counted again meanwhile.
        """
        counted = self._find(plan_id)
        shown = counted.last if number is None else self._show_round(counted, plan_id, number)
        if counted.outdated is not None and shown.n < self._minimum:
            raise _explain_outdated(counted.outdated)
        return replace(shown, outdated=counted.outdated)

    def _show_round(self, counted: Counted, plan_id: str, number: int) -> Shown:
        of_plan = next(part for part in counted.kept.chain if part.document.id == plan_id)
        rounds = of_plan.document.rounds or 1
        if number > rounds:
            raise Refusal("parameter", f"This plan has no round {number}: it has rounds 1 to {rounds}.")
        return Shown(number, of_plan.choose_round(number).tally())

    def history(self, plan_id: str, number: int) -> list[Tallies]:
        """Refuse it: reports of a table are not in a random order."""
        raise Refusal("parameter", "Reports of a table are in no random order, so they have no history.")

    def show_days(self, plan_id: str) -> messages.Days:
        """The numbers of all days, and alarms."""
        counted = self._find(plan_id)
        if counted.days is not None and counted.outdated is None:
            return counted.days
        if counted.days is not None:
            return msgspec.structs.replace(counted.days, outdated=counted.outdated)
        if counted.outdated is not None:
            raise _explain_outdated(counted.outdated)
        raise Refusal("few", f"No day has {self._minimum:,} reports yet.")

    def check(self) -> None:
        """Refuse unless all tables could be read when they were looked at last."""
        self._look()
        for counted in self._counted.values():
            if counted.outdated is not None:
                raise _explain_outdated(counted.outdated)

    def _find(self, plan_id: str) -> Counted:
        self._look()
        counted = next((each for each in self._counted.values() if each.plan_id == plan_id), None)
        if counted is None:
            raise Refusal("plan", "This plan is shown with another one, which continues it.")
        return counted

    def _look(self) -> None:
        """Look at tables again if that is due; one thread looks, and others take what was counted last."""
        if time.monotonic() - self._looked > SECONDS and self._counting.acquire(blocking=False):
            try:
                counted_now: dict[str, Counted] = {}
                for newest, before in self._counted.items():
                    counted_now[newest] = self._count_again(before)
                self._counted = counted_now
            finally:
                self._looked = time.monotonic()
                self._counting.release()

    def _count_again(self, before: Counted) -> Counted:
        """What tables have now; what they had at the last count, and why, where they cannot be read."""
        try:
            counted = self._count(before.kept, before=before)
        except (DeniableError, OSError) as problem:  # such as a folder that was moved
            _log.warning("a table could not be counted again: %s", problem)
            return replace(before, outdated=messages.Outdated(before.when, str(problem)))
        except Exception as problem:  # what nobody expected must not leave old results without a word
            _log.error("a table could not be counted again", exc_info=problem)
            return replace(before, outdated=messages.Outdated(before.when, _UNEXPECTED))
        if before.outdated is not None:
            _log.warning("the tables of plan %s can be read again", counted.plan_id[:12])
        return counted

    def _count(self, kept: KeptTallies, show: Show | None = None, before: Counted | None = None) -> Counted:
        when = datetime.now(UTC)
        if self._source.endswith(".json") and Path(self._source).is_file():
            now = KeptTallies.read(self._source, kept.document)
        else:
            now, changes = kept.count(self._source, gone="drop", show=show)
            for name in changes.damaged:
                _log.warning("damaged, and set aside until mended: %s", name)
        if before is not None and now == kept:
            return replace(before, when=when, outdated=None)
        of_plans = now.list_windows(self._by)
        days_by_plan = read_days(of_plans)
        by_plan = [days_by_plan.get(part.document.id, {}) for part in now.chain]
        reports = [{day: sum(part.n for part in rounds) for day, rounds in days.items()} for days in by_plan]
        enough = [[day for day, n in by_day.items() if n >= self._minimum] for by_day in reports]
        newest = max((i for i, days in enumerate(enough) if days), default=len(by_plan) - 1)
        document, by_plan = now.chain[newest].document, by_plan[: newest + 1]
        last_day = max(enough[newest], default=max(by_plan[-1], default=None))
        last = Shown(None, tally_reports(document, []))
        if last_day is not None:
            plans = [part.document for part in now.chain[: newest + 1]]
            last = _read_day(last_day, plans, [days.get(last_day, []) for days in by_plan])
        n = Counter[date | None]()
        for by_day in reports[: newest + 1]:
            n.update(by_day)
        of_days = [
            replace(
                windows,
                tallies={
                    key: part for key, part in windows.items() if n[read_first_day(key)] >= self._minimum
                },
            )
            for windows in of_plans[: newest + 1]
        ]
        days = describe_days(Series.of(document, of_days), self._by) if any(of_days) else None
        return Counted(now, document.id, last, days, when)


def _explain_outdated(outdated: messages.Outdated) -> Refusal:
    """That tables cannot be read. Why may name places, and is said to those who may read results."""
    when = f"{outdated.counted:%Y-%m-%dT%H:%M:%SZ}"
    return Refusal(
        "store",
        f"The tables of reports cannot be read; they were counted last at {when}. The log says why, and so "
        "do results, which are those of that count.",
    )


def _read_day(day: date, plans: Sequence[PlanDocument], rounds: Sequence[Sequence[Tallies]]) -> Shown:
    """The reports of a day in each round of each plan, the most of the last plan last, and whose they are.

    A device reports to one plan a day. Reports of several rounds of a plan may be those of the same people.
    """
    parts = [join_others(plan, of_plan) for plan, of_plan in zip(plans, rounds, strict=True)]
    is_apart = all(len(of_plan) <= 1 for of_plan in parts)
    *others, last = (tallies for of_plan in parts for tallies in of_plan)
    number = last.round if len(parts[-1]) == 1 else None
    return Shown(number, last, Before(tuple(others), "others" if is_apart else "same"), day)


def describe_days(series: Series, by: str) -> messages.Days:
    """All numbers of a series, with their intervals, and the alarms."""
    alarms = series.alarms()
    lines = []
    for line in series.lines:
        low, high = line.interval(_LEVEL)
        columns = [_write_column(column, line.n) for column in (line.numbers, low, high)]
        lines.append(messages.DayLine(line.attribute, line.value, line.kind, *columns))
    return messages.Days(
        plan=series.document.id,
        by=by,
        level=_LEVEL,
        rate=1 / alarms.rule.days,
        dates=list(map(str, series.dates)),
        reports=series.reports.astype(np.int64).tolist(),
        lines=lines,
        alarms=[
            messages.DayAlarm(
                *_write_alarm(alarm), [messages.Moved(*_write_alarm(other)) for other in alarm.mirrored]
            )
            for alarm in alarms
        ],
        bursts=[messages.Burst(str(day), round(times, 2)) for day, times in alarms.bursts.items()],
        left_out=dict(series.left_out),
        breaks=[messages.Break(str(begun.day), begun.name, begun.why) for begun in series.breaks],
        plans=series.plans,
    )


def _write_alarm(alarm: Alarm) -> tuple[str, str, str, str]:
    """The day of an alarm, its number, and what it says."""
    return str(alarm.day), alarm.attribute, alarm.value, str(alarm)


def _write_column(column: Floats, n: Floats) -> list[float | None]:
    """Numbers in a few digits; None on days without reports."""
    return [
        float(f"{number:.{_DIGITS}g}") if reports else None
        for number, reports in zip(column.tolist(), n.tolist(), strict=True)
    ]


@final
class Dashboard:
    """Serves the dashboard of a warehouse to whoever has the token."""

    def __init__(self, warehouse: Warehouse, served: Sequence[Served], settings: Settings) -> None:
        self._warehouse = warehouse
        views = Views(
            warehouse,
            {survey.plan.id: survey for survey in served},
            settings.token,
            settings.minimum,
            role="reader",
            days=warehouse.show_days,
            show=warehouse.show,
        )
        handlers = [
            (operation, views.guard(operation, getattr(owner, operation.name)))
            for operation in OPERATIONS
            for owner in (self, views)
            if hasattr(owner, operation.name)
        ]
        self._views = views
        self.front = Front(handlers, Metrics(Traces()), settings.limits)

    async def show_ready(self, _: Request) -> Response:
        await self._views.read(self._warehouse.check)
        return respond(messages.Status("ok"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.front(scope, receive, send)
        elif scope["type"] == "lifespan":
            await receive()
            self.front.name_state(scope)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
