"""Attacks on trained models: what learned by heart is found, what saw nobody is not, and sums are right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sizes import SUSPECTS
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier
from tests import statistics

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable_papers.models import MembershipAttack, attribute_inference, membership, membership_bound

N = SUSPECTS
COLUMNS = 20


def make_rows(seed: int) -> tuple[Integers, Integers, Any]:
    """Rows whose label is a vote of the first columns, and often wrong; half of them are members."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 2, (N, COLUMNS))
    labels = np.where(draw.random(N) < 0.75, rows[:, :3].sum(axis=1) > 1, draw.random(N) < 0.5)
    return rows, labels.astype(np.int64), np.arange(N) % 2 == 0


def train_tree(rows: Integers, labels: Integers, seed: int) -> Any:
    return DecisionTreeClassifier(random_state=seed, min_samples_leaf=2).fit(rows, labels)


@pytest.mark.parametrize("train", [None, train_tree])
def test_a_model_that_learned_by_heart_is_found(train: Any) -> None:
    rows, labels, members = make_rows(1)
    model = train_tree(rows[members], labels[members], 0)
    found = membership(model, rows, labels, members, train=train, shadows=8)
    assert found.interval(1 - statistics.ALPHA)[0] > 0
    assert found.auc - 5 * found.auc_stderr > 0.5
    assert found.method == ("loss" if train is None else "likelihood ratio")


@pytest.mark.parametrize("train", [None, train_tree])
def test_a_model_that_saw_nobody_is_at_chance(train: Any) -> None:
    rows, labels, members = make_rows(2)
    others, more, _ = make_rows(3)
    model = train_tree(others, more, 0)
    found = membership(model, rows, labels, members, train=train, shadows=8)
    statistics.deviation(found.auc, 0.5, found.auc_stderr, "area under the curve")
    low, high = found.interval(1 - statistics.ALPHA)
    assert low <= 0 <= high
    guessed = attribute_inference(model, rows, labels, members, 0, [0, 1])
    low, high = guessed.interval(1 - statistics.ALPHA)
    assert low <= 0 <= high


def test_shadows_beat_losses() -> None:
    """Rows that are hard for any model hide among others by their losses, and not by a likelihood ratio."""
    rows, labels, members = make_rows(4)
    model = train_tree(rows[members], labels[members], 0)
    plain, shadowed = (
        membership(model, rows, labels, members, train=train, shadows=8) for train in (None, train_tree)
    )
    assert shadowed.auc > plain.auc + 0.02


def test_columns_of_members_are_guessed_from_what_was_learned_by_heart() -> None:
    rows, labels, members = make_rows(5)
    draw = np.random.default_rng(6)
    model = DecisionTreeClassifier(random_state=1).fit(rows[members], draw.permutation(labels[members]))
    noisy = np.zeros(N, dtype=np.int64)
    noisy[members] = model.predict(rows[members])  # what it learned: nothing but noise
    noisy[~members] = draw.permutation(labels[~members])
    found = attribute_inference(model, rows, noisy, members, 5, [0, 1])
    assert found.interval(1 - statistics.ALPHA)[0] > 0
    named = pd.DataFrame(rows, columns=[f"x{j}" for j in range(COLUMNS)])
    frame_model = _Framed(model)
    again = attribute_inference(frame_model, named, noisy, members, "x5", [0, 1], prior=[0.5, 0.5])
    assert again.success == found.success
    assert "of members right" in str(again)
    assert found.frame(backend="pyarrow").to_pylist()[0]["column"] == 5


@dataclass(frozen=True)
class _Framed:
    model: Any

    @property
    def classes_(self) -> Any:
        return self.model.classes_

    def predict_proba(self, X: pd.DataFrame) -> Floats:  # noqa: N803
        return np.asarray(self.model.predict_proba(X.to_numpy()))


def assert_hidden(found: MembershipAttack, epsilon: float) -> None:
    """What a guarantee of the whole row promises: surely no attack gains more."""
    assert found.interval(1 - statistics.ALPHA)[0] <= membership_bound(epsilon)


def test_reports_hide_members() -> None:
    """A tree that learned by heart, the planted fault, shows more of its members than reports may."""
    rows, labels, members = make_rows(7)
    domains = {f"x{j}": [0, 1] for j in range(COLUMNS)} | {"y": [0, 1]}
    epsilon = 0.1

    def train(some: Integers, known: Integers, seed: int) -> Any:
        model = dn.learn.PrivateNaiveBayes(epsilon, domains, "y", label="protected", words=dn.seeded(seed))
        return model.fit(some, known)

    model = train(rows[members], labels[members], 99)
    found = membership(model, rows, labels, members, train=train, shadows=8)
    statistics.deviation(found.auc, 0.5, found.auc_stderr, "area under the curve")
    assert_hidden(found, epsilon)
    by_heart = membership(train_tree(rows[members], labels[members], 0), rows, labels, members)
    with pytest.raises(AssertionError):
        assert_hidden(by_heart, epsilon)


def test_the_numbers_are_those_of_their_definitions() -> None:
    draw = np.random.default_rng(8)
    members = draw.random(500) < 0.4
    scores = np.round(draw.normal(size=500) + members, 1)  # with ties
    found = MembershipAttack("loss", scores, members)
    assert found.auc == pytest.approx(roc_auc_score(members, scores))
    repeats = []
    for _ in range(400):
        inside, outside = (draw.choice(scores[who], who.sum()) for who in (members, ~members))
        which = np.arange(inside.size + outside.size) < inside.size
        repeats.append(MembershipAttack("loss", np.concatenate([inside, outside]), which).auc)
    assert found.auc_stderr == pytest.approx(np.std(repeats), rel=0.15)
    best = max((scores[members] >= t).mean() - (scores[~members] >= t).mean() for t in scores)
    assert found.advantage <= best
    threshold = np.sort(scores[~members])[::-1][math.floor(0.01 * (~members).sum())]
    assert found.true_positives(0.01) == (scores[members] > threshold).mean()
    assert (scores[~members] > threshold).mean() <= 0.01
    low, high = found.interval()
    assert low < found.advantage < high
    names = [row["measure"] for row in found.frame(backend="pyarrow").to_pylist()]
    assert names == ["advantage", "auc", "true positives at 0.1 %", "true positives at 1 %"]
    assert "advantage" in repr(found)


def test_the_bound_is_that_of_randomized_response() -> None:
    """Who sees a report of a coin says "member" where it says so: no attack gains more, and this one does."""
    for epsilon in (0.1, 1.0, 4.0):
        law = dn.rr(epsilon).law
        assert isinstance(law, dn.law.Law)
        assert membership_bound(epsilon) == pytest.approx(law.p - law.q, abs=1e-9)


def test_refusals() -> None:
    rows, labels, members = make_rows(9)
    model = BernoulliNB().fit(rows, labels)
    with pytest.raises(InvalidParameter, match="members is a list with True"):
        membership(model, rows, labels, members.astype(int))
    with pytest.raises(InvalidParameter, match="all rows are the same"):
        membership(model, rows, labels, np.ones(N, dtype=bool))
    with pytest.raises(InvalidParameter, match="no predict_proba"):
        membership(object(), rows, labels, members)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="labels for"):
        membership(model, rows[:10], labels, members)
    with pytest.raises(InvalidParameter, match="shadows"):
        membership(model, rows, labels, members, train=train_tree, shadows=1)
    with pytest.raises(InvalidParameter, match="at least two values"):
        attribute_inference(model, rows, labels, members, 0, [1])
    with pytest.raises(InvalidParameter, match="a share for each of 2 values"):
        attribute_inference(model, rows, labels, members, 0, [0, 1], prior=[1.0])
    with pytest.raises(InvalidParameter, match="'z' is not a column of the rows"):
        attribute_inference(model, {"x": rows[:, 0]}, labels, members, "z", [0, 1])
