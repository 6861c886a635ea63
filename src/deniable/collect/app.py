"""Serves the collector as an ASGI application: reports go a short way, all else through the routes."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar, final

import msgspec
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router

from deniable.collect.handlers import Handlers, Runtime
from deniable.collect.health import MinuteCounts
from deniable.collect.intake import BINARY, Intake, Served, read_admission, read_kind
from deniable.collect.limits import Connections, Gone, Held, Limits, Pace, Receive, Room, network_of
from deniable.collect.messages import Problem, Receipts, Refusal
from deniable.collect.metrics import Metrics
from deniable.collect.openapi import OPERATIONS
from deniable.collect.writer import Busy, Readiness, Writer
from deniable.store import sweeping
from deniable.store.store import Arrival, Store, StoreUnavailable
from deniable.store.sweeping import Sweeper
from deniable.wire import Refused

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Result = TypeVar("Result")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
SECURE: Headers = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
"""Sent with every answer: a page loads nothing from elsewhere, cannot be framed and sends no referrer."""

_SURVEY: Headers = [(name, value.replace(b"geolocation=()", b"geolocation=(self)")) for name, value in SECURE]
"""The survey may ask the browser for its location, for people who wish that; it stays on the page."""

_KIND = (b"content-type", b"application/json")
# each header takes time, and a receipt is no page
_NO_PAGE: Headers = [(b"x-content-type-options", b"nosniff")]
_RECEIPTS = {
    "counted": (201, b'{"outcome":"counted"}'),
    "counted before": (200, b'{"outcome":"counted before"}'),
}
_SETTLED = 2.0  # seconds after its start, in which a collector does nothing but collect
_LONG = 1 << 15  # bytes of JSON: longer messages are read in a thread, so that others need not wait

_log = logging.getLogger("deniable.collect")


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
        self.connections: Connections | None = None
        """All that are open; the server sets this."""
        self.limits = settings.limits
        self._present: Counter[str] = Counter()  # requests of each sender that are being answered
        self._stores = store, reader
        self._intake = Intake(served, settings.limits)
        self._pace = Pace(settings.limits.rate, settings.limits.burst)
        self._room = Room(settings.limits.held_bytes)
        # one at a time: what is read from JSON takes many times the room of its text
        self._beside = ThreadPoolExecutor(1, "deniable-intake")
        self._origins = {origin.encode() for origin in settings.origins}
        self._adding = {"/reports": self._add_report, "/reports/batch": self._add_batch}
        self._writer: Writer | None = None
        self._sweeper: Sweeper | None = None
        self._sweep_seconds = settings.sweep_seconds
        self._readiness = Readiness(reader)
        by_id = {served_plan.plan.id: served_plan for served_plan in served}
        self._minutes = MinuteCounts(by_id, settings.minimum)
        runtime = Runtime(self.metrics, lambda: self._queue, self._readiness.check, self._minutes)
        self._handlers = Handlers(reader, by_id, settings.token, settings.minimum, settings.url, runtime)
        self._router = Router(
            [
                Route(
                    operation.path,
                    self._handlers.for_operation(operation),
                    methods=[operation.method],
                    name=operation.name,
                )
                for operation in OPERATIONS
                if operation.name not in ("add_report", "add_batch")
            ],
            redirect_slashes=False,
        )

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
            sender = network_of(scope["client"][0] if scope["client"] else "")
            self._present[sender] += 1
            try:
                is_full = self.connections is not None and self.connections.is_full
                crowded = is_full or self._present[sender] > self.limits.at_once
                await self._answer(scope, receive, send, crowded)
            finally:
                self._present[sender] -= 1
                if not self._present[sender]:
                    del self._present[sender]
        elif scope["type"] == "lifespan":
            await self._live(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.start()
        self._minutes.start()
        state = scope.get("state", {})
        state["metrics"] = self.metrics
        if self.connections is not None:
            state["connections"] = self.connections
        await send({"type": "lifespan.startup.complete"})
        load = asyncio.create_task(_load_estimates())
        await receive()
        load.cancel()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send, crowded: bool) -> None:
        headers = dict(scope["headers"])
        shared = self._shared(headers) if self._origins else []
        more = SECURE
        try:
            if crowded:
                raise Refusal("busy", headers={"connection": "close"})
            client = scope["client"]
            wait = self._pace.wait(client[0] if client else "")
            if wait:
                raise Refusal("rate", headers={"retry-after": str(wait)})
            path = scope["path"]
            method, add = scope["method"], self._adding.get(path)
            if method == "POST" and add is not None:
                status, body = await add(headers, receive)
                more = _NO_PAGE
            elif method == "OPTIONS" and b"access-control-request-method" in headers and len(shared) > 1:
                status, body = 204, b""
            elif add is not None:
                raise Refusal("method", headers={"allow": "POST"})
            else:
                await self._route(scope, receive, send, shared)
                return
        except Gone:
            return
        except Exception as problem:
            refusal = _refusal(problem)
            self.metrics.refused[refusal.reason] += 1
            status, body = refusal.status, msgspec.json.encode(Problem(refusal.reason, refusal.detail))
            shared = shared + [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        length = (b"content-length", b"%d" % len(body))
        await send(
            {"type": "http.response.start", "status": status, "headers": [_KIND, length, *more, *shared]}
        )
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _route(self, scope: Scope, receive: Receive, send: Send, shared: Headers) -> None:
        """Answer by Starlette's router, with our headers."""
        started = False

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [
                    *message["headers"],
                    *(_SURVEY if scope["path"] == "/" else SECURE),
                    *shared,
                ]
            await send(message)

        scope["app"] = self  # the router then raises what it cannot find
        try:
            await self._router(scope, receive, guarded)
        except Exception as problem:
            if not started:
                raise
            _log.error("an answer was cut off", exc_info=problem)
            raise Gone from None  # the reader sees that it is not whole

    def _shared(self, headers: dict[bytes, bytes]) -> Headers:
        """The headers that let a page of a listed site read the answer."""
        origin = headers.get(b"origin")
        if origin not in self._origins:
            return [(b"vary", b"origin")]
        allowed = [(b"vary", b"origin"), (b"access-control-allow-origin", origin)]
        if b"access-control-request-method" not in headers:
            return [*allowed, (b"access-control-expose-headers", b"retry-after")]
        return [
            *allowed,
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"600"),
        ]

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


def _refusal(problem: Exception) -> Refusal:
    """The answer to an exception; nothing about one that nobody expected."""
    if isinstance(problem, Refusal):
        return problem
    if isinstance(problem, Refused):
        return Refusal(problem.reason, str(problem))
    if isinstance(problem, Busy):
        return Refusal("busy")
    if isinstance(problem, StoreUnavailable):
        return Refusal("store")
    if isinstance(problem, HTTPException):
        return Refusal("method" if problem.status_code == 405 else "path", headers=problem.headers)
    _log.error("a request failed", exc_info=problem)
    return Refusal("fault")
