"""Runs independent fits in processes, one thread each: threads of a fit that wait for each other spin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from threadpoolctl import threadpool_limits

from deniable_papers.studies.sweep import Progress

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def run_tasks(
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    progress: Progress | None = None,
    processes: int | None = None,
) -> Iterator[_Result]:
    """The result of each task, in the order of the tasks, as they are done.

    `work` is a function of a module, since other processes import it. A task has its seed in it, so that the
    results are the same on any number of processes. One task, or one processor, needs no other process.
    """
    count = min(len(tasks), processes or os.cpu_count() or 1)
    if count <= 1:
        for done, task in enumerate(tasks, 1):
            with threadpool_limits(1):
                result = work(task)
            yield result
            if progress is not None:
                progress(done, len(tasks))
        return
    with ProcessPoolExecutor(count, get_context("spawn"), _limit_threads) as pool:
        try:
            for done, result in enumerate(pool.map(work, tasks), 1):
                yield result
                if progress is not None:
                    progress(done, len(tasks))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _limit_threads() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)
