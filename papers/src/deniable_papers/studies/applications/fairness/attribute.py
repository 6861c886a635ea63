"""Attacks the sensitive attributes by the other inputs of the model, which are raw.

The guarantee holds for a report, given the rest. What the rest tells is outside of it, and measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from deniable_papers.studies.applications.fairness.cases import CASES, Case
from deniable_papers.studies.applications.fairness.model import encode_raw, split_people, train_lightgbm

_TREES = 100


@final
@dataclass(frozen=True)
class Guess:
    """How often an attribute of the test part is guessed from the raw inputs, and without them."""

    accuracy: float
    auc: float
    blind: float


@final
@dataclass(frozen=True)
class Attack:
    """One attack: which attribute of which table, and the seed of the split."""

    case: str
    attribute: str
    seed: int


def list_attributes(case: Case) -> list[str]:
    """The sensitive attributes with two values: a guess of one of them is a yes or a no."""
    people = case.load()
    sizes = dict(zip(people.attributes, people.ks, strict=True))
    return [name for name in case.sensitive if sizes[name] == 2]


def guess_attribute(asked: Attack) -> Guess:
    """Learn an attribute from the inputs that are not sensitive, and guess that of the test part."""
    from sklearn import metrics

    case = CASES[asked.case]
    train, test = split_people(case, asked.seed)
    inputs = encode_raw(case, train, dropped=True)
    model = train_lightgbm(inputs, train[asked.attribute], asked.seed, {"n_estimators": _TREES})
    scores = np.asarray(model.predict_proba(encode_raw(case, test, dropped=True)))[:, 1]
    truth = test[asked.attribute]
    share = float(truth.mean())
    return Guess(
        float(((scores > 0.5) == truth).mean()),
        float(metrics.roc_auc_score(truth, scores)),
        max(share, 1 - share),
    )
