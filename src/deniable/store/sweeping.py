"""Sweeps a store, so that its files say neither in which order reports came nor by which invitation.

Reports arrive in a table of their own, `arrivals`. A sweep has two steps.

1. It writes all arrivals again in one transaction, in the order of their random ids. They stay there, as a
   pool of their plan and round in which later ones are mixed. When a pool is full, reports chosen at random
   leave it for `reports`. So it does with the hashes of tickets, in the order of these.
2. It clears what the first step left behind: the log of SQLite; the dead rows of PostgreSQL and, where this
   is allowed, its log.

After a sweep the files tell of a report that it is in the pool, or with which others it left the pool
(docs/traces.md). Until then they tell more.
An interrupted sweep loses nothing: each step is a transaction, or can be repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol, final

from deniable.store.database import Database, Pool, StoreUnavailable

SECONDS = 60.0
"""Seconds between two sweeps, where something arrived; what `deniable serve --sweep` changes."""
POOL = 10_000
"""Reports of a plan and round that stay among the arrivals when others leave.

They leave once there are twice as many. A row names its plan and round, so that others hide nothing.
"""
POOL_BYTES = 8 << 20
"""Bytes of bodies of a plan and round that stay there, at most."""
MOST = 100_000
"""Reports after which a store sweeps whatever the time.

A server's log then stays if it is younger than SECONDS. After it is dropped, each page that changes is
written whole to the new one. With random ids that would be a page for each report.
"""
MOST_BYTES = 64 << 20
"""Bytes of their bodies after which it does."""

_REST = 20  # a sweep that takes a second is followed by at least this many without one
_AGAIN = 5.0  # seconds until one that did not succeed is tried again
_LONGEST = 600.0  # seconds: no pause between two attempts is longer
_LOUD = 10  # attempts that fail in a row before the log says so

_log = logging.getLogger("deniable.collect")


def mix(database: Database, sizes: dict[str, int]) -> None:
    """Write all arrivals again in the order of their ids, and let some leave, within a transaction.

    `sizes` has the lengths of other tables when they were last written again, and is changed: a long one is
    left alone until it has grown by a tenth.
    """
    database.lock_arrivals()
    pools = database.run(
        "SELECT plan, round, COUNT(*), CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) FROM arrivals GROUP BY "
        "plan, round ORDER BY plan, round"
    )
    staying = [Pool(plan, number, n, _choose_staying(n, size)) for plan, number, n, size in pools]
    if any(pool.staying < pool.n for pool in staying):
        database.release(staying)
    elif pools:
        database.rewrite("arrivals")
    for table in ("tickets", "exchanges"):
        [(n,)] = database.run(f"SELECT COUNT(*) FROM {table}")
        last = sizes.get(table, 0)
        last = last if last <= n else 0  # some were withdrawn, and what came since is in order
        if 0 < n <= 2 * POOL or 10 * n >= 11 * max(last, 1):
            database.rewrite(table)
            sizes[table] = n


def _choose_staying(n: int, size: int) -> int:
    """How many reports stay in a pool of this many with so many bytes: all until it is full."""
    if n <= 2 * POOL and size <= 2 * POOL_BYTES:
        return n
    return POOL if size <= POOL_BYTES else min(POOL, n * POOL_BYTES // size)


class Mark(NamedTuple):
    """What had arrived when a sweep began, and when that was."""

    reports: int
    bytes: int
    time: float


@final
class Traces:
    """How much came to a store since it was swept. One thread adds and another may sweep."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        """How many rows tables had that were written again."""
        self.leaves_log = False
        """Whether the last sweep left a server's log to a later one."""
        self._reports = self._bytes = 0
        self._last = self._log = Mark(0, 0, 0.0)
        self._tried = Mark(0, 0, 0.0)
        self._lock = threading.Lock()

    @property
    def is_due(self) -> bool:
        """Whether there is anything to sweep: what came, or what an earlier process may have left."""
        return self.unswept > 0 or self.swept is None or self.leaves_log

    @property
    def unswept(self) -> int:
        """Reports since the last sweep."""
        return self._reports - self._last.reports

    @property
    def swept(self) -> float | None:
        """The moment (seconds since 1970) before which all was swept; None before the first sweep."""
        return self._last.time or None

    @property
    def log_swept(self) -> float | None:
        """The moment before which the database's log is cleared, too; None if it never was."""
        return self._log.time or None

    @property
    def log_is_old(self) -> bool:
        """Whether no sweep dropped the server's log for SECONDS, so that one by number does, too."""
        return not self._log.time <= time.time() < self._log.time + SECONDS

    def add(self, reports: int, size: int) -> bool:
        """Note durable reports and their size; whether a sweep is due by their number."""
        with self._lock:
            self._reports += reports
            self._bytes += size
        return self._reports - self._tried.reports >= MOST or self._bytes - self._tried.bytes >= MOST_BYTES

    def begin(self) -> Mark:
        """Note that a sweep begins."""
        self._tried = Mark(self._reports, self._bytes, time.time())
        return self._tried

    def end(self, mark: Mark, log: bool, leaves_log: bool = False) -> None:
        """Note that all from before this mark is swept; the log, too, or left to a later sweep."""
        self._last, self.leaves_log = mark, leaves_log
        if log:
            self._log = mark


class Sweeps(Protocol):
    """What is swept: a store."""

    @property
    def traces(self) -> Traces:
        """What is not swept yet."""

    def sweep(self) -> bool:
        """Sweep; whether it worked."""


@final
class Sweeper:
    """A thread that sweeps a store by time, while the store takes reports."""

    def __init__(
        self, store: Sweeps, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._seconds, self._clock = store, seconds, clock
        self._failed = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="deniable-sweeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End after the sweep that is under way."""
        self._end.set()
        self._thread.join()

    def _work(self) -> None:
        pause = self._seconds
        while not self._end.wait(pause):
            pause = self._sweep() if self._store.traces.is_due else self._seconds

    def _sweep(self) -> float:
        """Sweep; return the seconds until the next one."""
        started, swept = self._clock(), False
        try:
            swept = self._store.sweep()
        except StoreUnavailable:
            pass
        except Exception:  # one failure must not end all later sweeps
            _log.exception("a sweep failed")
        took = self._clock() - started
        if self._failed >= _LOUD and swept:
            _log.warning("the store is swept again")
        self._failed = 0 if swept else self._failed + 1
        if self._failed == _LOUD:
            _log.warning(
                "the store could not be swept %d times in a row: somebody reads it all the while, or it "
                "cannot be written; until then its files tell in which order %d reports came",
                *(_LOUD, self._store.traces.unswept),
            )
        # each attempt writes all arrivals again, which grows the files for as long as somebody reads
        again = min(self._seconds, _AGAIN) * 2.0 ** max(0, self._failed - _LOUD)
        return max(self._seconds if swept else min(again, _LONGEST), _REST * took)
