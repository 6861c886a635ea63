"""Attacks the classifiers of the study: who was learned from, and what were their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.randomness import Words
from deniable_papers.models import Classifier, attribute_inference, membership, membership_bound
from deniable_papers.studies.applications.learning import models
from deniable_papers.studies.applications.learning.people import Lesson, divide_people
from deniable_papers.studies.applications.learning.point import LearningPoint
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.sweep import Progress

ROWS, SHADOWS = 8000, 16
"""Rows that are attacked, half of them members, and models that the attacker trains."""
EPSILONS = (1.0, 8.0)
INFERRED = ("gender", "marital-status")
"""Columns that are guessed."""
_ALL = 10


@final
@dataclass(frozen=True)
class Attacked:
    """A model that is attacked, and how many rows and shadows there are."""

    model: str
    protocol: str
    epsilon: float | None
    seed: int
    rows: int
    shadows: int

    @property
    def bound(self) -> float | None:
        """The largest advantage of any attack on membership, where the whole row is protected."""
        return membership_bound(self.epsilon) if self.epsilon and "protected" in self.protocol else None


@final
@dataclass(frozen=True, eq=False)
class Shown:
    """LightGBM for rows of codes: it takes an indicator for each value."""

    model: Any
    ks: tuple[int, ...]

    @property
    def classes_(self) -> Array:
        """The classes."""
        return np.asarray(self.model.classes_)

    def predict_proba(self, X: Integers) -> Floats:  # noqa: N803  # as in scikit-learn
        """How likely each class is."""
        return np.asarray(self.model.predict_proba(models.show_values(X, self.ks)))


@final
@dataclass(frozen=True, eq=False)
class Named:
    """Naive Bayes for rows of codes: it takes columns by name."""

    model: Any
    lesson: Lesson

    @property
    def classes_(self) -> Array:
        """The classes."""
        return np.asarray(self.model.classes_)

    def predict_proba(self, X: Integers) -> Floats:  # noqa: N803  # as in scikit-learn
        """How likely each class is."""
        return np.asarray(self.model.predict_proba(self.lesson.name_columns(X)))


def list_attacked(
    seed: int, epsilons: Sequence[float] = EPSILONS, rows: int = ROWS, shadows: int = SHADOWS
) -> list[Attacked]:
    """Raw models first, then those that learned from sanitized rows and from reports."""
    kinds: list[tuple[str, str, float | None]] = [
        ("LightGBM", "raw rows", None),
        ("naive Bayes", "raw rows", None),
    ]
    for epsilon in epsilons:
        kinds += [
            ("LightGBM", "GRR values", epsilon),
            ("naive Bayes", "one report, no prior", epsilon),
            ("naive Bayes", "one report, no prior, label protected", epsilon),
        ]
    return [Attacked(*kind, seed, rows, shadows) for kind in kinds]


def measure_attacks(
    attacked: Sequence[Attacked], progress: Progress | None = None, processes: int | None = None
) -> Iterator[LearningPoint]:
    """All attacks on each model, beside how accurate it is on people who are in no attack."""
    for rows in run_tasks(attack_model, attacked, progress, processes):
        yield from rows


def attack_model(asked: Attacked) -> list[LearningPoint]:
    """Every attack on one model."""
    lesson = divide_people(asked.seed - 1)
    rows, labels = lesson.train[: asked.rows], lesson.train_labels[: asked.rows]
    members = np.arange(len(rows)) < len(rows) // 2
    train = _choose_training(asked, lesson)
    model = train(rows[members], labels[members], asked.shadows + 1)  # no shadow has this number
    right = model.classes_[model.predict_proba(lesson.test).argmax(axis=1)] == lesson.test_labels
    accuracy = float(right.mean())
    found = []
    for trained in (None, train):
        by = membership(model, rows, labels, members, train=trained, shadows=asked.shadows, seed=asked.seed)
        low, high = by.interval()
        told = {"auc": by.auc, "found_at_1": by.true_positives(0.01), "found_at_01": by.true_positives(0.001)}
        found.append(
            _point(asked, f"membership, {by.method}", accuracy, by.advantage, low, high, asked.bound, **told)
        )
    for name in INFERRED:
        j = lesson.names.index(name)
        values, prior = list(range(lesson.ks[j])), lesson.prior[name]
        guessed = attribute_inference(model, rows, labels, members, j, values, prior=prior)
        low, high = guessed.interval()
        told = {"success": guessed.success, "blind": guessed.blind}
        found.append(
            _point(asked, f"inference of {name}", accuracy, guessed.advantage, low, high, None, **told)
        )
    return found


def _point(
    asked: Attacked,
    figure: str,
    accuracy: float,
    advantage: float,
    low: float,
    high: float,
    bound: float | None,
    **more: Any,
) -> LearningPoint:
    return LearningPoint(
        figure=figure,
        model=asked.model,
        protocol=asked.protocol,
        sanitized=0 if asked.epsilon is None else _ALL,
        epsilon=asked.epsilon,
        accuracy=accuracy,
        runs=1,
        seed=asked.seed,
        advantage=advantage,
        low=low,
        high=high,
        bound=bound,
        **more,
    )


def _choose_training(asked: Attacked, lesson: Lesson) -> Callable[[Integers, Integers, int], Classifier]:
    """How the model, and each shadow of it, is trained; each has words of its own."""

    def make_words(number: int) -> Words:
        return models.make_words(asked.seed, "attacked", asked.protocol, asked.epsilon, number)

    def train_trees(rows: Integers, labels: Integers, number: int) -> Classifier:
        if asked.epsilon is None:
            shown = models.show_values(rows, lesson.ks)
        else:
            words = make_words(number)
            shown = models.sanitize_rows(rows, lesson.ks, range(_ALL), asked.epsilon, "grr", words)
        return Shown(models.make_trees(number).fit(shown, labels), lesson.ks)

    def train_bayes(rows: Integers, labels: Integers, number: int) -> Classifier:
        if asked.epsilon is None:
            raw: Classifier = models.fit_raw_bayes(lesson, rows, labels)
            return raw
        label = "protected" if "protected" in asked.protocol else "public"
        model = models.fit_bayes(lesson, rows, labels, asked.epsilon, make_words(number), label=label)
        return Named(model, lesson)

    return train_trees if asked.model == "LightGBM" else train_bayes
