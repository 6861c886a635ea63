"""Measures the accuracy of attacks: points of figures, and how far chance may have moved them."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import clopper_pearson, student
from deniable.formatting import format_count
from deniable.frames import Backend
from deniable.randomness.simulated import numbers_from
from deniable_papers.data import Dataset
from deniable_papers.studies.sweep import Progress, frame_points

CLASSICAL = ("grr", "ss", "sue", "oue", "olh")
"""The protocols whose values and people are attacked."""
DATASETS = {"adult": "adult-10", "acs": "acs-employment", "nursery": "nursery"}
"""The study's names, and ours."""
COMPUTED = ("exact", "published", "published-figure")
"""Attacks that are computed, not measured: `published` by the text of the study, and `published-figure` as
its figure shows them where that differs.
"""

_TAIL = (1 - 0.95) / 2  # at either end of an interval


@final
@dataclass(frozen=True, kw_only=True)
class AttackPoint:
    """One point of a figure; or why there is none."""

    figure: str
    dataset: str
    protocol: str
    epsilon: float
    attack: str
    accuracy: float | None = None
    """How often the attack is right, from 0 to 1."""
    stderr: float | None = None
    """The error of the mean over the runs: their scatter, or chance if that is more; 0 where computed."""
    low: float | None = None
    high: float | None = None
    """Ends of a 95 % interval: Student's over the runs, or Clopper and Pearson's for the people attacked if
    that is wider.
    """
    runs: int
    n: int
    users: int
    """How many people are attacked in each run; where all are, n, or all who are not compromised."""
    d: int
    seed: int
    baseline: float
    """How often a blind guess is right."""
    trained_on: int | None = None
    """The n by which a trained attack simulates and compromises people, as in NK-3n; as published where it is
    this row's n.
    """
    surveys: int | None = None
    top: int | None = None
    background: str | None = None
    metric: str | None = None
    prior: str | None = None
    k: int | None = None
    mse: float | None = None
    """The squared error of a share with n people: of a value that nobody has where published, else averaged
    over the values.

    Where computed its standard error is 0, too; of one measured run it has none.
    """
    mse_stderr: float | None = None
    mse_low: float | None = None
    mse_high: float | None = None
    loss: float | None = None
    """What a report truly loses."""
    pareto: bool | None = None
    """Whether no other protocol, at any epsilon here, errs less and is guessed less; for exact figures."""
    note: str | None = None
    """What a row is, where its names do not say all of it."""
    refused: str | None = None


def frame(rows: Iterable[AttackPoint], backend: Backend | None = None) -> Any:
    """A line per row, as a dataframe of the library you already have: pandas, polars or pyarrow."""
    return frame_points(AttackPoint, rows, backend)


def describe_measurement(rows: Sequence[AttackPoint]) -> str:
    """How these rows were measured, in words: people, those attacked, runs, seed.

    >>> some = AttackPoint(figure="value", dataset="acs", protocol="GRR", epsilon=1.0, attack="guess", runs=1,
    ...                    n=9000, users=500, d=3, seed=1, baseline=0.1)
    >>> describe_measurement([some])
    'n = 9,000, 500 attacked, 1 run, seed 1'
    """
    attacked = {row.users for row in rows if row.attack not in COMPUTED}
    trained = {row.trained_on for row in rows if row.trained_on not in (None, row.n)}
    runs, seeds = {row.runs for row in rows}, {row.seed for row in rows}
    return ", ".join(
        [
            f"n = {_range({row.n for row in rows})}",
            *(
                [f"{'all' if attacked == {row.n for row in rows} else _range(attacked)} attacked"]
                if attacked
                else []
            ),
            *(
                [f"trained as if n = {_range({one for one in trained if one is not None})}"]
                if trained
                else []
            ),
            format_count(runs.pop(), "run") if len(runs) == 1 else f"{_range(runs)} runs",
            f"seed {_range(seeds)}",
        ]
    )


def _range(numbers: set[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


@final
@dataclass(frozen=True)
class Cell:
    """What is measured together, and how."""

    asked: tuple[AttackPoint, ...]
    run: Callable[[int, np.random.Generator], Sequence[Array]]
    """Given its number and its own random numbers: for each row, how likely everybody who is attacked is to
    be found out.
    """
    work: float = 0.01
    """About how many seconds of a core a run takes, so that what is left can be shown early."""

    @property
    def kind(self) -> tuple[str, bool]:
        """What takes its time in the same way: the figure, and whether a classifier is trained."""
        return self.asked[0].figure, any(row.trained_on is not None for row in self.asked)


@final
@dataclass(frozen=True)
class Asked:
    """What all figures are asked for."""

    runs: int
    users: int | None
    attacks: tuple[str, ...]
    seed: int
    looked_for: int
    """How many people are looked for in a background."""
    training: int | None = None
    """The n by which trained attackers simulate and compromise people, where it is not that of the data."""

    def row(
        self, figure: str, people: Dataset, protocol: str, epsilon: float, attack: str, **more: Any
    ) -> AttackPoint:
        """A point that is still to be measured."""
        return AttackPoint(
            figure=figure,
            dataset=next((name for name, ours in DATASETS.items() if ours == people.name), people.name),
            protocol=protocol,
            epsilon=epsilon,
            attack=attack,
            runs=self.runs,
            seed=self.seed,
            n=people.n,
            **{"users": min(people.n, self.users or people.n), "d": people.d} | more,
        )

    def trained_on(self, people: Dataset) -> int:
        """The n by which trained attackers simulate and compromise."""
        return min(people.n, self.training or people.n)


def targets(n: int, draws: np.random.Generator, users: int | None) -> Integers:
    """The people who are attacked in a run, in ascending order."""
    return np.arange(n) if users is None or users >= n else np.sort(draws.choice(n, users, replace=False))


@final
class _Pace:
    """How long all took so far, and how long the rest may take: each kind of cell by what those of its kind
    took.

    Kinds say nothing about each other: the first cells wait for what is compiled once, and classifiers share
    cores as nothing else does. A kind of which nothing is done yet goes by its own stated work.
    """

    def __init__(self, cells: Iterable[Cell], runs: int) -> None:
        self._left, self._done, self._seconds = (
            defaultdict[tuple[str, bool], float](float) for _ in range(3)
        )
        for cell in cells:
            self._left[cell.kind] += runs * cell.work

    def took(self, cell: Cell, seconds: float) -> None:
        """A run of this cell is done."""
        self.skip(cell, 1)
        self._done[cell.kind] += cell.work
        self._seconds[cell.kind] += seconds

    def skip(self, cell: Cell, runs: int) -> None:
        """Runs of this cell will not be."""
        self._left[cell.kind] -= runs * cell.work

    def measure_progress(self) -> tuple[int, int]:
        """What is done and all of it, in milliseconds."""
        spent = sum(self._seconds.values())
        left = sum(
            work * self._seconds[kind] / self._done[kind] if self._done[kind] else work
            for kind, work in self._left.items()
        )
        return round(1000 * spent), round(1000 * (spent + max(0.0, left)))


def measure(cells: Sequence[Cell], asked: Asked, progress: Progress | None) -> Iterator[AttackPoint]:
    """Rows as they are done. The progress is of time, not of cells: those of trained attacks take much
    longer.
    """
    pace = _Pace(cells, asked.runs)
    for cell in cells:
        first, found = cell.asked[0], list[list[tuple[float, int]]]()
        try:
            for run in range(asked.runs):
                labels = (
                    first.figure,
                    first.dataset,
                    first.protocol,
                    first.epsilon,
                    first.prior,
                    first.metric,
                    run,
                )
                began = time.perf_counter()
                chances = cell.run(run, numbers_from(asked.seed, *labels))
                found.append([(float(chance.mean()), chance.size) for chance in chances])
                pace.took(cell, time.perf_counter() - began)
                if progress is not None:
                    progress(*pace.measure_progress())
        except InvalidParameter as problem:
            pace.skip(cell, asked.runs - len(found))
            yield from (replace(row, refused=str(problem)) for row in cell.asked)
            continue
        for row, seen in zip(cell.asked, zip(*found, strict=True), strict=True):
            right = np.array([share for share, _ in seen])
            if row.attack in COMPUTED:
                yield add_no_chance(row, float(right[0]))
            else:
                yield add_chance(replace(row, users=seen[0][1]), right)


def add_no_chance(row: AttackPoint, right: float) -> AttackPoint:
    """A row whose accuracy is computed: nothing of it is chance."""
    return replace(row, accuracy=right, stderr=0.0, low=right, high=right)


def add_chance(row: AttackPoint, right: Floats) -> AttackPoint:
    """A row with the mean of its runs, and how far chance may have moved it.

    A few runs can agree by luck, and one says nothing of its scatter. So error and interval are never less
    than those of independent guesses at as many people; for chances between 0 and 1, as where ties are not
    drawn, that is too much rather than too little. Where nobody or everybody is found out, the error is that
    of one person more who is and one who is not.
    """
    total, mean = right.size * row.users, float(right.mean())
    likely = (total * mean + 1) / (total + 2)
    scatter, low, high = over_runs(right)
    least, most = clopper_pearson(np.array(total * mean), total, _TAIL)
    return replace(
        row,
        accuracy=mean,
        stderr=max(scatter, math.sqrt(likely * (1 - likely) / total)),
        low=max(0.0, min(low, float(least))),
        high=min(1.0, max(high, float(most))),
    )


def over_runs(found: Floats) -> tuple[float, float, float]:
    """The standard error of a mean over runs and the ends of Student's interval; of one run, no error and its
    only value.
    """
    mean = float(found.mean())
    if found.size == 1:
        return 0.0, mean, mean
    error = float(found.std(ddof=1)) / math.sqrt(found.size)
    reach = student(_TAIL, found.size) * error
    return error, mean - reach, mean + reach
