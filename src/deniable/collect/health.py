"""Looks at the reports of a round now and then, and keeps what was found until many more have come.

The reports of each minute of the last day are counted in memory only: nothing of it is ever written. Of
single reports nothing is kept but for the minute that is running. A timer ends it. What its reports said is
then added up in a thread if no minute of the day had more of them, and they are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from deniable.collect import results
from deniable.collect.intake import Served
from deniable.collect.messages import Refusal
from deniable.reports import Reports
from deniable.reports.reports import Tallies
from deniable.results.health import LOOKED, Arrivals, Health, HealthWatch
from deniable.store.store import Store, StoreUnavailable
from deniable.study import Result

GROWTH = 1.05
"""How much the number of reports grows before they are looked at again."""
MINUTE = 60.0
"""Seconds."""
DAY = 1440
"""Minutes that are counted."""

_HELD = 1 << 20  # bytes of the reports of one minute; more of them are only counted
_log = logging.getLogger("deniable.collect")


class Key(NamedTuple):
    """A round of a plan."""

    plan: str
    """Its id."""
    round: int


@final
@dataclass(frozen=True)
class Look:
    """What the reports of a round looked like, when there were so many."""

    n: int
    time: float
    """In seconds since 1970."""
    health: Health
    minute: int
    """In which bursts were looked for last: that takes no time, so it is done every minute."""
    base: Health
    """Without bursts."""


@final
class Looks:
    """The last look at each round. One is taken at a time, in a thread: it reads all reports of a round."""

    def __init__(
        self, store: Store, served: Mapping[str, Served], minimum: int, minutes: MinuteCounts
    ) -> None:
        self._store, self._served, self._minimum, self._minutes = store, served, minimum, minutes
        self._last: dict[Key, Look] = {}
        self._looking, self._stopping = asyncio.Lock(), threading.Event()
        self._overdue: asyncio.Task[None] | None = None

    @property
    def last(self) -> Mapping[Key, Look]:
        """The last look at every round that was looked at."""
        return self._last

    async def look(self, key: Key, n: int) -> Look:
        """The last look at a round, which has n reports, or a new one if many have come since."""
        async with self._looking:
            last = self._last.get(key)
            if last is None or self._is_due(key, n):
                minute = self._minutes.now
                arrivals = await self._minutes.show(*key)
                last = await asyncio.to_thread(self._look, key, last, arrivals, minute)
                self._last[key] = last
            return last

    def _is_due(self, key: Key, n: int) -> bool:
        last = self._last.get(key)
        return last is None or _has_grown(last, n) or self._minutes.has_passed(last.minute, *key)

    def catch_up(self, counts: Iterable[tuple[str, int, int]]) -> None:
        """Begin to look at all rounds that have many more reports now; nobody waits for it."""
        due = [
            (Key(plan, number), n)
            for plan, number, n in counts
            if n >= max(1, self._minimum) and self._is_due(Key(plan, number), n)
        ]
        if due and (self._overdue is None or self._overdue.done()):
            self._overdue = asyncio.create_task(self._look_at_all(due))

    async def _look_at_all(self, due: Sequence[tuple[Key, int]]) -> None:
        for key, n in due:
            try:
                await self.look(key, n)
            except (Refusal, StoreUnavailable):  # it is tried again when somebody asks
                continue
            except Exception as problem:
                _log.error("the health of reports cannot be checked", exc_info=problem)

    async def stop(self) -> None:
        """End a look that is being taken."""
        self._stopping.set()
        if self._overdue is not None and not self._overdue.cancelled():
            await self._overdue

    def _look(self, key: Key, last: Look | None, arrivals: Arrivals | None, minute: int) -> Look:
        served, tallies = self._served[key.plan], self._store.tallies(*key)  # with all arrivals
        result = results.result_of(served.plan, tallies, text_alone=True)
        if last is None or _has_grown(last, tallies.n):
            base = look_at(served, result, self._bodies(key))
            n, when = tallies.n, time.time()
        else:
            n, when, base = last.n, last.time, last.base
        health = base if arrivals is None else base.with_arrivals(arrivals, tallies, result.numbers)
        return Look(n, when, health, minute, base)

    def _bodies(self, key: Key) -> Iterator[Sequence[bytes]]:
        for bodies in self._store.bodies(*key):
            if self._stopping.is_set():
                raise StoreUnavailable("the collector is shutting down")
            yield bodies


def look_at(served: Served, result: Result, bodies: Iterable[Sequence[bytes]]) -> Health:
    """The health of the reports from which these are estimates, without bursts."""
    watch = HealthWatch(served.plan.document)
    for _ in watch.look(_sample(served, bodies, result.n)):
        pass
    return watch.health(result.numbers)


def _sample(served: Served, stored: Iterable[Sequence[bytes]], n: int) -> Iterator[Reports]:
    """As many reports as are looked at, in blocks. Chance chooses them: fakes have the ids they like."""
    # so many that each attribute is in as many of them as are looked at
    rarest = min(served.plan.mechanism.chance(j) for j in range(len(served.plan.names)))
    share, chance = min(1.0, LOOKED / float(rarest) / n), np.random.default_rng()
    for bodies in stored:
        if share < 1:
            kept = chance.random(len(bodies)) < share
            bodies = [body for body, is_kept in zip(bodies, kept, strict=True) if is_kept]
        if bodies:
            yield served.wire.reports(bodies)


def _has_grown(last: Look, n: int) -> bool:
    return n >= GROWTH * last.n


@final
class Minutes:
    """The minutes of one round, up to the one that is running."""

    def __init__(self, served: Served, number: int, least: int, started: int, beside: Executor) -> None:
        self._served, self._number, self._least, self._beside = served, number, least, beside
        self._counts: deque[int] = deque(maxlen=DAY)
        self._busiest: tuple[int, int, Future[Tallies]] | None = None
        self._now, self._count, self._bytes = started, 0, 0
        self._bodies: list[bytes] = []

    def add(self, bodies: Sequence[bytes], now: int) -> None:
        """Count reports that came in this minute."""
        self.pass_to(now)
        self._count += len(bodies)
        for body in bodies:
            if self._bytes + len(body) > _HELD:
                break
            self._bytes += len(body)
            self._bodies.append(body)

    def pass_to(self, now: int) -> None:
        """End all minutes before this one."""
        if now <= self._now:
            return
        if self._busiest is not None and now - self._busiest[0] > DAY:
            self._busiest = None
        most = 0 if self._busiest is None else self._busiest[1]
        if self._count > most and len(self._bodies) >= self._least:
            # in a thread: many reports take a while, and nobody else should wait for that
            said = self._beside.submit(_add_up, self._served, self._number, self._bodies)
            self._busiest = self._now, self._count, said
        self._counts.append(self._count)
        self._counts.extend([0] * min(DAY, now - self._now - 1))
        self._now, self._count, self._bytes, self._bodies = now, 0, 0, []

    async def show(self) -> Arrivals:
        """What is known of the minutes that ended."""
        counts, busiest = tuple(self._counts), self._busiest
        if busiest is None:
            return Arrivals(counts)
        # shielded: if one who asks goes away, others still need it
        said = asyncio.wrap_future(busiest[2])
        return Arrivals(counts, await asyncio.shield(said))


def _add_up(served: Served, number: int, bodies: Sequence[bytes]) -> Tallies:
    return served.plan.tally(served.wire.reports(bodies, number))


@final
class MinuteCounts:
    """The minutes of all rounds, since the collector was started."""

    def __init__(
        self, served: Mapping[str, Served], least: int, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._served, self._least, self._seconds = served, max(1, least), seconds
        self._started = self.now
        self._rounds: dict[tuple[str, int], Minutes] = {}
        self._beside = ThreadPoolExecutor(1, "deniable-minutes")
        self._timer: asyncio.Task[None] | None = None

    @property
    def now(self) -> int:
        """The minute that is running."""
        return int(self._seconds() // MINUTE)

    def start(self) -> None:
        """Begin to end minutes on time, within the event loop that serves."""
        self._timer = asyncio.create_task(self._end_minutes())

    def stop(self) -> None:
        """End no more minutes."""
        if self._timer is not None:
            self._timer.cancel()
        self._beside.shutdown(wait=False, cancel_futures=True)

    async def _end_minutes(self) -> None:
        """Forget the reports of each minute when it ends, even if no more come and nobody asks."""
        while True:
            await asyncio.sleep((self.now + 1) * MINUTE - self._seconds())
            for minutes in self._rounds.values():
                minutes.pass_to(self.now)

    def has_passed(self, minute: int, plan_id: str, number: int) -> bool:
        """Whether a minute is over in a round to which reports have come since the start."""
        return self.now > minute and (plan_id, number) in self._rounds

    def add(self, plan_id: str, number: int, bodies: Sequence[bytes]) -> None:
        """Count reports that have just been made durable."""
        key = plan_id, number
        if key not in self._rounds:
            served = self._served[plan_id]
            self._rounds[key] = Minutes(served, number, self._least, self._started, self._beside)
        self._rounds[key].add(bodies, self.now)

    async def show(self, plan_id: str, number: int) -> Arrivals | None:
        """What is known of a round; None where nothing has come since the start."""
        minutes = self._rounds.get((plan_id, number))
        if minutes is None:
            return None
        minutes.pass_to(self.now)
        return await minutes.show()
