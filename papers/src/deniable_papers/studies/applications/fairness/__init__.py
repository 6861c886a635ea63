"""Studies what sanitized attributes do to a model's accuracy and fairness, beside a model without them.

Reproduces "(Local) Differential Privacy has NO Disparate Impact on Fairness" (2023). Four sensitive
attributes of the training part are sanitized. The two groups of one of them are compared on a raw test part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.mechanisms import PROTOCOLS
from deniable_papers.studies.applications.fairness.attribute import (
    Attack,
    Guess,
    guess_attribute,
    list_attributes,
)
from deniable_papers.studies.applications.fairness.cases import CASES
from deniable_papers.studies.applications.fairness.guarantees import describe_guarantee
from deniable_papers.studies.applications.fairness.model import (
    DROPPED,
    METRICS,
    RAW,
    BudgetSplit,
    Fit,
    Score,
    fit_model,
)
from deniable_papers.studies.applications.fairness.point import AttributePoint, FairnessPoint
from deniable_papers.studies.applications.fairness.published import compare
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.sweep import Progress

__all__ = [
    "BASELINES",
    "CASES",
    "EPSILONS",
    "MECHANISMS",
    "QUICK_EPSILONS",
    "QUICK_RUNS",
    "RUNS",
    "SPLITS",
    "AttributePoint",
    "FairnessPoint",
    "describe_guarantee",
    "reproduce",
]

BASELINES = (RAW, DROPPED)
"""What every mechanism is compared with."""
MECHANISMS = ("GRR", "SUE", "OUE")
"""What is sanitized by, unless others are named."""
EPSILONS, QUICK_EPSILONS = (0.25, 1.0, 4.0, 10.0), (1.0, 4.0)
RUNS, QUICK_RUNS = 5, 2
SPLITS: tuple[BudgetSplit, ...] = ("uniform", "k_based")
_ATTACKED = 2  # seeds of an attack on the attributes: the splits hardly differ


def reproduce(
    datasets: Iterable[str] | None = None,
    mechanisms: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    split: BudgetSplit = "uniform",
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    processes: int | None = None,
) -> Iterator[FairnessPoint | AttributePoint]:
    """Rows as they are done: the baselines, every mechanism and epsilon, and attacks on the attributes.

    Splits and models have the seeds 0 to runs - 1, as published; `seed` is that of the noise.
    """
    names = _check_names(datasets, CASES, "a table of this study")
    known = [*BASELINES, *map(str.upper, PROTOCOLS)]
    protocols = [
        name for name in _check_names(mechanisms, known, "a mechanism", MECHANISMS) if name not in BASELINES
    ]
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    if split not in SPLITS:
        raise InvalidParameter(not_among(split, "a split of the budget", SPLITS))
    whole_number("runs", runs, 1)
    whole_number("seed", seed, 0)
    asked: list[tuple[str, str, float | None]] = []
    for name in names:
        asked += [(name, baseline, None) for baseline in BASELINES]
        asked += [(name, protocol, epsilon) for protocol in protocols for epsilon in budgets]
    attacks = [(name, attribute) for name in names for attribute in list_attributes(CASES[name])]
    return _measure(asked, attacks, split, runs, seed, progress, processes)


def _check_names(
    given: Iterable[str] | None, known: Iterable[str], what: str, usual: Iterable[str] | None = None
) -> list[str]:
    """The names that are asked for, as they are known: case does not matter."""
    allowed = {name.lower(): name for name in known}
    names = list(usual if usual is not None else allowed.values()) if given is None else list(given)
    for name in names:
        if str(name).lower() not in allowed:
            raise InvalidParameter(not_among(name, what, allowed.values()))
    return list(dict.fromkeys(allowed[name.lower()] for name in names))


def _measure(
    asked: Sequence[tuple[str, str, float | None]],
    attacks: Sequence[tuple[str, str]],
    split: BudgetSplit,
    runs: int,
    seed: int,
    progress: Progress | None,
    processes: int | None,
) -> Iterator[FairnessPoint | AttributePoint]:
    tried = min(runs, _ATTACKED)
    fits = [Fit(name, how, epsilon, split, one, seed) for name, how, epsilon in asked for one in range(runs)]
    guesses = [Attack(name, attribute, one) for name, attribute in attacks for one in range(tried)]
    tasks: list[Fit | Attack] = [*fits, *guesses]
    done = run_tasks(_work, tasks, progress, processes)
    for name, how, epsilon in asked:
        scores = [one for one in islice(done, runs) if isinstance(one, Score)]
        yield _summarize(name, how, epsilon, split, seed, scores)
    for name, attribute in attacks:
        some = [one for one in islice(done, tried) if isinstance(one, Guess)]
        yield _average(name, attribute, some)


def _work(task: Fit | Attack) -> Score | Guess:
    """One fit, in a process of its own."""
    return fit_model(task) if isinstance(task, Fit) else guess_attribute(task)


def _average(name: str, attribute: str, some: Sequence[Guess]) -> AttributePoint:
    return AttributePoint(
        dataset=name,
        attribute=attribute,
        runs=len(some),
        accuracy=float(np.mean([one.accuracy for one in some])),
        auc=float(np.mean([one.auc for one in some])),
        blind=float(np.mean([one.blind for one in some])),
    )


def _summarize(
    name: str, how: str, epsilon: float | None, split: BudgetSplit, seed: int, scores: Sequence[Score]
) -> FairnessPoint:
    table = np.array([score.metrics for score in scores])
    runs = len(scores)
    spread = dict(zip(METRICS, table.std(axis=0, ddof=1).tolist(), strict=True)) if runs > 1 else None
    known = compare(name, how, epsilon, split, runs)
    return FairnessPoint(
        dataset=name,
        mechanism=how,
        epsilon=epsilon,
        split=None if epsilon is None else split,
        runs=runs,
        seed=seed,
        sd=spread,
        published=known and known.published,
        margin=known and known.margin,
        loss=scores[0].loss,
        **dict(zip(METRICS, table.mean(axis=0).tolist(), strict=True)),
    )
