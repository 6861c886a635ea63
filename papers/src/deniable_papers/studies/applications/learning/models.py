"""Trains the classifiers of the study: on raw rows, on some columns, on sanitized rows, and from reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.arrays import Array, Integers
from deniable.learn import PrivateNaiveBayes
from deniable.mechanisms import grr, oue
from deniable.randomness import Words
from deniable.randomness.simulated import numbers_from, seeded
from deniable.records import spl
from deniable.study import Plan
from deniable_papers.studies.applications.learning.people import TARGET, Lesson

BEST_OF = ("grr", "oue")
"""What a person who reports one column chooses between, as specified."""
SPECIFIED: dict[str, Any] = {"damp": 0.0, "temper": 1.0}
"""The options of naive Bayes as it is specified, without damping and tempering."""
_TREES = 100


def make_words(seed: int, *labels: object) -> Words:
    """Words of their own for every list of labels: those who teach and those who test share no noise."""
    return seeded(int(numbers_from(seed, "learning", *labels).integers(1 << 62)))


def make_trees(seed: int) -> Any:
    """LightGBM with one thread: threads that wait for each other spin."""
    import lightgbm

    settings: dict[str, Any] = {"n_jobs": 1, "force_row_wise": True, "verbosity": -1}
    return lightgbm.LGBMClassifier(n_estimators=_TREES, random_state=seed, **settings)


def sanitize_rows(
    rows: Integers, ks: Sequence[int], columns: Sequence[int], epsilon: float, protocol: str, words: Words
) -> Array:
    """An indicator for each value of each column; those of some columns from reports at equal parts."""
    make = {"grr": grr, "oue": oue}[protocol]
    blocks = []
    for j, k in enumerate(ks):
        if j in columns:
            mechanism = make(k, epsilon / len(columns))
            blocks.append(mechanism.support(mechanism.privatize(rows[:, j], words)))
        else:
            blocks.append(show_values(rows[:, [j]], [k]))
    return np.concatenate(blocks, axis=1).astype(np.float32)


def show_values(rows: Integers, ks: Sequence[int]) -> Array:
    """An indicator for each value of each column, as it is."""
    columns = [rows[:, [j]] == np.arange(k) for j, k in enumerate(ks)]
    return np.concatenate(columns, axis=1).astype(np.float32)


def fit_raw_bayes(lesson: Lesson, rows: Integers, labels: Integers) -> Any:
    """The usual naive Bayes classifier of categories."""
    from sklearn import naive_bayes

    return naive_bayes.CategoricalNB(min_categories=list(lesson.ks)).fit(rows, labels)


def fit_bayes(
    lesson: Lesson, rows: Integers, labels: Integers, epsilon: float, words: Words, **options: Any
) -> PrivateNaiveBayes:
    """Naive Bayes from one report of each person, with the options of the class unless asked otherwise."""
    model = PrivateNaiveBayes(epsilon, lesson.domains, TARGET, protocol=BEST_OF, words=words, **options)
    return model.fit(lesson.name_columns(rows), labels)


def plan_split(lesson: Lesson, epsilon: float, people: int) -> Plan:
    """Every column is reported, at an equal part of epsilon, by OUE; the label is known."""
    asked = {name: lesson.domains[name] for name in lesson.names}
    plan = Plan.of(asked, spl(lesson.ks, epsilon, "oue"), people)
    return plan.with_known({TARGET: lesson.domains[TARGET]})


def fit_split_bayes(lesson: Lesson, epsilon: float, words: Words) -> PrivateNaiveBayes:
    """Naive Bayes from the reports of all columns, that LightGBM has as bits."""
    plan = plan_split(lesson, epsilon, len(lesson.train))
    people = lesson.name_columns(lesson.train) | {TARGET: lesson.train_labels}
    tallies = plan.tally(plan.privatize(people, words))
    model = PrivateNaiveBayes(epsilon, lesson.domains, TARGET, prior=lesson.prior, **SPECIFIED)
    return model.fit_tally(plan, tallies)


def score_trees(lesson: Lesson, train: Array, test: Array, seed: int) -> float:
    """The accuracy of LightGBM on these tables of indicators."""
    model = make_trees(seed).fit(train, lesson.train_labels)
    return float((model.predict(test) == lesson.test_labels).mean())
