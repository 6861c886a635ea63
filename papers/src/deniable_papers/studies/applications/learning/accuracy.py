"""Measures how accurate classifiers are that learned from raw rows, sanitized rows, or reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.learn import PrivateNaiveBayes
from deniable_papers.studies.applications.learning import models
from deniable_papers.studies.applications.learning.people import SENSITIVE, TARGET, Lesson, divide_people
from deniable_papers.studies.applications.learning.point import LearningPoint
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.sweep import Progress

EPSILONS = (1.0, 2.0, 4.0, 8.0)
_TOLERANCE = 1.5  # standard deviations
_FEW = len(SENSITIVE)


@final
@dataclass(frozen=True)
class Case:
    """A model, what it learns from, and what is stated of it."""

    model: str
    protocol: str
    sanitized: int = 0
    epsilon: float | None = None
    stated: float | None = None
    spread: float | None = None
    """The standard deviation that is stated, over splits and noise."""


_PLAIN = (
    Case("majority", "nothing", stated=0.518, spread=0.001),
    Case("LightGBM", "raw rows", stated=0.8149, spread=0.006),
    Case("naive Bayes", "raw rows", stated=0.798, spread=0.006),
    Case("LightGBM", "rows without the 4 columns", _FEW, stated=0.8056, spread=0.006),
)
_STATED: dict[tuple[str, str, int], tuple[float | None, ...]] = {
    ("LightGBM", "GRR values", _FEW): (0.805, 0.805, 0.805, 0.805),
    ("LightGBM", "OUE bits", _FEW): (0.804, 0.805, 0.806, 0.807),
    ("LightGBM", "GRR values", 10): (0.59, 0.63, 0.71, 0.758),
    ("LightGBM", "OUE bits", 10): (0.55, 0.68, 0.74, 0.759),
    ("naive Bayes", "the same OUE bits", 10): (0.69, 0.72, 0.75, 0.770),
    ("naive Bayes", "one report", 10): (0.743, 0.769, 0.789, 0.800),
    ("naive Bayes", "one report, no prior", 10): (0.712, 0.763, 0.786, 0.799),
    ("naive Bayes", "one report, label protected", 10): (0.722, 0.750, 0.781, 0.801),
    ("naive Bayes", "one report, damped, no prior", 10): (None, None, None, None),
    ("naive Bayes", "one report, damped, no prior, label protected", 10): (None, None, None, None),
    ("naive Bayes", "one report, noisy test", 10): (0.535, 0.535, 0.535, 0.535),
}
_NOISY_RANGE = 0.035  # stated as .50 to .57
_STATED_RUNS = 3
SPREADS = {
    "one report": (0.02, 0.008, 0.005, 0.005),
    "4 columns": (0.006, 0.006, 0.006, 0.006),
    "GRR values": (0.12, 0.12, 0.014, 0.007),
    "OUE bits": (0.12, 0.12, 0.028, 0.005),
    "the same OUE bits": (0.040, 0.013, 0.012, 0.007),
}
"""Standard deviations of one run, by epsilon: as stated of one report and, at small epsilons, of LightGBM; as
found here of the others. Those of the same OUE bits are of 20 runs, each with words of its own.
"""


def list_cases(epsilons: Sequence[float] = EPSILONS) -> list[Case]:
    """Every model, what it learns from, and every epsilon."""
    cases = list(_PLAIN)
    for (model, protocol, sanitized), stated in _STATED.items():
        known = dict(zip(EPSILONS, stated, strict=True))
        spreads = _find_spreads(protocol, sanitized)
        cases += [
            Case(model, protocol, sanitized, epsilon, known.get(epsilon), spreads.get(epsilon))
            for epsilon in epsilons
        ]
    return cases


def _find_spreads(protocol: str, sanitized: int) -> dict[float, float]:
    if "noisy test" in protocol:
        return dict.fromkeys(EPSILONS, _NOISY_RANGE / _TOLERANCE)
    name = "4 columns" if sanitized == _FEW else protocol.partition(",")[0]
    return dict(zip(EPSILONS, SPREADS[name], strict=True))


def measure_accuracies(
    cases: Sequence[Case],
    runs: int,
    seed: int,
    progress: Progress | None = None,
    processes: int | None = None,
    most: int | None = None,
) -> Iterator[LearningPoint]:
    """The accuracy of each case; run i divides people by seed - 1 + i, so that the usual ones begin at 0."""
    tasks = [(case, seed - 1 + run, most) for case in cases for run in range(runs)]
    scores = run_tasks(measure_case, tasks, progress, processes)
    for case in cases:
        yield summarize_case(case, np.array(list(islice(scores, runs))), seed)


def summarize_case(case: Case, scores: Floats, seed: int) -> LearningPoint:
    """The mean of some runs, beside what is stated; fewer than three scatter more."""
    runs = scores.size
    own = float(scores.std(ddof=1)) if runs > 1 else 0.0
    margin = None
    if case.stated is not None and case.spread is not None:
        margin = _TOLERANCE * case.spread * max(1.0, (_STATED_RUNS / runs) ** 0.5)
    return LearningPoint(
        figure="accuracy",
        model=case.model,
        protocol=case.protocol,
        sanitized=case.sanitized,
        epsilon=case.epsilon,
        accuracy=float(scores.mean()),
        stderr=own / runs**0.5,
        runs=runs,
        seed=seed,
        stated=case.stated,
        margin=margin,
    )


def measure_case(task: tuple[Case, int, int | None]) -> float:
    """The accuracy of one model on the people who test, with one seed."""
    case, seed, most = task
    lesson = divide_people(seed, most)
    if case.model == "majority":
        commonest = np.bincount(lesson.train_labels).argmax()
        return float((lesson.test_labels == commonest).mean())
    if case.model == "LightGBM":
        return _measure_trees(case, lesson, seed)
    if case.epsilon is None:
        model = models.fit_raw_bayes(lesson, lesson.train, lesson.train_labels)
        return float((model.predict(lesson.test) == lesson.test_labels).mean())
    return _measure_bayes(case, case.epsilon, lesson, seed)


def _measure_trees(case: Case, lesson: Lesson, seed: int) -> float:
    columns = [lesson.names.index(name) for name in SENSITIVE]
    if case.epsilon is None:
        kept = [j for j in range(len(lesson.names)) if not case.sanitized or j not in columns]
        ks = [lesson.ks[j] for j in kept]
        tables = [models.show_values(rows[:, kept], ks) for rows in (lesson.train, lesson.test)]
        return models.score_trees(lesson, tables[0], tables[1], seed)
    if case.sanitized != _FEW:
        columns = list(range(len(lesson.names)))
    protocol = case.protocol.partition(" ")[0].lower()
    words = models.make_words(seed, "train", case.protocol, case.sanitized, case.epsilon)
    train = models.sanitize_rows(lesson.train, lesson.ks, columns, case.epsilon, protocol, words)
    return models.score_trees(lesson, train, models.show_values(lesson.test, lesson.ks), seed)


def _measure_bayes(case: Case, epsilon: float, lesson: Lesson, seed: int) -> float:
    words = models.make_words(seed, "train", case.protocol, epsilon)
    if case.protocol == "the same OUE bits":
        return _score(models.fit_split_bayes(lesson, epsilon, words), lesson, lesson.test)
    options: dict[str, Any] = {} if "damped" in case.protocol else dict(models.SPECIFIED)
    options["label"] = "protected" if "protected" in case.protocol else "public"
    options["prior"] = None if "no prior" in case.protocol else lesson.prior
    model = models.fit_bayes(lesson, lesson.train, lesson.train_labels, epsilon, words, **options)
    if "noisy test" not in case.protocol:
        return _score(model, lesson, lesson.test)
    plan = models.plan_split(lesson, epsilon, len(lesson.test))
    people = lesson.name_columns(lesson.test) | {TARGET: lesson.test_labels}
    reports = plan.privatize(people, models.make_words(seed, "test", case.protocol, epsilon))
    return float((model.predict_reports(plan, reports) == lesson.test_labels).mean())


def _score(model: PrivateNaiveBayes, lesson: Lesson, rows: Integers) -> float:
    return float((model.predict(lesson.name_columns(rows)) == lesson.test_labels).mean())
