"""A memo gives a label's report again, refuses what has no bound, and does not travel."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

import deniable as dn
from deniable.exact import round_up
from deniable.learn import Privatizer, memory
from tests import statistics
from tests.learn.test_privatizer import make_folds

Transform = Callable[[pd.DataFrame], Any]


def people(values: npt.ArrayLike, labels: Sequence[object] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"value": values}, index=labels).rename_axis("person")


def remember(seed: int = 1, **options: Any) -> Privatizer:
    return Privatizer({"value": 4}, 1.0, memo="index", words=dn.seeded(seed), **options).fit(people([0]))


def judge_memory(transform: Transform) -> None:
    """The same labels and values give the same reports, in any order and any table."""
    table = people(np.arange(400) % 4)
    first = transform(table)
    assert np.array_equal(transform(table), first)
    assert np.array_equal(transform(table.iloc[::-1])[::-1], first)
    assert np.array_equal(transform(table.iloc[100:300]), first[100:300])


def judge_budgets(fitted: Privatizer) -> None:
    """Reports of a label at two epsilons are independent: both are true as often as chance has it."""
    n = statistics.MEMO_LABELS
    table = people([1] * n)
    one = fitted.transform(table)[:, 0]
    other = fitted.set_params(epsilon=0.9).fit(table).transform(table)[:, 0]
    chance = dn.grr(4, 1.0).law.p * dn.grr(4, 0.9).law.p
    error = (chance * (1 - chance) / n) ** 0.5
    both = float(((one == 1) & (other == 1)).mean())
    statistics.deviation(both, chance, error, "labels whose two reports are both true")


def test_a_memo_gives_the_same_report_again() -> None:
    fitted = remember()
    judge_memory(fitted.transform)
    assert fitted.reports_made_ == 400
    assert set(fitted.losses_by_label_.values()) == {fitted.loss_}
    fitted.fit(people([0]))  # does not forget either
    judge_memory(fitted.transform)
    assert fitted.reports_made_ == 400


def test_a_memo_that_forgets_is_found() -> None:
    def forget(table: pd.DataFrame) -> Any:
        return remember(int(np.random.default_rng().integers(1 << 30))).transform(table)

    with pytest.raises(AssertionError):
        judge_memory(forget)


def test_another_epsilon_has_noise_of_its_own_and_its_loss_is_added() -> None:
    fitted = remember(2)
    first = fitted.loss_
    judge_budgets(fitted)
    n = statistics.MEMO_LABELS
    assert fitted.reports_by_loss_ == {first: n, fitted.loss_: n}
    assert set(fitted.losses_by_label_.values()) == {round_up(Fraction(first) + Fraction(fitted.loss_))}


def test_noise_of_the_label_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = memory.Memory._take

    def take_by_label(self: memory.Memory, plan: str, *rest: Any) -> Any:
        return take(self, "any", *rest)  # leaves out the plan

    monkeypatch.setattr(memory.Memory, "_take", take_by_label)
    with pytest.raises(AssertionError, match="standard errors off"):
        judge_budgets(remember(2))


def test_a_search_for_an_epsilon_adds_up_the_losses_of_all_epsilons() -> None:
    table = people(np.arange(60) % 4)
    privatizer = Privatizer({"value": 4}, 1.0, memo="index")
    pipeline = Pipeline([("private", privatizer), ("tree", DecisionTreeClassifier(max_depth=1))])
    search = GridSearchCV(pipeline, {"private__epsilon": [8.0, 1.0]}, cv=3)
    search.fit(table, np.arange(60) % 2)
    losses = [dn.grr(4, epsilon).loss() for epsilon in (8.0, 1.0)]
    assert privatizer.reports_by_loss_ == dict.fromkeys(losses, 60)
    assert set(privatizer.losses_by_label_.values()) == {round_up(sum(map(Fraction, losses), Fraction()))}


def test_other_values_of_a_label_are_refused_and_leave_nothing_behind() -> None:
    fitted = remember()
    fitted.transform(people([1, 2], ["a", "b"]))
    with pytest.raises(dn.InvalidValue, match=r"row 1 has a label that was reported with other .*for rounds"):
        fitted.transform(people([0, 3], ["new", "b"]))
    assert fitted.reports_made_ == 2
    assert set(fitted.losses_by_label_) == {"a", "b"}
    fitted.transform(people([3], ["new"]))  # was not reported, so that any value will do


def test_values_that_change_in_a_later_block_are_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_WORDS", 2)
    fitted = remember()
    judge_memory(fitted.transform)
    with pytest.raises(dn.InvalidValue, match="row 399 has a label"):
        fitted.transform(people([*np.arange(399) % 4, 0]))


def test_a_memo_holds_no_values() -> None:
    fitted = remember()
    fitted.transform(people([1] * 50))
    marks = [mark for known in fitted._memory._marks.values() for mark in known.values()]
    assert len(set(marks)) == 50  # equal values have other marks at other labels


@pytest.mark.parametrize("values", [[1, 1], [1, 2]])
def test_labels_that_occur_twice_are_refused(values: list[int]) -> None:
    with pytest.raises(dn.InvalidParameter, match="row 1 has the label of an earlier row"):
        remember().transform(people(values, ["a", "a"]))


@pytest.mark.parametrize("pick", [lambda table: table, lambda table: table.iloc[[5, 1, 7]]])
def test_positions_are_not_people(pick: Transform) -> None:
    table = pd.DataFrame({"value": [1] * 10})
    with pytest.raises(dn.InvalidParameter, match=r"an index without a name are positions.*set_index"):
        remember().transform(pick(table))


def test_reports_with_a_memo_and_without_one_are_not_mixed() -> None:
    table = people([1, 2])
    fitted = remember()
    fitted.transform(table)
    with pytest.raises(dn.InvalidParameter, match="reports were made with a memo; make a new"):
        clone(fitted).set_params(memo=None).fit(table)
    plain = Privatizer({"value": 4}, 1.0)
    plain.fit_transform(table)
    with pytest.raises(dn.InvalidParameter, match="reports were made without a memo; make a new"):
        plain.set_params(memo="index").fit(table)


def test_labels_have_noise_of_their_own() -> None:
    n = statistics.MEMO_LABELS
    reports = remember(3).transform(people([1] * n, [f"person {i}" for i in range(n)]))[:, 0]
    law = dn.grr(4, 1.0).law
    expected = [n * (law.p if value == 1 else law.q) for value in range(4)]
    statistics.goodness_of_fit(np.bincount(reports, minlength=4), np.array(expected), "labels of one value")


def test_the_sampled_column_is_kept() -> None:
    table = pd.DataFrame({"a": [0] * 300, "b": [1] * 300}, index=[f"person {i}" for i in range(300)])
    fitted = Privatizer({"a": 8, "b": 8}, 2.0, budget="sample", memo="index", words=dn.seeded(5)).fit(table)
    before, after = (fitted.transform(table) for _ in range(2))
    assert np.array_equal(before, after, equal_nan=True)
    assert 0 < np.isnan(before[:, 0]).sum() < 300
    assert fitted.reports_made_ == 300


def test_clones_share_a_memo_so_that_a_cross_validation_makes_one_report() -> None:
    privatizer = Privatizer({"color": 4}, 1.0, memo="index")
    table, fitted = make_folds(privatizer)
    assert privatizer.reports_made_ == fitted[0].reports_made_ == len(table)
    reports = [one.transform(table)[:, 0].tolist() for one in fitted]
    assert all(each == reports[0] for each in reports)


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_memo_does_not_travel(send: Callable[[Privatizer], Privatizer]) -> None:
    fitted = remember()
    fitted.transform(people([1, 2]))
    sent = send(fitted)
    assert sent.reports_made_ == 2
    assert not vars(sent._memory)["_marks"]
    for use in (lambda: sent.transform(people([1, 2])), lambda: sent.fit(people([0])), lambda: clone(sent)):
        with pytest.raises(dn.InvalidParameter, match="its memo does not travel"):
            use()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[1]]), "keeps a report for each row label, and this table has none"),
        (people([1], [1.5]), "a row label is a whole number or text, got float"),
    ],
)
def test_rows_without_labels_are_refused(table: Any, message: str) -> None:
    fitted = (
        Privatizer({0: 4}, 1.0, memo="index").fit(np.array([[1]]))
        if isinstance(table, np.ndarray)
        else remember()
    )
    with pytest.raises(dn.InvalidParameter, match=message):
        fitted.transform(table)


def test_without_a_memo_labels_are_not_counted() -> None:
    with pytest.raises(AttributeError, match="with memo='index' only"):
        _ = Privatizer({"value": 4}, 1.0).fit(people([0])).losses_by_label_
