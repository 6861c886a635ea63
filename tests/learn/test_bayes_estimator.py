"""Naive Bayes from reports as an estimator: options that change, words that are shared, orders and types."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import deniable as dn
from deniable.errors import InvalidParameter, InvalidValue
from deniable.learn import PrivateNaiveBayes
from deniable.learn.questions import encode_column
from tests.learn.test_bayes import DOMAINS, make_model, make_people


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 0.1},
        {"label": "protected"},
        {"protocol": "oue"},
        {"domains": {**DOMAINS, "sex": ["m", "f"]}},
    ],
)
def test_more_people_answer_what_is_promised_now(changed: dict[str, Any]) -> None:
    """Nobody is reported at an epsilon that was promised to others, nor with a raw label."""
    rows, ill = make_people(200, 20)
    model = make_model("public").partial_fit(rows, ill)
    before = model.tallies_
    model.set_params(**changed)
    with pytest.raises(InvalidParameter, match="make a new model"):
        model.partial_fit(rows, ill)
    assert model.tallies_ is before
    model.set_params(epsilon=4.0, label="public", protocol="adaptive", domains=DOMAINS)
    assert model.partial_fit(*make_people(200, 21)).tallies_.n == 400


def test_what_only_weighs_reports_may_change() -> None:
    rows, ill = make_people(200, 20)
    model = make_model("public", words=dn.seeded(1)).partial_fit(rows, ill)
    assert model.set_params(damp=0.0, temper=1.0).partial_fit(*make_people(200, 21)).temper_ == 1.0


def test_labels_are_protected_unless_asked_otherwise() -> None:
    assert inspect.signature(PrivateNaiveBayes).parameters["label"].default == "protected"
    rows, ill = make_people(200, 20)
    model = PrivateNaiveBayes(epsilon=2.0, domains=DOMAINS, target="ill").fit(rows, ill)
    assert model.unprotected_ == ()
    assert model.plan_.document.known is None


def test_clones_draw_from_the_same_words_and_are_counted() -> None:
    """Clones with copies of the words would repeat their noise in every fold."""
    rows, ill = make_people(300, 21)
    model = make_model(words=dn.seeded(1))
    one = clone(model).fit(rows, ill)
    with pytest.warns(dn.DeniableWarning, match="privatized before: .* lose 4 more; make reports once"):
        other = clone(model).fit(rows, ill)
    assert any((one.tables_[name] != other.tables_[name]).any() for name in one.tables_)
    assert one.words is model.words
    assert model.reports_made_ == 600
    cross_val_score(model, pd.DataFrame(rows), ill, cv=3)
    assert model.reports_made_ == 600 + 3 * 200
    assert make_model().reports_made_ == 0
    assert pickle.loads(pickle.dumps(one)).reports_made_ == 1200
    assert one.fit_tally(one.plan_, one.tallies_).reports_made_ == 1200


@pytest.mark.parametrize("shape", [dict, pd.DataFrame, lambda rows: pd.DataFrame(rows).to_numpy()])
def test_the_same_people_again_are_warned_of(shape: Callable[[Any], Any]) -> None:
    rows, ill = make_people(200, 25)
    table = shape(rows)
    model = make_model().fit(table, ill)
    for learn in (model.fit, model.partial_fit):
        with pytest.warns(dn.DeniableWarning, match="second reports of the same people, who lose 4 more"):
            learn(table, ill)
    assert model.reports_made_ == 600
    model.fit(shape(make_people(200, 26)[0]), ill)  # other people are not


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_seeded_words_do_not_travel(send: Callable[[Any], Any]) -> None:
    """Two copies with the same words would repeat their noise, and the difference would tell the answers."""
    rows, ill = make_people(200, 27)
    model = make_model(words=dn.seeded(1)).fit(rows, ill)
    sent = send(model)
    assert sent.predict(rows).tolist() == model.predict(rows).tolist()
    with (
        pytest.warns(dn.DeniableWarning, match="its reports are not counted"),
        pytest.raises(InvalidParameter, match="its seeded words do not travel"),
    ):
        sent.fit(*make_people(200, 28))
    assert sent.set_params(words=dn.seeded(2)).fit(*make_people(200, 28)).reports_made_ == 400


def test_arrays_have_the_order_of_the_table_before() -> None:
    """Columns that are exchanged would be predicted from silently, where both have the same values."""
    draw = np.random.default_rng(22)
    told = draw.integers(0, 2, 4000)
    table = pd.DataFrame({"b": draw.integers(0, 2, 4000), "a": told})
    model = PrivateNaiveBayes(8.0, {"a": [0, 1], "b": [0, 1], "y": [0, 1]}, "y", words=dn.seeded(1))
    tables: tuple[Any, ...] = (table, {name: table[name].to_numpy() for name in table.columns})
    for some in tables:
        model.fit(some, told)
        assert model.feature_names_in_.tolist() == ["b", "a"]
        assert model.score(some, told) == 1.0
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            assert model.score(table.to_numpy(), told) == 1.0
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.partial_fit(table.to_numpy(), told)
        assert model.score(some, told) == 1.0
    model.fit(table[["a", "b"]].to_numpy(), told)
    assert not hasattr(model, "feature_names_in_")
    assert model.score(table[["a", "b"]].to_numpy(), told) == 1.0


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ([0, 1], [0, 1]),
        (np.array([0, 1]), [0, 1]),
        (pd.Index([0, 1]), [0, 1]),
        (pd.Series([0, 1]), [0, 1]),
        (pd.CategoricalDtype([0, 1]), [0, 1]),
        ({"values": [0, 1]}, [0, 1]),
        (dn.Categories([0, 1]), [0, 1]),
        (dn.Categories([0, 1]), ["0", "1"]),
        (dn.Categories(["0", "1"]), ["0", "1"]),
        (dn.Categories([False, True]), [False, True]),
        (dn.Categories([10, 9]), [9, 10]),
        (dn.Range.scale(0, 1), [0, 1]),
        (np.array(["no", "yes"]), ["no", "yes"]),
    ],
)
def test_classes_keep_their_type(given: Any, labels: list[Any]) -> None:
    draw = np.random.default_rng(23)
    told = draw.integers(0, 2, 500)
    domains = {"a": np.array([0, 1]), "b": pd.Index([0, 1]), "y": given}
    y = np.array(labels)[told]
    for some in (y, y.tolist()):
        model = PrivateNaiveBayes(8.0, domains, "y", words=dn.seeded(1))
        model.fit({"a": told, "b": told}, some)
        assert model.classes_.tolist() == labels
        assert model.score({"a": told, "b": told}, y) == 1.0
        model.partial_fit({"a": told.copy(), "b": told}, some, classes=labels)
        assert model.predict({"a": told, "b": told}).tolist() == y.tolist()


def test_missing_values_are_refused_with_what_can_be_done() -> None:
    rows, ill = make_people(50, 24)
    for changed in ({"age": [np.nan, *rows["age"][1:]]}, {"town": [None, *rows["town"][1:]]}):
        with pytest.raises(InvalidValue, match=r"row 0, column '(age|town)': there is no value") as caught:
            make_model().fit({**rows, **changed}, ill)
        assert "missing=" not in str(caught.value)
        assert "give the domain a value of its own" in str(caught.value)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "bool", "float64", "object", "U2"])
def test_codes_are_those_of_the_domain(dtype: str) -> None:
    values = np.array([1, 0, 1, 1, 0]).astype(dtype)
    domains: list[Any] = [dn.Categories([True, False])] if dtype == "bool" else [dn.Categories([1, 0])]
    if dtype not in ("bool", "U2"):
        domains.append(dn.Range(-1, 3))
    for domain in domains:
        assert encode_column(values, domain, "a").tolist() == domain.codes(values, "a").tolist()


@pytest.mark.parametrize("wrong", [-1, 7, 2**40, 2**63])
def test_whole_numbers_outside_of_the_domain_are_refused(wrong: int) -> None:
    values = np.array([0, 1, wrong, 0], dtype=np.uint64 if wrong == 2**63 else np.int64)
    with pytest.raises(InvalidValue, match="row 2, counting from 0: the answer to 'a' is not") as problem:
        encode_column(values, dn.Categories([0, 1, 2]), "a")
    assert str(wrong) not in str(problem.value)  # errors end in logs
