"""A memo gives a label's report again, never shares noise between values, and does not travel."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import clone

import deniable as dn
from deniable.learn import Privatizer, memory
from tests import statistics
from tests.learn.test_privatizer import make_folds

Transform = Callable[[pd.DataFrame], Any]


def people(values: npt.ArrayLike, labels: Sequence[object] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"value": values}, index=labels)


def remember(seed: int = 1, **options: Any) -> Privatizer:
    return Privatizer({"value": 4}, 1.0, memo="index", words=dn.seeded(seed), **options).fit(people([0]))


def judge_memory(transform: Transform) -> None:
    """The same labels and values give the same reports, in any order and any table."""
    table = people(np.arange(400) % 4)
    first = transform(table)
    assert np.array_equal(transform(table), first)
    assert np.array_equal(transform(table.iloc[::-1])[::-1], first)
    assert np.array_equal(transform(table.iloc[100:300]), first[100:300])


def judge_changes(transform: Transform) -> None:
    """Reports of a label's two values are independent: both are true as often as chance has it."""
    n = statistics.MEMO_LABELS
    one, other = (transform(people([value] * n))[:, 0] for value in (1, 2))
    law = dn.grr(4, 1.0).law
    chance = law.p**2
    error = (chance * (1 - chance) / n) ** 0.5
    both = float(((one == 1) & (other == 2)).mean())
    statistics.deviation(both, chance, error, "labels whose two reports are both true")


def test_a_memo_gives_the_same_report_again() -> None:
    fitted = remember()
    judge_memory(fitted.transform)
    assert fitted.reports_made_ == 400
    assert set(fitted.reports_by_label_.values()) == {1}
    fitted.fit(people([0]))  # does not forget either
    judge_memory(fitted.transform)
    assert fitted.reports_made_ == 400


def test_a_memo_that_forgets_is_found() -> None:
    def forget(table: pd.DataFrame) -> Any:
        return remember(int(np.random.default_rng().integers(1 << 30))).transform(table)

    with pytest.raises(AssertionError):
        judge_memory(forget)


def test_another_value_has_noise_of_its_own_and_counts() -> None:
    fitted = remember(2)
    judge_changes(fitted.transform)
    assert fitted.reports_made_ == 2 * statistics.MEMO_LABELS
    assert set(fitted.reports_by_label_.values()) == {2}


def test_noise_of_the_label_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = memory.Memory._take

    def take_by_label(self: memory.Memory, names: Sequence[tuple[Any, ...]], width: int) -> Any:
        return take(self, [name[:3] for name in names], width)  # leaves out the value

    monkeypatch.setattr(memory.Memory, "_take", take_by_label)
    with pytest.raises(AssertionError, match="standard errors off"):
        judge_changes(remember(2).transform)


def test_labels_have_noise_of_their_own() -> None:
    n = statistics.MEMO_LABELS
    reports = remember(3).transform(people([1] * n, [f"person {i}" for i in range(n)]))[:, 0]
    law = dn.grr(4, 1.0).law
    expected = [n * (law.p if value == 1 else law.q) for value in range(4)]
    statistics.goodness_of_fit(np.bincount(reports, minlength=4), np.array(expected), "labels of one value")


def test_a_changed_column_leaves_the_others_alone() -> None:
    table = pd.DataFrame({"a": [0] * 300, "b": [1] * 300})
    fitted = Privatizer({"a": 8, "b": 8}, 2.0, memo="index", words=dn.seeded(4)).fit(table)
    before, after = fitted.transform(table), fitted.transform(table.assign(a=5))
    assert np.array_equal(before[:, 1], after[:, 1])
    assert (before[:, 0] != after[:, 0]).any()


def test_the_sampled_column_is_kept_whatever_the_values() -> None:
    table = pd.DataFrame({"a": [0] * 300, "b": [1] * 300})
    fitted = Privatizer({"a": 8, "b": 8}, 2.0, budget="sample", memo="index", words=dn.seeded(5)).fit(table)
    before, after = (np.isnan(fitted.transform(one)) for one in (table, table.assign(a=3, b=4)))
    assert np.array_equal(before, after)
    assert 0 < before[:, 0].sum() < 300
    assert fitted.reports_made_ == 600
    fitted.transform(table.assign(a=np.where(before[:, 0], 7, 0), b=np.where(before[:, 1], 7, 1)))
    assert fitted.reports_made_ == 600  # what was not reported may change


def test_clones_share_a_memo_so_that_a_cross_validation_makes_one_report() -> None:
    table, fitted = make_folds(Privatizer({"color": 4}, 1.0, memo="index"))
    assert fitted[0].reports_made_ == len(table)
    reports = [one.transform(table)[:, 0].tolist() for one in fitted]
    assert all(each == reports[0] for each in reports)


def test_another_budget_makes_other_reports() -> None:
    fitted = remember(6)
    table = people([1] * 50)
    fitted.transform(table)
    richer = clone(fitted).set_params(epsilon=2.0).fit(table)
    richer.transform(table)
    assert richer.reports_made_ == fitted.reports_made_ == 100


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_memo_does_not_travel(send: Callable[[Privatizer], Privatizer]) -> None:
    fitted = remember()
    fitted.transform(people([1, 2]))
    sent = send(fitted)
    assert sent.reports_made_ == 2
    assert not vars(sent._memory)["_seen"]
    for use in (lambda: sent.transform(people([1, 2])), lambda: sent.fit(people([0])), lambda: clone(sent)):
        with pytest.raises(dn.InvalidParameter, match="its memo does not travel"):
            use()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.array([[1]]), "keeps a report for each row label, and this table has none"),
        (people([1], [1.5]), "a row label is a whole number or text, got 1.5"),
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
        _ = Privatizer({"value": 4}, 1.0).fit(people([0])).reports_by_label_
