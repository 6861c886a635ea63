"""Measures a piece of work in a process of its own, whose memory is counted. Used by the tables of run.py."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Found = dict[str, float]


def measure(file: str, name: str) -> Found:
    """What one function of a file found. Idle threads of BLAS would count as work."""
    found: Found = json.loads(
        subprocess.check_output(
            [sys.executable, file, name],
            cwd=Path(__file__).parent,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
    )
    return found


def tabulate(file: str, work: Mapping[str, tuple[str, float]]) -> tuple[list[str], list[str]]:
    """A table in Markdown of the seconds that functions of a file take, and the bars that were missed."""
    lines, missed = ["| work | s | at most |", "|---|--:|--:|"], []
    for name, (what, bar) in work.items():
        seconds = measure(file, name)["seconds"]
        lines.append(f"| {what} | {seconds:.2g} | {bar:g} |")
        if seconds > bar:
            missed.append(f"{what}: {seconds:.2g} s")
    return lines, missed


def answer(work: Mapping[str, Callable[[], Found]]) -> None:
    """In that process: do the work that is named, and print what was found."""
    print(json.dumps(work[sys.argv[1]]()))


def mebibytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best_of_three(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds of the fastest of three runs."""
    took = []
    for _ in range(3):
        start = clock()
        work()
        took.append(clock() - start)
    return min(took)
