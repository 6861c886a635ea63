"""Copies this process, to see whether a function draws from its memory: then both copies draw the same."""

from __future__ import annotations

import os
import random
import select
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

_END = b"\xff\xff\xff\xff"
_PATIENCE = 60.0  # seconds without a report, after which a copy is taken to hang


class Copies(NamedTuple):
    """What two copies sent; or why there is nothing to compare."""

    reports: tuple[Sequence[bytes], Sequence[bytes]] | None
    why: str = ""


def run_copies(make: Callable[[], Iterable[bytes]]) -> Copies:
    """What `make` gives in two copies of this process, one after the other."""
    if not hasattr(os, "fork"):
        return Copies(None, "it cannot be copied on this system")
    runs: list[Sequence[bytes]] = []
    for _ in range(2):
        try:
            reports = _run_copy(make)
        except OSError as problem:
            return Copies(None, f"it cannot be copied here ({problem.strerror})")
        if reports is None:
            return Copies(None, "a copy of it does not answer")
        runs.append(reports)
    return Copies((runs[0], runs[1]))


def _run_copy(make: Callable[[], Iterable[bytes]]) -> Sequence[bytes] | None:
    """All reports of a copy; None if it fails or is silent for too long."""
    reading, writing = os.pipe()
    state = random.getstate()  # a copy would draw it again, and hide that somebody has seeded it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # that other threads are not copied: a copy that waits for one is ended below
            child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
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
        with suppress(ChildProcessError):  # where nobody waits for children, they are gone by themselves
            os.waitpid(child, 0)
    return _read(bytes(said))


def _tell(writing: int, make: Callable[[], Iterable[bytes]]) -> None:  # pragma: no cover - as above
    """Answers in the copy, and ends it here: nothing at the end of this process is done twice."""
    try:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for report in make():
                pipe.write(len(report).to_bytes(4, "little") + report)
            pipe.write(_END)
    finally:
        os._exit(0)


def _read(said: bytes) -> Sequence[bytes] | None:
    """Reports, each with its length before it; without the mark at the end something went wrong."""
    if not said.endswith(_END):
        return None
    reports, position = [], 0
    while position < len(said) - len(_END):
        size = int.from_bytes(said[position : position + 4], "little")
        reports.append(said[position + 4 : position + 4 + size])
        position += 4 + size
    return reports
