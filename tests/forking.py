"""Processes that are forked from one that has loaded everything: `python -m deniable.cli` takes a second of a
processor to start, and another one to load what estimates take.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import subprocess
from collections.abc import Callable
from typing import Any, final

import deniable.collect
import deniable.results

_MODULES = [
    found.name
    for room in (deniable.collect, deniable.results)
    for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["deniable.cli", *_MODULES, "tests.collector", "tests.store_worker"])


@final
class Forked:
    """A process that runs a function, and how to end it, in the words of `subprocess.Popen`."""

    def __init__(self, run: Callable[..., None], *arguments: Any) -> None:
        self._process = FORKS.Process(target=run, args=arguments, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
