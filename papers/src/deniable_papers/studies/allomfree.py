"""Reproduces the longitudinal figures of the ALLOMFREE paper: error of one collection, budget of all.

Everybody draws one attribute, keeps it forever, and reports it by two rounds. ALLOMFREE chooses between
L-GRR and L-OSUE for each attribute; as published, its L-GRR spends only a part of epsilon_first.
`ALLOMFREE-exact` spends all of it: the curve at equal true loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, final

from deniable.exact import positive_epsilon
from deniable.records import Sample
from deniable.rounds import Memoized, l_grr, l_osue, l_oue, l_soue, l_sue
from deniable_papers.data import Dataset
from deniable_papers.studies.sweep import (
    DATASETS,
    RUNS,
    Point,
    Progress,
    checked_methods,
    measure_point,
    run_sweep,
)

__all__ = ["DATASETS", "EPSILONS", "METHODS", "PARTS", "RUNS", "AllomfreePoint", "reproduce"]

EPSILONS = tuple(0.5 * step for step in range(1, 9))
"""Budgets of any number of reports of one value."""
PARTS = (0.3, 0.6)
"""The parts of it that one report may spend."""


@final
@dataclass(frozen=True, kw_only=True)
class AllomfreePoint(Point):
    """One point of a figure. Only one attribute is ever reported, so a report loses as much per attribute as
    per record.
    """

    epsilon_forever: float
    epsilon_first: float
    loss_forever: float | None = None
    """The loss of any number of reports of values that do not change."""
    direct: int | None = None
    """How many of the attributes are reported by L-GRR."""


def reproduce(
    datasets: Iterable[Dataset],
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    parts: Iterable[float] = PARTS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[AllomfreePoint]:
    """A row per dataset, part, method and epsilon, as they are done; what a protocol cannot do is a row that
    says why.
    """
    names = checked_methods(methods, METHODS, runs, seed)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    shares = [positive_epsilon(part) for part in parts]
    cells = [
        (
            people,
            AllomfreePoint(
                dataset=people.name,
                method=name,
                epsilon_forever=epsilon,
                epsilon_first=round(part * epsilon, 12),
                n=people.n,
                d=people.d,
                runs=runs,
                seed=seed,
            ),
        )
        for people in datasets
        for part in shares
        for name in names
        for epsilon in budgets
    ]
    return run_sweep(cells, _measure, progress)


def _measure(asked: AllomfreePoint, people: Dataset) -> AllomfreePoint:
    parts = tuple(
        _make_mechanism(asked.method, k, asked.epsilon_first, asked.epsilon_forever) for k in people.ks
    )
    return measure_point(
        *(asked, Sample(parts), people),
        *("allomfree", asked.dataset, asked.method, asked.epsilon_forever, asked.epsilon_first),
        loss_forever=max(part.first.loss() for part in parts),
        direct=sum(part.names_value for part in parts),
    )


@lru_cache(maxsize=4096)
def _make_mechanism(method: str, k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
    """The same numbers of values come up again and again, and exact budgets take a while to find."""
    return METHODS[method](k, epsilon_first, epsilon_forever)


def _best(calibration: Literal["exact", "published"]) -> Callable[[int, float, float], Memoized]:
    """L-GRR or L-OSUE, whichever errs less at f = 0."""

    def make(k: int, epsilon_first: float, epsilon_forever: float) -> Memoized:
        direct = l_grr(k, epsilon_first, epsilon_forever, calibration)
        unary = _make_mechanism("L-OSUE", k, epsilon_first, epsilon_forever)
        return direct if direct.law.error(1, 0.0) <= unary.law.error(1, 0.0) else unary

    return make


METHODS: dict[str, Callable[[int, float, float], Memoized]] = {
    "L-SUE": l_sue,
    "L-OUE": l_oue,
    "L-OSUE": l_osue,
    "L-SOUE": l_soue,
    "ALLOMFREE": _best("published"),
    "ALLOMFREE-exact": _best("exact"),
}


def sample_kept(
    ks: Sequence[int],
    epsilon_first: float,
    epsilon_forever: float,
    calibration: Literal["exact", "published"] = "exact",
) -> Sample:
    """One attribute each, drawn once and kept, by L-GRR or L-OSUE, whichever errs less (ALLOMFREE).

    >>> [type(part.second).__name__ for part in sample_kept([3, 50], 1.0, 2.0).parts]
    ['Direct', 'Unary']

    Reference: arcolezi2022.
    """
    best = _best(calibration)
    return Sample(tuple(best(k, epsilon_first, epsilon_forever) for k in ks))


"""The methods of the paper for one attribute of k values, and ALLOMFREE once more with all of its budget
spent.
"""
