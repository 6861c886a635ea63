"""Computes and simulates the tables of the specification of cross-tables, beside what it states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from deniable_papers.studies.crosstabs.adult import measure_adult
from deniable_papers.studies.crosstabs.exact import compare_designs, compute_example
from deniable_papers.studies.crosstabs.people import measure_people
from deniable_papers.studies.crosstabs.simulated import measure_intervals, measure_tests
from deniable_papers.studies.stated import StatedPoint
from deniable_papers.studies.sweep import Progress, checked_methods, run_cells

__all__ = ["PARTS", "QUICK_RUNS", "RUNS", "StatedPoint", "reproduce"]

RUNS = 2000
QUICK_RUNS = 200
_ADULT_RUNS = 6

PARTS: dict[str, Callable[[int, int], Iterator[StatedPoint]]] = {
    "designs": lambda _runs, _seed: compare_designs(),
    "intervals": measure_intervals,
    "tests": measure_tests,
    "adult": lambda runs, seed: measure_adult(min(runs, _ADULT_RUNS), seed),
    "people": lambda runs, seed: measure_people(min(runs, _ADULT_RUNS), seed),
    "example": lambda _runs, _seed: compute_example(),
}
"""What is measured: all of it, or only the parts that are named."""


def reproduce(
    parts: Iterable[str] | None = None, runs: int = RUNS, seed: int = 1, progress: Progress | None = None
) -> Iterator[StatedPoint]:
    """A row for each number of the specification, as they are done; Adult is measured 6 times at most."""
    names = checked_methods(parts, PARTS, runs, seed, "a part")
    return run_cells([partial(PARTS[name], runs, seed) for name in names], progress)
