"""Simulates the tables of the specification of discovery, beside what it states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deniable_papers.studies.discovery.measures import (
    measure_errors,
    measure_found,
    measure_limits,
    measure_shares,
)
from deniable_papers.studies.stated import StatedPoint
from deniable_papers.studies.sweep import Progress, checked_methods

__all__ = ["PARTS", "QUICK_RUNS", "RUNS", "reproduce"]

RUNS = 300
QUICK_RUNS = 60
PARTS = ("found", "errors", "shares", "limits")
"""What is measured: all of it, or only the parts that are named."""
_FOUND_EACH, _SHOWN_EACH, _POWER_RUNS = 30, 20, 12


def reproduce(
    parts: Iterable[str] | None = None,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    people: int = 10**6,
) -> Iterator[StatedPoint]:
    """A row for each number of the specification, as they are done.

    `runs` is the number of studies whose errors are counted. Of large studies there are as many as the
    specification had, or fewer with few runs. Studies of more than `people` are left out.
    """
    names = checked_methods(parts, PARTS, runs, seed, "a part")
    for done, name in enumerate(names, 1):
        match name:
            case "found":
                yield from measure_found(max(1, runs // _FOUND_EACH), seed, people)
            case "errors":
                yield from measure_errors(runs, seed)
            case "shares":
                yield from measure_shares(runs * _SHOWN_EACH, seed)
            case _:
                yield from measure_limits(max(1, runs // _POWER_RUNS), seed)
        if progress is not None:
            progress(done, len(names))
