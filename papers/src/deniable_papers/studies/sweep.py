"""Measures points of the reproductions one after the other, each with its errors and its true losses."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter, not_among
from deniable.exact import whole_number
from deniable.frames import Backend, frame_of
from deniable.randomness.simulated import numbers_from
from deniable.records import RecordMechanism
from deniable_papers.data import Dataset
from deniable_papers.studies.record_errors import measure_record_errors

RUNS = 100
DATASETS = (
    "nursery",
    "adult",
    "ms-fimu",
    "census-income",
    *(f"synthetic-{number}" for number in range(1, 7)),
)
"""What is shown unless others are named."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Measurement(ABC):
    """What was measured on a dataset; or why nothing was. What a study varies is its own."""

    dataset: str
    method: str
    n: int
    d: int
    runs: int
    seed: int
    refused: str | None = None


@dataclass(frozen=True, kw_only=True)
class Point(Measurement, ABC):
    """One point of a figure, with its errors and losses."""

    mse_avg: float | None = None
    """MSE_avg: the mean squared error of the unbiased estimates, over values and then over attributes, as the
    papers define it.
    """
    mse_avg_stderr: float | None = None
    mse_avg_projected: float | None = None
    """MSE_avg of estimates that are clipped at 0 and scaled to a sum of one, as the papers' code has them."""
    mse_avg_projected_stderr: float | None = None
    loss_record: float | None = None
    """The loss of one report."""
    loss_attribute: float | None = None


AGES = 100
"""The values of Adult's ages, as studies of one attribute take them: 0 to 98, and 99 or more."""


def take_attribute(people: Dataset) -> tuple[str, Integers, int]:
    """The first attribute of people, for studies of one attribute: a name, everybody's value, and k.

    That of Adult is the age in years; an own file keeps the values that it has.
    """
    values = people.table[:, 0].astype(np.int64)
    if people.name != "adult-10":
        return people.name, values, people.ks[0]
    ages = np.array(people.labels[0], dtype=np.int64)
    return "adult", np.minimum(ages[values], AGES - 1), AGES


_Row = TypeVar("_Row", bound=Measurement)
_Any = TypeVar("_Any")
_Point = TypeVar("_Point", bound=Point)


def frame_points(kind: type[Any], rows: Iterable[Any], backend: Backend | None) -> Any:
    """Points of one dataclass as a dataframe, which has its columns even where there is no point."""
    plain = [asdict(row) for row in rows]
    return frame_of({one.name: [row[one.name] for row in plain] for one in fields(kind)}, backend)


def checked_methods(
    methods: Iterable[str] | None, known: Iterable[str], runs: int, seed: int, what: str = "a method"
) -> list[str]:
    """The methods that are asked for, by default all; refuse others, and runs and seeds that are none."""
    names = list(known if methods is None else methods)
    for name in names:
        if name not in list(known):
            raise InvalidParameter(not_among(name, f"{what} of this study", known))
    whole_number("runs", runs, 1)
    whole_number("seed", seed, 0)
    return names


def run_sweep(
    cells: Sequence[tuple[Dataset, _Row]],
    measure_point: Callable[[_Row, Dataset], _Row],
    progress: Progress | None,
) -> Iterator[_Row]:
    """Rows, as they are done; what a protocol cannot do is a row that says why."""
    for done, (people, asked) in enumerate(cells, 1):
        try:
            yield measure_point(asked, people)
        except InvalidParameter as problem:
            yield replace(asked, refused=str(problem))
        if progress is not None:
            progress(done, len(cells))


def run_cells(cells: Sequence[Callable[[], Iterator[_Any]]], progress: Progress | None) -> Iterator[_Any]:
    """The rows of all cells, one cell after the other."""
    for done, measure in enumerate(cells, 1):
        yield from measure()
        if progress is not None:
            progress(done, len(cells))


def measure_point(
    asked: _Point, mechanism: RecordMechanism, people: Dataset, *labels: str | float, **more: Any
) -> _Point:
    """A row with its errors and losses; its numbers are drawn from its seed and its labels only."""
    errors = measure_record_errors(mechanism, people.counts, asked.runs, numbers_from(asked.seed, *labels))
    return replace(
        asked,
        mse_avg=errors.unbiased.mean,
        mse_avg_stderr=errors.unbiased.stderr,
        mse_avg_projected=errors.projected.mean,
        mse_avg_projected_stderr=errors.projected.stderr,
        loss_record=mechanism.loss("record"),
        loss_attribute=mechanism.loss("attribute"),
        **more,
    )
