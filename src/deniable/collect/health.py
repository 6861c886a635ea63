"""Looks at the reports of a round now and then, and keeps what was found until many more have come."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from deniable.collect import results
from deniable.collect.arrivals import MinuteCounts
from deniable.collect.intake import Served
from deniable.collect.refusals import Refusal
from deniable.collect.store import Store, StoreUnavailable
from deniable.reports import Reports
from deniable.results.health import LOOKED, Arrivals, Health, HealthWatch
from deniable.study import Plan, Result

GROWTH = 1.05
"""How much the number of reports grows before they are looked at again."""

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
    share, chance = min(1.0, _wanted(served.plan) / n), np.random.default_rng()
    for bodies in stored:
        if share < 1:
            kept = chance.random(len(bodies)) < share
            bodies = [body for body, is_kept in zip(bodies, kept, strict=True) if is_kept]
        if bodies:
            yield served.wire.reports(bodies)


def _has_grown(last: Look, n: int) -> bool:
    return n >= GROWTH * last.n


def _wanted(plan: Plan) -> float:
    """Reports that hold each attribute as often as it is looked at."""
    return LOOKED / float(min(plan.mechanism.chance(j) for j in range(len(plan.names))))
