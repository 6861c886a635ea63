"""One side of the comparison: told a task's name on standard input, answers with CPU seconds per report, best
of a few.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

Task = tuple[Callable[[], object], int]  # the work, and how many reports it handles


def serve(tasks: dict[str, Callable[[], Task]]) -> None:
    """Answer until standard input ends. Each task is prepared and run once before it is timed."""
    ready: dict[str, Task] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in tasks:
            print(json.dumps(None), flush=True)
            continue
        if name not in ready:
            ready[name] = tasks[name]()
            ready[name][0]()
        work, reports = ready[name]
        best = min(_cpu_seconds(work) for _ in range(3))
        print(json.dumps(best / reports), flush=True)


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
