"""Computes and simulates the tables of the specification of ranges, beside what it states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

from deniable_papers.studies.ranges.exact import CASES, compare_trees
from deniable_papers.studies.ranges.people import PEOPLE_OF
from deniable_papers.studies.ranges.simulated import EPSILONS, SIZES, measure_errors
from deniable_papers.studies.stated import StatedPoint
from deniable_papers.studies.sweep import Progress, checked_methods, run_cells

__all__ = ["PARTS", "QUICK_RUNS", "QUICK_SIZES", "RUNS", "SIZES", "StatedPoint", "reproduce"]

RUNS = 12
QUICK_RUNS = 3
QUICK_SIZES = SIZES[:1]

Cell = Callable[[], Iterator[StatedPoint]]


def _list_errors(runs: int, seed: int, sizes: Iterable[int]) -> list[Cell]:
    cells = product(sizes, EPSILONS, PEOPLE_OF)
    return [partial(measure_errors, k, epsilon, people, runs, seed) for k, epsilon, people in cells]


PARTS: dict[str, Callable[[int, int, Iterable[int]], list[Cell]]] = {
    "trees": lambda _runs, seed, _sizes: [partial(compare_trees, case, seed) for case in CASES],
    "errors": _list_errors,
}
"""What is measured: all of it, or only the parts that are named; each in cells."""


def reproduce(
    parts: Iterable[str] | None = None,
    runs: int = RUNS,
    seed: int = 1,
    sizes: Iterable[int] = SIZES,
    progress: Progress | None = None,
) -> Iterator[StatedPoint]:
    """A row for each number of the specification, as they are done; `sizes` are numbers of values."""
    names = checked_methods(parts, PARTS, runs, seed, "a part")
    cells = [cell for name in names for cell in PARTS[name](runs, seed, sizes)]
    return run_cells(cells, progress)
