"""A transformer keeps the types of its columns, and goes by the options that it was fitted with."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import deniable as dn
from deniable.learn import Privatizer

WHOLE = pd.DataFrame({"a": [1, 2, 3], "b": [7, 8, 9]})


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3]),
        np.unique([3, 1, 2, 1]),
        pd.Index([1, 2, 3]),
        pd.Series([1, 2, 3], index=["x", "y", "z"]),
        pd.CategoricalDtype([1, 2, 3]),
        range(1, 4),
        dn.Categories([1, 2, 3]),
        {"values": [1, 2, 3]},
    ],
    ids=lambda values: type(values).__name__,
)
def test_numbers_stay_numbers_whatever_lists_their_values(values: Any) -> None:
    fitted = Privatizer({"a": values}, 30.0).set_output(transform="pandas").fit(WHOLE)
    pd.testing.assert_frame_equal(fitted.transform(WHOLE), WHOLE)  # at this epsilon nothing changes
    assert fitted.set_params(output="support").fit(WHOLE).get_feature_names_out()[0] == "a=1"


@pytest.mark.parametrize(
    ("labels", "given", "dtype"),
    [
        ([True, False], [True, False], "bool"),
        ([0.5, 1.0], [0.5, 1.0], "float64"),
        (["1", "2"], ["1", "2"], "object"),
        ([1, "other"], [1, 1], "object"),
    ],
)
def test_categories_have_the_type_of_the_column(labels: list[Any], given: list[Any], dtype: str) -> None:
    table = pd.DataFrame({"a": given})
    found = Privatizer({"a": dn.Categories(labels)}, 30.0).fit_transform(table)
    assert found[:, 0].tolist() == given
    assert str(found.dtype) == dtype


def test_domains_of_two_dimensions_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="the values of 'a' must have one dimension, got 2"):
        Privatizer({"a": np.ones((2, 2))}, 1.0).fit(WHOLE)


@pytest.mark.parametrize("protocol", [{0: "oue", 1: "grr"}, {"x0": "oue", "x1": "grr"}])
def test_protocols_of_an_array_are_numbered_as_its_domains_are(protocol: Any) -> None:
    fitted = Privatizer({0: 4, 1: 4}, 2.0, protocol=protocol, output="support").fit([[1, 2]])
    assert fitted.plan_.mechanism.mechanisms == (dn.oue(4, 1.0), dn.grr(4, 1.0))


@pytest.mark.parametrize("option", ["protocol", "budget"])
def test_columns_that_are_named_twice_are_refused(option: str) -> None:
    given: dict[str, Any] = {"protocol": {0: "grr", "x0": "oue"}, "budget": {0: 1.0, "x0": 0.5}}
    with pytest.raises(dn.InvalidParameter, match="'x0' is given twice"):
        Privatizer({0: 4}, 1.0, **{option: given[option]}).fit([[1]])


def test_refusals_do_not_show_the_value() -> None:
    fitted = Privatizer({"a": ["x", "y"], "b": dn.Range(0, 10)}, 1.0).fit(WHOLE)
    for table in (WHOLE.assign(a="secret"), WHOLE.assign(a="x", b=4711)):
        with pytest.raises(dn.InvalidValue, match="row 0, column") as refused:
            fitted.transform(table)
        assert "secret" not in str(refused.value)
        assert "4711" not in str(refused.value)
        assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passthrough", True),
        ("output", "value"),
        ("epsilon", 0.1),
        ("domains", {"a": 5, "b": 20}),
        ("domains", {"a": np.arange(4)}),
        ("budget", "sample"),
        ("protocol", "grr"),
        ("memo", "index"),
    ],
)
def test_options_that_change_after_fit_need_another_fit(name: str, value: Any) -> None:
    options: dict[str, Any] = {"domains": {"a": 4}, "epsilon": 4.0, "protocol": "oue"}
    fitted = Privatizer(**options, output="support", passthrough=False).fit(WHOLE)
    fitted.set_params(epsilon=4.0).transform(WHOLE)  # nothing has changed
    fitted.set_params(**{name: value})
    with pytest.raises(dn.InvalidParameter, match=f"{name} was changed after fit.*call fit again"):
        fitted.transform(WHOLE)
    with pytest.raises(dn.InvalidParameter, match=f"{name} was changed after fit"):
        fitted.get_feature_names_out()
    assert fitted.reports_made_ == 3


def test_fitted_options_are_the_same_after_they_were_pickled() -> None:
    fitted = Privatizer({"a": np.arange(4)}, 4.0).fit(WHOLE)
    assert pickle.loads(pickle.dumps(fitted)).transform(WHOLE.copy()).shape == (3, 2)


def test_reports_are_counted_by_loss() -> None:
    privatizer = Privatizer({"a": 4}, 8.0)
    first = privatizer.fit(WHOLE).loss_
    privatizer.transform(WHOLE)
    second = privatizer.set_params(epsilon=1.0).fit(WHOLE).loss_
    privatizer.transform(WHOLE.iloc[:2])
    assert privatizer.reports_by_loss_ == {first: 3, second: 2}
    assert Privatizer({"a": 4}, 8.0).reports_made_ == 0


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_seeded_words_do_not_travel(send: Callable[[Privatizer], Privatizer]) -> None:
    sent = send(Privatizer({"a": 4}, 1.0, words=dn.seeded(3)).fit(WHOLE))
    with pytest.raises(dn.InvalidParameter, match=r"its seeded words do not travel.*n_jobs=1"):
        sent.transform(WHOLE)
    assert sent.reports_made_ == 0
    sent.set_params(words=dn.seeded(4)).transform(WHOLE)
    assert sent.reports_made_ == 3


def test_words_of_the_system_are_new_in_every_copy() -> None:
    table = pd.DataFrame({"a": [1] * 6000})
    fitted = Privatizer({"a": 4}, 1.0, words=dn.randomness.system()).fit(table)
    fitted.transform(table)
    copies = [pickle.loads(pickle.dumps(fitted)) for _ in range(2)]
    one, other = (each.transform(table)[:, 0] for each in copies)
    assert not np.array_equal(one, other)


def test_folds_in_processes_do_not_repeat_their_noise() -> None:
    pipeline = make_pipeline(Privatizer({"a": 4}, 1.0, words=dn.seeded(3)), DecisionTreeClassifier())
    people = pd.concat([WHOLE] * 4, ignore_index=True)
    with pytest.raises(dn.InvalidParameter, match="seeded words do not travel"):
        cross_val_score(pickle.loads(pickle.dumps(pipeline)), people, [0, 1] * 6, cv=2, error_score="raise")
