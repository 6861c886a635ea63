"""Computes what a crowd hides, by each bound, beside its specification and beside small crowds' truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from deniable_papers.studies.shuffle.bounds import CASES, compare_bounds
from deniable_papers.studies.shuffle.small import enumerate_small
from deniable_papers.studies.stated import StatedPoint
from deniable_papers.studies.sweep import Progress, checked_methods, run_cells

__all__ = ["PARTS", "QUICK_PEOPLE", "StatedPoint", "reproduce"]

QUICK_PEOPLE = (10_000,)

Cell = Callable[[], Iterator[StatedPoint]]


def _list_bounds(people: Iterable[int] | None) -> list[Cell]:
    asked = {n for n, _ in CASES} if people is None else set(people)
    return [partial(compare_bounds, n, epsilon) for n, epsilon in CASES if n in asked]


PARTS: dict[str, Callable[[Iterable[int] | None], list[Cell]]] = {
    "bounds": _list_bounds,
    "small": lambda _people: [enumerate_small],
}
"""What is computed: all of it, or only the parts that are named; each in cells."""


def reproduce(
    parts: Iterable[str] | None = None,
    people: Iterable[int] | None = None,
    runs: int = 1,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[StatedPoint]:
    """A row for each number of the specification, as they are done. Nothing is random."""
    names = checked_methods(parts, PARTS, runs, seed, "a part")
    cells = [cell for name in names for cell in PARTS[name](people)]
    return run_cells(cells, progress)
