"""Commits in groups: all waiting reports are made durable together, and then acknowledged.

A disk stores a thousand reports as quickly as one, so the next group gathers while one is written. How the
last reports fared says whether the collector is ready for more.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from queue import SimpleQueue
from typing import NamedTuple, Protocol, final

from deniable.errors import DeniableError
from deniable.formatting import format_count
from deniable.store.counting import Arrival, Outcome
from deniable.store.database import StoreUnavailable

PROOF = 5.0
"""Seconds for which reports that were written prove that more can be."""
PAUSE = 1.0
"""Seconds for which the outcome of a trial holds: anybody may ask, and a trial takes the disk's time."""
DOUBT = 10.0
"""Seconds after a failure in which only reports prove that it is over; a trial is smaller than they are."""

_HEADER = 200  # bytes that a report takes in memory besides its body, about
_log = logging.getLogger("deniable.collect")


class Busy(DeniableError):
    """Too many reports wait to be written; the same reports can be sent again in a moment."""


class Adds(Protocol):
    """What is written to: a store."""

    def add(self, arrivals: Sequence[Arrival], now: Callable[[], float]) -> list[Outcome]:
        """Count reports in one transaction."""


class _Entry(NamedTuple):
    arrivals: Sequence[Arrival]
    reports: int
    bytes: int
    future: asyncio.Future[list[Outcome]]


@final
@dataclass(frozen=True)
class Capacity:
    """How much may wait to be written, and how much is written at once."""

    waiting: int = 50_000
    """Reports that wait."""
    at_once: int = 5_000
    """Reports of one transaction."""
    waiting_bytes: int = 64 << 20
    at_once_bytes: int = 8 << 20


@final
class Writer:
    """One thread that writes for all tasks of an event loop. What one task adds is never split."""

    def __init__(
        self,
        store: Adds,
        capacity: Capacity = Capacity(),  # noqa: B008  # frozen
        clock: Callable[[], float] = time.time,
        committed: Callable[[float], None] | None = None,
        observe: Callable[[str | None], None] | None = None,
    ) -> None:
        """`committed` is called, in the writing thread, with the seconds that each transaction took.

        So is `observe`: with None when new reports were made durable, else with why they could not be.
        """
        self._store, self._clock, self._committed, self._observe = store, clock, committed, observe
        self._capacity = capacity
        self.waiting = 0
        """How many reports were not acknowledged yet."""
        self._bytes = 0
        self._entries: deque[_Entry] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._notified = False
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="deniable-writer", daemon=True)
        self._thread.start()

    async def add(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Count these; returns when they are durable, and raises Busy at once where too many wait.

        What was begun is written even if the task is cancelled.
        """
        count = sum([len(arrival.ids) for arrival in arrivals])
        size = sum([len(body) for arrival in arrivals for body in arrival.bodies]) + _HEADER * count
        if self._closing:
            raise Busy("the collector is shutting down; send it again in a moment")
        if self.waiting and (
            self.waiting + count > self._capacity.waiting or self._bytes + size > self._capacity.waiting_bytes
        ):
            raise Busy(
                f"{format_count(self.waiting, 'report')} wait to be written; send it again in a moment"
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Outcome]] = loop.create_future()
        self.waiting += count
        self._bytes += size
        self._entries.append(_Entry(arrivals, count, size, future))
        if not self._notified:  # after what is ready to run now: that adds to the same group
            self._notified = True
            loop.call_soon(self._notify)
        return await future

    async def close(self) -> None:
        """Write what waits, then stop. The store stays open."""
        self._closing = True
        self._wake.put(None)
        while self._thread.is_alive():
            await asyncio.sleep(0.005)

    def _notify(self) -> None:
        self._notified = False
        self._wake.put(None)

    def _work(self) -> None:
        while True:
            self._wake.get()
            while group := self._take(self._capacity.at_once, self._capacity.at_once_bytes):
                self._write(group)
            if self._closing and not self._entries:
                return

    def _take(self, most: float, most_bytes: float) -> list[_Entry]:
        """The next entries: at least one, within the limits of reports and bytes."""
        group: list[_Entry] = []
        count = size = 0
        while self._entries:
            count += self._entries[0].reports
            size += self._entries[0].bytes
            if group and (count > most or size > most_bytes):
                break
            group.append(self._entries.popleft())
        return group

    def _write(self, group: list[_Entry]) -> None:
        arrivals = [arrival for entry in group for arrival in entry.arrivals]
        started = time.perf_counter()
        try:
            outcomes = self._store.add(arrivals, self._clock)
        except StoreUnavailable as problem:
            if self._observe is not None:
                self._observe(str(problem))
            # Whatever came meanwhile would wait in vain for as long again, so it is told at once; it can be
            # sent again.
            self._settle([(entry, StoreUnavailable(str(problem))) for entry in group + self._take(inf, inf)])
            return
        except Exception as problem:  # a fault of ours in one report must not take others with it
            if len(group) == 1:
                self._settle([(group[0], problem)])
            else:
                for entry in group:
                    self._write([entry])
            return
        if self._committed is not None:
            self._committed(time.perf_counter() - started)
        if self._observe is not None and "counted" in outcomes:  # without new reports nothing was written
            self._observe(None)
        results: list[tuple[_Entry, list[Outcome] | Exception]] = []
        position = 0
        for entry in group:
            results.append((entry, outcomes[position : position + entry.reports]))
            position += entry.reports
        self._settle(results)

    def _settle(self, results: Sequence[tuple[_Entry, list[Outcome] | Exception]]) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            results[0][0].future.get_loop().call_soon_threadsafe(self._resolve, results)

    def _resolve(self, results: Sequence[tuple[_Entry, list[Outcome] | Exception]]) -> None:
        for entry, result in results:
            self.waiting -= entry.reports
            self._bytes -= entry.bytes
            if entry.future.done():  # its task was cancelled
                continue
            if isinstance(result, Exception):
                entry.future.set_exception(result)
            else:
                entry.future.set_result(result)


class Writable(Protocol):
    """What is written to: a store."""

    @property
    def name(self) -> str:
        """Where it is, without a password."""

    def try_write(self) -> None:
        """Raise StoreUnavailable unless something could be made durable."""


@final
class Readiness:
    """Whether the store takes reports: by how the last ones fared, and by trials while none come."""

    def __init__(self, store: Writable, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._problem: str | None = None
        self._written = self._failed = self._tried = -inf
        self._trial = threading.Lock()
        self._state = threading.Lock()

    def observe(self, problem: str | None) -> None:
        """Note that new reports were made durable, or why they were not."""
        if problem is None:
            self._written = self._clock()
        else:
            self._failed = self._clock()
        self._change(problem)

    def check(self) -> None:
        """Raise StoreUnavailable unless reports can be written."""
        with self._trial:  # one at a time: others wait for its outcome
            self._try()
        if self._problem is not None:
            raise StoreUnavailable(self._problem)

    def _try(self) -> None:
        now = self._clock()
        proven = self._problem is None and now - self._written < PROOF
        doubted = self._problem is not None and now - self._failed < DOUBT
        if proven or doubted or now - self._tried < PAUSE:
            return
        self._tried = now
        try:
            self._store.try_write()
        except StoreUnavailable as problem:
            self._change(str(problem))
        else:
            if self._failed < now:  # no report failed meanwhile
                self._change(None)

    def _change(self, problem: str | None) -> None:
        with self._state:
            before, self._problem = self._problem, problem
        if before is None and problem is not None:
            _log.error("not ready, reports are refused: %s", problem)
        elif before is not None and problem is None:
            _log.warning("ready again, reports are taken: %s can be written", self._store.name)
