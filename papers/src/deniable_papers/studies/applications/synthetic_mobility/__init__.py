"""Finds who was there on which days from counts of unions of consecutive days, and from reports.

Counts are exact as published, noisy from one curator who knows everybody, or from reports of one union a
person. Reports of the whole set of days are compared with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.exact import positive_epsilon
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers.data.visits import DAYS
from deniable_papers.learn.unions import union_matrix
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.applications.synthetic_mobility.cases import CASES, load_people
from deniable_papers.studies.applications.synthetic_mobility.statement import (
    describe_durations,
    state_guarantees,
)
from deniable_papers.studies.sweep import Progress, checked_methods

__all__ = [
    "CASES",
    "EPSILONS",
    "RUNS",
    "SyntheticPoint",
    "describe_durations",
    "reproduce",
    "state_guarantees",
]

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 10
_PUBLISHED_MRE = {"lp": 0.08}
"""About 8 %, as stated for the people that were drawn from the linear program."""
_MARGIN, _MARGIN_LP = 0.02, 0.05
_STATED: dict[tuple[str, float | None], tuple[float, float]] = {
    ("maxent", None): (0.2268, 0.001),
    ("independent", None): (0.447, 0.001),
    ("maxent-central", 1.0): (0.229, _MARGIN),
    ("lp-local", 0.5): (0.60, _MARGIN_LP),
    ("lp-local", 1.0): (0.56, _MARGIN_LP),
    ("lp-local", 4.0): (0.52, _MARGIN_LP),
    ("maxent-local", 0.5): (0.325, _MARGIN),
    ("maxent-local", 1.0): (0.288, _MARGIN),
    ("maxent-local", 4.0): (0.255, _MARGIN),
    ("day-set", 0.5): (0.317, _MARGIN),
    ("day-set", 1.0): (0.190, _MARGIN),
    ("day-set", 4.0): (0.043, _MARGIN),
}
"""Total variations that other runs of the same steps have found, and how far ours may be off. The linear
program has none where counts have little noise: its distance is that of whichever vertex a solver returns.
"""


@final
@dataclass(frozen=True, kw_only=True)
class SyntheticPoint:
    """How far the sets of days that were found are from the true ones."""

    method: str
    noise: str
    epsilon: float | None
    tv: float
    """The total variation from the true sets of days."""
    stderr: float | None
    mre: float
    """The mean relative error of the unions, against the true counts."""
    residual: float | None
    cells: int
    """How many sets of days have people, in the last run."""
    loss: float | None
    """The true loss of a person's whole week; None where there is no bound. Only central noise hides that
    a person came at all: everybody who reports did.
    """
    runs: int
    seed: int
    stated: float | None = None
    margin: float | None = None
    published_mre: float | None = None
    """The mean relative error that was published for the synthetic data of this case."""
    refused: str | None = None

    @property
    def differs(self) -> bool:
        """Whether it is farther from what was stated than it may be."""
        return self.stated is not None and abs(self.tv - self.stated) > (self.margin or 0.0)


@final
@dataclass(frozen=True)
class _Task:
    name: str
    epsilon: float | None
    runs: int
    seed: int


def reproduce(
    cases: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    processes: int | None = None,
) -> Iterator[SyntheticPoint]:
    """A row for each case and epsilon, as they are done; what has no noise is measured once."""
    names = checked_methods(cases, CASES, runs, seed, "a case")
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    tasks = [
        _Task(name, epsilon, 1 if epsilon is None else runs, seed)
        for name in names
        for epsilon in ([None] if CASES[name][1] == "none" else budgets)
    ]
    yield from run_tasks(_measure, tasks, progress, processes)


def _measure(task: _Task) -> SyntheticPoint:
    people = load_people()
    method, noise, find = CASES[task.name]
    numbers = numbers_from(task.seed, "synthetic mobility", task.name, task.epsilon)
    seeds = numbers.integers(1 << 62, size=task.runs).tolist()
    found = [find(people, task.epsilon or 0.0, seeded(seed)) for seed in seeds]
    errors = [measure_distance(one.cells, people.cells) for one in found]
    unions = [union_matrix(DAYS) @ one.cells for one in found]
    residuals = [one.residual for one in found if one.residual is not None]
    stated, margin = _STATED.get((task.name, task.epsilon), (None, None))
    return SyntheticPoint(
        method=method,
        noise=noise,
        epsilon=task.epsilon,
        tv=float(np.mean(errors)),
        stderr=_find_stderr(errors),
        mre=float(np.mean([np.abs(one - people.unions) / people.unions for one in unions])),
        residual=float(np.mean(residuals)) if residuals else None,
        cells=int((found[-1].cells > 0).sum()),
        loss=found[0].loss,
        runs=task.runs,
        seed=task.seed,
        stated=stated,
        margin=margin,
        published_mre=_PUBLISHED_MRE.get(task.name),
    )


def measure_distance(cells: Floats, truth: Integers) -> float:
    """The total variation between two numbers of people in all sets of days."""
    return float(np.abs(cells / cells.sum() - truth / truth.sum()).sum() / 2)


def _find_stderr(errors: Sequence[float]) -> float | None:
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else None
