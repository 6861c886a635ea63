"""Serves the collector as an ASGI application: reports go a short way, all else through the routes."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar, final

import msgspec

from deniable.collect.front import Front, Scope, Send
from deniable.collect.handlers import Handlers, Runtime
from deniable.collect.health import MinuteCounts
from deniable.collect.intake import BINARY, Intake, Served, read_admission, read_kind
from deniable.collect.limits import Held, Limits, Receive, Room
from deniable.collect.messages import Receipts, Refusal
from deniable.collect.metrics import Metrics
from deniable.collect.openapi import OPERATIONS
from deniable.collect.writer import Readiness, Writer
from deniable.store import sweeping
from deniable.store.store import Arrival, Store
from deniable.store.sweeping import Sweeper

Result = TypeVar("Result")

_RECEIPTS = {
    "counted": (201, b'{"outcome":"counted"}'),
    "counted before": (200, b'{"outcome":"counted before"}'),
}
_SETTLED = 2.0  # seconds after its start, in which a collector does nothing but collect
_LONG = 1 << 15  # bytes of JSON: longer messages are read in a thread, so that others need not wait


@final
@dataclass(frozen=True)
class Settings:
    """What an operator chooses."""

    token: str
    minimum: int = 100
    """Results of fewer reports are not shown."""
    origins: frozenset[str] = frozenset()
    """Pages of other sites that may send reports."""
    limits: Limits = field(default_factory=Limits)
    sweep_seconds: float = sweeping.SECONDS
    """Seconds between two sweeps of the store."""
    url: str | None = None
    """The one address at which the survey is answered; None: at any."""


@final
class Collector:
    """Takes reports for some plans into one store."""

    def __init__(self, store: Store, reader: Store, served: Sequence[Served], settings: Settings) -> None:
        """Takes two connections to one store, so that readers do not keep reports waiting."""
        self.metrics = Metrics(store.traces)
        reader.traces = store.traces
        self._stores = store, reader
        self._intake = Intake(served, settings.limits)
        self._room = Room(settings.limits.held_bytes)
        # one at a time: what is read from JSON takes many times the room of its text
        self._beside = ThreadPoolExecutor(1, "deniable-intake")
        self._writer: Writer | None = None
        self._sweeper: Sweeper | None = None
        self._sweep_seconds = settings.sweep_seconds
        self._readiness = Readiness(reader)
        by_id = {served_plan.plan.id: served_plan for served_plan in served}
        self._minutes = MinuteCounts(by_id, settings.minimum)
        runtime = Runtime(self.metrics, lambda: self._queue, self._readiness.check, self._minutes)
        self._handlers = Handlers(reader, by_id, settings.token, settings.minimum, settings.url, runtime)
        adding = {"/reports": self._add_report, "/reports/batch": self._add_batch}
        handlers = [
            (operation, self._handlers.for_operation(operation))
            for operation in OPERATIONS
            if operation.path not in adding
        ]
        self.front = Front(handlers, self.metrics, settings.limits, settings.origins, adding)

    @property
    def _queue(self) -> int:
        return self._writer.waiting if self._writer else 0

    def start(self) -> None:
        """Begin to write, within the event loop that will serve."""
        self._writer = Writer(
            self._stores[0], committed=self.metrics.committed, observe=self._readiness.observe
        )
        self._sweeper = Sweeper(self._stores[0], self._sweep_seconds)

    async def stop(self) -> None:
        """Write what has arrived, and end."""
        if self._writer is not None:
            await self._writer.close()
        await self._handlers.stop()
        self._beside.shutdown(wait=False)
        if self._sweeper is not None:
            await asyncio.to_thread(self._sweeper.close)
        await asyncio.to_thread(self._stores[0].tidy)
        self._minutes.stop()
        for store in self._stores:
            store.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.front(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.start()
        self._minutes.start()
        self.front.name_state(scope)
        await send({"type": "lifespan.startup.complete"})
        load = asyncio.create_task(_load_estimates())
        await receive()
        load.cancel()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _add_report(self, headers: dict[bytes, bytes], receive: Receive) -> tuple[int, bytes]:
        kind = read_kind(headers.get(b"content-type"))
        admission = read_admission(headers.get(b"authorization"))
        with Held(self._room) as reserved:
            raw = await reserved.body(receive, self._intake.most[kind], headers.get(b"content-length"))
            if kind == BINARY or len(raw) < _LONG:
                arrival = self._intake.one(raw, kind, admission)
            else:
                arrival = await self._read(self._intake.one, raw, kind, admission)
            assert self._writer is not None, "the collector has not been started"
            (outcome,) = await self._writer.add([arrival])  # on disk when this returns
        if outcome not in _RECEIPTS:
            raise Refusal(outcome)
        self._count(outcome)
        self._note_arrival(arrival, [outcome])
        return _RECEIPTS[outcome]

    async def _add_batch(self, headers: dict[bytes, bytes], receive: Receive) -> tuple[int, bytes]:
        kind = read_kind(headers.get(b"content-type"))
        admission = read_admission(headers.get(b"authorization"))
        with Held(self._room) as reserved:
            raw = await reserved.body(receive, self._intake.most_batch[kind], headers.get(b"content-length"))
            quick = self._intake.alike(raw, kind, admission)  # which takes no time
            entries = await self._read(self._intake.many, raw, kind, admission) if quick is None else quick
            arrivals = [entry for entry in entries if isinstance(entry, Arrival)]
            assert self._writer is not None, "the collector has not been started"
            written = iter(await self._writer.add(arrivals) if arrivals else [])
        outcomes: list[str] = []
        for entry in entries:
            if isinstance(entry, Arrival):
                arrival_outcomes = list(islice(written, len(entry.ids)))
                self._note_arrival(entry, arrival_outcomes)
                outcomes += arrival_outcomes
            else:
                outcomes.append(entry)
        for outcome in set(outcomes):
            self._count(outcome, outcomes.count(outcome))
        return 200, msgspec.json.encode(Receipts(outcomes.count("counted"), outcomes))

    async def _read(self, how: Callable[..., Result], *message: object) -> Result:
        """Read a long message in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._beside, how, *message)

    def _count(self, outcome: str, times: int = 1) -> None:
        if outcome == "counted":
            self.metrics.counted += times
        elif outcome == "counted before":
            self.metrics.before += times
        else:
            self.metrics.refused[outcome] += times

    def _note_arrival(self, arrival: Arrival, outcomes: Sequence[str]) -> None:
        """Count what is new in this minute."""
        new = [body for body, outcome in zip(arrival.bodies, outcomes, strict=True) if outcome == "counted"]
        if new:
            self._minutes.add(arrival.plan_id, arrival.round, new)


async def _load_estimates() -> None:
    """Load what estimates need: it takes a moment, for which neither the first report nor who first asks
    should wait.
    """
    await asyncio.sleep(_SETTLED)
    await asyncio.to_thread(importlib.import_module, "scipy.special")
