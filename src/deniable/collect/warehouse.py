"""Shows results over days from tables of reports, without a collector's store, survey and intake."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.collect import messages
from deniable.collect.app import Settings
from deniable.collect.front import Front, Scope, Send
from deniable.collect.intake import Served
from deniable.collect.limits import Receive
from deniable.collect.messages import Refusal
from deniable.collect.metrics import Metrics
from deniable.collect.openapi import OPERATIONS
from deniable.collect.viewing import Views
from deniable.errors import DeniableError
from deniable.frames import Show
from deniable.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.results.windows import Windows
from deniable.series import Series
from deniable.series.series import read_days
from deniable.store.access import Access
from deniable.store.schedule import Offer, Times
from deniable.store.sweeping import Traces
from deniable.study import Plan

SECONDS = 60.0
"""Seconds until files are looked at again."""
_LEVEL = 0.95
_DIGITS = 6
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
    """The tallies of one plan, when they were counted, and what they say."""

    kept: KeptTallies
    last: Tallies
    """Those of the last day that has enough reports."""
    days: messages.Days | None
    """None where no day has enough."""


@final
class Warehouse:
    """Tables of reports that are counted by day where they are, and again where files are new or changed.

    Its results are those of the last day: days are not added up, since the same people may report on several.
    """

    def __init__(
        self, plans: Iterable[Plan], source: str, table: str | None, by: str, minimum: int, show: Show | None
    ) -> None:
        self.access = Nobody()
        self._source, self._by, self._minimum = source, by, minimum
        self._counting = threading.Lock()
        documents = [plan.document for plan in plans]
        self._counted: dict[str, Counted] = {}
        for document in documents:
            keys = (by,) if document.rounds is None else (by, document.table_form.round_column)
            self._counted[document.id] = self._count(KeptTallies(document, keys, None, table), show)
        self._looked = time.monotonic()

    def offers(self) -> dict[str, Offer]:
        """Every plan is offered as if it had one round that never closes."""
        return {plan_id: Offer(False, [Times(1, None, None)]) for plan_id in self._counted}

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The tallies of the last day."""
        return 1, self._look(plan_id).last

    def history(self, plan_id: str, number: int) -> list[Tallies]:
        """None: reports of a table are not in a random order."""
        return []

    def show_days(self, plan_id: str) -> messages.Days:
        """The numbers of all days, and alarms."""
        days = self._look(plan_id).days
        if days is None:
            raise Refusal("few", f"No day has {self._minimum:,} reports yet.")
        return days

    def _look(self, plan_id: str) -> Counted:
        """What was counted, looked at again if that is due; one thread looks, and others take the last."""
        if time.monotonic() - self._looked > SECONDS and self._counting.acquire(blocking=False):
            try:
                for known, counted in list(self._counted.items()):
                    try:
                        self._counted[known] = self._count(counted.kept, before=counted)
                    except (DeniableError, OSError) as problem:  # such as a file that is being written
                        _log.warning("a table could not be counted again: %s", problem)
            finally:
                self._looked = time.monotonic()
                self._counting.release()
        return self._counted[plan_id]

    def _count(self, kept: KeptTallies, show: Show | None = None, before: Counted | None = None) -> Counted:
        if self._source.endswith(".json") and Path(self._source).is_file():
            now = KeptTallies.read(self._source, kept.document)
        else:
            now, changes = kept.count(self._source, gone="drop", show=show)
            for name in changes.damaged:
                _log.warning("damaged, and set aside until mended: %s", name)
        if before is not None and now == kept:
            return before
        rounds = {now.document.table_form.round_column} & set(now.by)
        by_day = read_days(now.tally_windows((self._by, *rounds)))
        enough = {day: tallies for day, tallies in by_day.items() if tallies.n >= self._minimum}
        days_shown = enough or by_day or {date.min: now.tally()}
        days = None
        if enough:
            days = describe_days(Series.of(kept.document, Windows((self._by,), enough)), self._by)
        return Counted(now, days_shown[max(days_shown)], days)


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
            messages.DayAlarm(str(alarm.day), alarm.attribute, alarm.value, str(alarm)) for alarm in alarms
        ],
        bursts=[messages.Burst(str(day), round(times, 2)) for day, times in alarms.bursts.items()],
        left_out=dict(series.left_out),
    )


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
        views = Views(
            warehouse,
            {survey.plan.id: survey for survey in served},
            settings.token,
            settings.minimum,
            role="reader",
            days=warehouse.show_days,
        )
        handlers = [
            (operation, views.guard(operation, getattr(views, operation.name)))
            for operation in OPERATIONS
            if hasattr(views, operation.name)
        ]
        self.front = Front(handlers, Metrics(Traces()), settings.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.front(scope, receive, send)
        elif scope["type"] == "lifespan":
            await receive()
            self.front.name_state(scope)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
