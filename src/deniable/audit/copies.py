"""Copies of this process, to see whether what a function draws is in its memory: then both copies draw the same."""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress

_PATIENCE = 60.0  # seconds without a word, after which a copy is taken to hang


def copied_twice(make: Callable[[], Sequence[bytes]]) -> tuple[Sequence[bytes], Sequence[bytes]] | None:
    """What `make` gives in two copies of this process, one after the other; None where a copy cannot be had or fails."""
    if not hasattr(os, "fork"):
        return None
    found = []
    for _ in range(2):
        reports = _copied(make)
        if reports is None:
            return None
        found.append(reports)
    return found[0], found[1]


def _copied(make: Callable[[], Sequence[bytes]]) -> Sequence[bytes] | None:
    reading, writing = os.pipe()
    state = random.getstate()  # a copy would draw it anew, and hide that somebody has seeded it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other threads are not copied: a copy that waits for one is ended below
        child = os.fork()
    if child == 0:  # pragma: no cover - what runs here is not measured
        random.setstate(state)
        _tell(writing, make)
    os.close(writing)
    said = bytearray()
    try:
        while select.select([reading], [], [], _PATIENCE)[0] and (part := os.read(reading, 1 << 16)):
            said += part
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with suppress(EOFError, pickle.UnpicklingError):
        reports: Sequence[bytes] = pickle.loads(bytes(said))
        return reports
    return None


def _tell(writing: int, make: Callable[[], Sequence[bytes]]) -> None:  # pragma: no cover - as above
    """In the copy: it ends here, whatever happens, and nothing of what this process would do at its end is done twice."""
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump([bytes(report) for report in make()], pipe)
    finally:
        os._exit(0)
