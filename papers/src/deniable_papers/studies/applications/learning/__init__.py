"""Compares classifiers that learn from raw rows, sanitized rows and reports, and attacks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable_papers.studies.applications.learning.accuracy import EPSILONS, list_cases, measure_accuracies
from deniable_papers.studies.applications.learning.attacks import EPSILONS as ATTACKED_EPSILONS
from deniable_papers.studies.applications.learning.attacks import (
    ROWS,
    SHADOWS,
    list_attacked,
    measure_attacks,
)
from deniable_papers.studies.applications.learning.guarantees import list_guarantees
from deniable_papers.studies.applications.learning.point import LearningPoint
from deniable_papers.studies.sweep import Progress

__all__ = [
    "ATTACKED_EPSILONS",
    "EPSILONS",
    "PARTS",
    "QUICK_EPSILONS",
    "QUICK_ROWS",
    "QUICK_RUNS",
    "QUICK_SHADOWS",
    "ROWS",
    "RUNS",
    "SHADOWS",
    "LearningPoint",
    "list_guarantees",
    "reproduce",
]

PARTS = ("accuracy", "attacks")
RUNS = 5
QUICK_RUNS, QUICK_EPSILONS, QUICK_ROWS, QUICK_SHADOWS = 1, (1.0, 8.0), 4000, 4


def reproduce(
    parts: Iterable[str] | None = None,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    attacked: Sequence[float] = ATTACKED_EPSILONS,
    rows: int = ROWS,
    shadows: int = SHADOWS,
    processes: int | None = None,
    most: int | None = None,
) -> Iterator[LearningPoint]:
    """The accuracy of every model at these epsilons, and the attacks on some, row by row as they are done.

    Accuracies are means of `runs` divisions of the people; each attack is made once, on `rows` rows and with
    `shadows` models that the attacker trains. `most` is how many people there are at most, for trials.
    """
    asked = list(PARTS if parts is None else parts)
    for part in asked:
        if part not in PARTS:
            raise InvalidParameter(not_among(part, "a part of this study", PARTS))
    whole_number("runs", runs, 1)
    whole_number("seed", seed, 1)
    for epsilon in (*epsilons, *attacked):
        positive_epsilon(epsilon)
    cases = list_cases(epsilons) if "accuracy" in asked else []
    victims = list_attacked(seed, attacked, rows, shadows) if "attacks" in asked else []
    total = len(cases) * runs + len(victims)

    def step(before: int) -> Progress | None:
        return None if progress is None else lambda done, _all: progress(before + done, total)

    yield from measure_accuracies(cases, runs, seed, step(0), processes, most)
    yield from measure_attacks(victims, step(len(cases) * runs), processes)
