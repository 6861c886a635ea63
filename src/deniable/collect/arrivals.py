"""Counts the reports of each minute of the last day, in memory only: nothing of it is ever written.

Of single reports nothing is kept but for the minute that is running. A timer ends it. What its reports said
is then added up in a thread if no minute of the day had more of them, and they are forgotten.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import final

from deniable.collect.intake import Served
from deniable.reports.reports import Tallies
from deniable.results.health import Arrivals

MINUTE = 60.0
"""Seconds."""
DAY = 1440
"""Minutes that are counted."""
_HELD = 1 << 20  # bytes of the reports of one minute; more of them are only counted


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
