"""Knows whether reports can be written, and logs each change once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from math import inf
from typing import Protocol, final

from deniable.collect.database import StoreUnavailable

PROOF = 5.0
"""Seconds for which reports that were written prove that more can be."""
PAUSE = 1.0
"""Seconds for which the outcome of a trial holds: anybody may ask, and a trial takes the disk's time."""
DOUBT = 10.0
"""Seconds after a failure in which only reports prove that it is over; a trial is smaller than they are."""

_log = logging.getLogger("deniable.collect")


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
