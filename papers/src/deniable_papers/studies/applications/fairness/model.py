"""Fits one model of the study and measures how accurate and how fair it is.

For a seed: a fifth of the people are the test part, all columns become indicators, the sensitive columns of
the training part are sanitized, and LightGBM predicts hard labels of the raw test part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.exact import positive_epsilon
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers.studies.applications.fairness.cases import CASES, Case

BudgetSplit = Literal["uniform", "k_based"]
RAW, DROPPED = "NonDP", "dropped"
"""The baselines: raw values, and a model without the sensitive attributes."""
METRICS = ("acc", "f1", "spd", "di", "eod", "oad")
_TEST = 0.2
_ONE_THREAD: Mapping[str, Any] = {"n_jobs": 1, "force_row_wise": True, "verbosity": -1}
"""The same model in a twentieth of the time on busy processors: threads that wait for each other spin."""

Bytes = npt.NDArray[np.uint8]


@final
@dataclass(frozen=True)
class Fit:
    """One model: which table, what becomes of the sensitive attributes, and the seed of its split."""

    case: str
    mechanism: str
    epsilon: float | None
    split: BudgetSplit
    seed: int
    """Of the split and of the model, as published: 0, 1, 2, …"""
    noise: int
    """The seed of the noise."""


@final
@dataclass(frozen=True)
class Score:
    """What a model is like, and what a report of the training part loses: None for raw values."""

    metrics: tuple[float, ...]
    """In the order of METRICS."""
    loss: float | None


def fit_model(asked: Fit) -> Score:
    """Fit and measure one model."""
    case = CASES[asked.case]
    train, test = split_people(case, asked.seed)
    inputs, loss = _sanitize(case, asked, train)
    model = train_lightgbm(inputs, train[case.target], asked.seed, case.settings)
    predicted = np.asarray(model.predict(encode_raw(case, test, asked.mechanism == DROPPED)))
    return Score(_measure(predicted, test[case.target], test[case.protected]), loss)


def train_lightgbm(inputs: Array, labels: Integers, seed: int, settings: Mapping[str, Any]) -> Any:
    """A classifier, fitted by one thread."""
    import lightgbm

    trees = lightgbm.LGBMClassifier(random_state=seed, **settings, **_ONE_THREAD)
    return trees.fit(inputs, labels)


def split_people(case: Case, seed: int) -> tuple[dict[str, Integers], dict[str, Integers]]:
    """The columns of the training part and of the test part, stratified by the target, as published."""
    people = case.load()
    numbers, target = np.arange(people.n), people.column(case.target)
    from sklearn.model_selection import train_test_split as split

    parts = split(numbers, test_size=_TEST, stratify=target, random_state=seed)
    train, test = ({name: people.column(name)[part] for name in people.attributes} for part in parts)
    return train, test


def encode_raw(case: Case, columns: Mapping[str, Integers], dropped: bool = False) -> Bytes:
    """An indicator for every value of every input, in the order of the file."""
    people = case.load()
    sizes = dict(zip(people.attributes, people.ks, strict=True))
    left_out = {case.target, *(case.sensitive if dropped else ())}
    return np.hstack(
        [np.eye(k, dtype=np.uint8)[columns[name]] for name, k in sizes.items() if name not in left_out]
    )


def _sanitize(case: Case, asked: Fit, train: Mapping[str, Integers]) -> tuple[Bytes, float | None]:
    """The inputs of the training part, and the loss of a person's report of the sensitive attributes."""
    if asked.epsilon is None:
        dropped = asked.mechanism == DROPPED
        return encode_raw(case, train, dropped), 0.0 if dropped else None
    from deniable.learn import Privatizer

    people = case.load()
    sizes = {name: k for name, k in zip(people.attributes, people.ks, strict=True) if name in case.sensitive}
    labels = (asked.noise, case.name, asked.mechanism, asked.epsilon, asked.split, asked.seed)
    privatizer = Privatizer(
        dict(enumerate(sizes.values())),
        asked.epsilon,
        protocol=asked.mechanism.lower(),
        budget=divide_budget(list(sizes.values()), asked.epsilon, asked.split),
        output="support",
        words=seeded(int(numbers_from(*labels).integers(1 << 62))),
    )
    reports = privatizer.fit_transform(np.column_stack([train[name] for name in sizes]))
    ends = np.cumsum(list(sizes.values()))[:-1]
    blocks = dict(zip(sizes, np.split(reports, ends, axis=1), strict=True))
    for name, k in zip(people.attributes, people.ks, strict=True):
        if name != case.target and name not in blocks:
            blocks[name] = np.eye(k, dtype=np.uint8)[train[name]]
    ordered = [blocks[name] for name in people.attributes if name != case.target]
    return np.hstack(ordered), privatizer.loss_


def divide_budget(ks: list[int], epsilon: float, split: BudgetSplit) -> dict[int, float]:
    """The epsilon of each attribute: equal ones, or in proportion to their numbers of values.

    >>> divide_budget([2, 6], 1.0, "k_based")
    {0: 0.25, 1: 0.75}
    """
    total = Fraction(positive_epsilon(epsilon))
    weights = [1 if split == "uniform" else k for k in ks]
    budgets = {}
    for j, weight in enumerate(weights):
        part = total * weight / sum(weights)
        budget = float(part)
        budgets[j] = budget if Fraction(budget) <= part else float(np.nextafter(budget, 0.0))
    return budgets


def _measure(predicted: Integers, truth: Integers, group: Integers) -> tuple[float, ...]:
    """Accuracy, F1, and how the groups 1 and 0 differ: in positive predictions, recall and accuracy."""
    one, zero = group == 1, group == 0
    right = predicted == truth
    positive = truth == 1
    hits = float((predicted[positive] == 1).sum())
    f1 = 2 * hits / float((predicted == 1).sum() + positive.sum())
    rates = [float(predicted[some].mean()) for some in (one, zero)]
    recalls = [float(predicted[some & positive].mean()) for some in (one, zero)]
    correct = [float(right[some].mean()) for some in (one, zero)]
    parity = rates[1] / rates[0] if rates[0] else float("nan")
    return (
        float(right.mean()),
        f1,
        rates[0] - rates[1],
        parity,
        recalls[0] - recalls[1],
        correct[0] - correct[1],
    )
