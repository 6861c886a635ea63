"""Naive Bayes from reports: what it learns and predicts, how it is an estimator, and what it refuses."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport, InvalidValue
from deniable.learn import PrivateNaiveBayes
from deniable.learn.bayes import shrink_margin
from deniable.learn.margins import Margin
from deniable.learn.questions import encode_column
from deniable.reports import Tallies
from deniable.results.windows import Windows
from deniable.study import Plan
from tests import statistics
from tests.cases import names

DOMAINS: dict[str, Any] = {
    "age": dn.Range(0, 90, step=15),
    "town": list("abcdefghij"),
    "sex": ["f", "m"],
    "ill": ["yes", "no"],
}
Table = dict[str, Any]


def make_people(n: int, seed: int) -> tuple[Table, Any]:
    """People whose age and town depend on the label; the town least."""
    draw = np.random.default_rng(seed)
    ill = draw.random(n) < 0.4
    age = np.clip(np.where(ill, draw.normal(65, 15, n), draw.normal(35, 15, n)), 0, 89.9)
    towns = np.array(list("abcdefghij"))
    town = np.where(ill, draw.choice(towns[:6], n), draw.choice(towns, n))
    return {"age": age, "town": town, "sex": draw.choice(["f", "m"], n)}, np.where(ill, "yes", "no")


def make_model(label: Any = "public", epsilon: float = 4.0, **options: Any) -> Any:
    return dn.learn.PrivateNaiveBayes(epsilon, DOMAINS, "ill", label=label, **options)


def assert_same(one: Any, other: Any) -> None:
    assert one.tables_.keys() == other.tables_.keys()
    for name, table in one.tables_.items():
        np.testing.assert_array_equal(table, other.tables_[name])
    np.testing.assert_array_equal(one.class_shares_, other.class_shares_)


@pytest.mark.parametrize("label", ["public", "protected"])
def test_it_learns_from_reports(label: str) -> None:
    rows, ill = make_people(20_000, 1)
    model = make_model(label, words=dn.seeded(1)).fit(rows, ill)
    assert 4.0 - 1e-8 < model.loss_ <= 4.0
    assert model.loss_ == model.plan_.verify().record
    assert model.unprotected_ == (() if label == "protected" else ("ill",))
    test, truth = make_people(statistics.TAUGHT, 2)
    right = int((model.predict(test) == truth).sum())
    statistics.at_least(right, statistics.TAUGHT, statistics.TAUGHT_RIGHT, f"accuracy, label {label}")
    chances = model.predict_proba(test)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert model.classes_.tolist() == ["no", "yes"]


def test_shuffled_labels_teach_nothing() -> None:
    """The planted fault of the test above: then accuracy is that of a guess."""
    rows, ill = make_people(20_000, 1)
    shuffled = np.random.default_rng(3).permutation(ill)
    model = make_model(words=dn.seeded(1)).fit(rows, shuffled)
    test, truth = make_people(statistics.TAUGHT, 2)
    right = int((model.predict(test) == truth).sum())
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(right, statistics.TAUGHT, statistics.TAUGHT_RIGHT, "accuracy")


@pytest.mark.parametrize("label", ["public", "protected"])
def test_a_collector_learns_the_same_model(label: str) -> None:
    rows, ill = make_people(3000, 4)
    model = make_model(label, words=dn.seeded(5)).fit(rows, ill)
    plan = Plan.from_json(make_model(label).make_plan(3000).to_json())
    assert plan == model.plan_
    reports = plan.privatize({**rows, "ill": ill}, dn.seeded(5))
    tallies = Tallies.from_dict(plan.tally(reports).to_dict())
    assert_same(model, make_model(label).fit_tally(plan, tallies))


def test_labels_may_be_a_column_of_the_warehouse(tmp_path: Path) -> None:
    rows, ill = make_people(2000, 4)
    model = make_model(words=dn.seeded(5)).fit(rows, ill)
    plan = model.plan_.with_known({})
    made = plan.privatize(rows, dn.seeded(5))
    plan.write_reports(tmp_path / "plain.parquet", made)
    table = pq.read_table(tmp_path / "plain.parquet").append_column("ill", pa.array(ill.tolist()))
    table = table.append_column("plan", pa.array([plan.id] * len(ill)))
    windows = plan.tally(table, by="ill")
    assert isinstance(windows, Windows)
    assert_same(model, make_model().fit_tally(plan, windows))
    halves = [plan.tally(table.slice(start, 1000), by="ill") for start in (0, 1000)]
    assert_same(model, make_model().fit_tally(plan, *halves))
    with pytest.raises(InvalidReport, match="do not say which class"):
        make_model().fit_tally(plan, plan.tally(table))


@pytest.mark.parametrize("label", ["public", "protected"])
def test_parts_add_up_exactly(label: str) -> None:
    rows, ill = make_people(4000, 6)
    first, second = ({name: column[cut] for name, column in rows.items()} for cut in _halves(4000))
    source = dn.seeded(7)
    grown = make_model(label, words=source).partial_fit(first, ill[:2000]).partial_fit(second, ill[2000:])
    plan, again = grown.plan_, dn.seeded(7)
    parts = [
        plan.tally(plan.privatize({**part, "ill": some}, again))
        for part, some in ((first, ill[:2000]), (second, ill[2000:]))
    ]
    assert_same(grown, make_model(label).fit_tally(plan, parts[0] + parts[1]))
    assert_same(grown, make_model(label).fit_tally(plan, parts[1], parts[0]))
    assert grown.tallies_.n == 4000
    with pytest.raises(InvalidParameter, match="the same tallies are given twice"):
        make_model(label).fit_tally(plan, parts[0], parts[1], parts[0])
    with pytest.warns(DeniableWarning, match="two tallies are equal"):
        make_model(label).fit_tally(plan, parts[0], Tallies.from_dict(parts[0].to_dict()))


def _halves(n: int) -> tuple[slice, slice]:
    return slice(0, n // 2), slice(n // 2, n)


def depends_on_reports_only(fit: Callable[[Any, Table, Any], Any]) -> None:
    """Two populations whose reports are the same must give the same model, whatever their answers are.

    The reports are those of the first population; the second has other values, and lacks some.
    """
    rows, ill = make_people(1000, 8)
    plan = make_model().make_plan(1000)
    tallies = plan.tally(plan.privatize({**rows, "ill": ill}, dn.seeded(9)))
    wanted = make_model().fit_tally(plan, tallies)
    others = {"age": np.full(1000, 20.0), "town": np.full(1000, "b"), "sex": np.full(1000, "f")}
    for people in (rows, others):
        model = make_model(words=dn.seeded(9))
        model._simulate = lambda _plan, _table, _columns, _y: tallies
        assert_same(wanted, fit(model, people, ill))


def test_the_model_depends_on_reports_only() -> None:
    depends_on_reports_only(lambda model, rows, ill: model.fit(rows, ill))


def test_a_prior_or_domain_from_the_data_is_found() -> None:
    """Planted faults: shares, or values, that are read from what people answered."""

    def read_prior(model: Any, rows: Table, ill: Any) -> Any:
        shares = np.array([(rows["town"] == town).mean() for town in DOMAINS["town"]])
        return model.set_params(prior={"town": shares}).fit(rows, ill)

    def read_domain(model: Any, rows: Table, ill: Any) -> Any:
        seen = sorted({*rows["town"].tolist(), "a"})
        return model.set_params(domains={**DOMAINS, "town": seen}).fit(rows, ill)

    with pytest.raises(AssertionError):
        depends_on_reports_only(read_prior)
    with pytest.raises((AssertionError, InvalidReport)):
        depends_on_reports_only(read_domain)


def test_three_classes() -> None:
    draw = np.random.default_rng(11)
    grade = draw.integers(0, 3, 20_000)
    told = np.where(draw.random(20_000) < 0.8, grade, draw.integers(0, 3, 20_000))
    domains = {"told": [0, 1, 2], "coin": [False, True], "grade": [0, 1, 2]}
    for label in ("public", "protected"):
        model = dn.learn.PrivateNaiveBayes(3.0, domains, "grade", label=label, words=dn.seeded(1))
        model.fit({"told": told, "coin": draw.random(20_000) < 0.5}, grade)
        assert model.predict({"told": [2, 0, 1], "coin": [True, False, True]}).tolist() == [2, 0, 1]


def test_one_column_is_enough() -> None:
    ones: Integers = np.arange(4000) % 2
    model = dn.learn.PrivateNaiveBayes(3.0, {"x": [0, 1], "y": [0, 1]}, "y", label="protected")
    assert model.fit(ones[:, None], ones).predict([[0], [1]]).tolist() == [0, 1]


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


def test_rows_that_are_reports_are_predicted_by_their_likelihood() -> None:
    rows, ill = make_people(5000, 12)
    model = make_model(words=dn.seeded(1)).fit(rows, ill)
    asked = {name: DOMAINS[name] for name in ("age", "town", "sex")}
    plan = Plan.of(asked, dn.spl([6, 10, 2], 3.0, "grr"), 10)
    few = {name: column[:6] for name, column in rows.items()}
    reports = plan.privatize(few, dn.seeded(2))
    found = model.predict_proba_reports(plan, reports)
    score = np.tile(np.log(model.class_shares_), (6, 1))
    for part, column, table in zip(
        plan.document.parts, reports.records.columns, model.tables_.values(), strict=True
    ):
        law = part.law
        assert isinstance(law, dn.law.Law)
        channel = np.full((part.k, part.k), law.q) + np.eye(part.k) * (law.p - law.q)
        score += model.temper_ * np.log(channel[column] @ table.T)
    expected = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    sampled = model.plan_.privatize({**few, "ill": ill[:6]}, dn.seeded(3))
    assert model.predict_reports(model.plan_, sampled).shape == (6,)
    joint = make_model("protected").make_plan(10)
    with pytest.raises(InvalidReport, match="which is to be predicted"):
        model.predict_reports(joint, joint.privatize({**few, "ill": ill[:6]}))


def test_evidence_is_tempered() -> None:
    """Columns that say the same thing twice: half of the evidence is nearer to the truth than all of it."""
    draw = np.random.default_rng(13)
    ill = draw.random(20_000) < 0.5
    told = np.where(draw.random(20_000) < 0.8, ill, ~ill)
    domains = {"one": [False, True], "two": [False, True], "ill": [False, True]}
    for temper, sure in ((0.5, 0.8), (1.0, 16 / 17)):
        model = dn.learn.PrivateNaiveBayes(6.0, domains, "ill", temper=temper, words=dn.seeded(1))
        model.fit({"one": told, "two": told}, ill)
        assert abs(model.predict_proba({"one": [True], "two": [True]})[0, 1] - sure) < 0.02


def test_missing_answers_say_nothing_and_are_not_learned_from() -> None:
    rows, ill = make_people(2000, 14)
    model = make_model(words=dn.seeded(1)).fit(rows, ill)
    nothing = model.predict_proba({"age": [None], "town": [None], "sex": [None]})
    np.testing.assert_allclose(nothing[0], model.class_shares_)
    with pytest.raises(InvalidValue, match="age"):
        make_model().fit({**rows, "age": [None, *rows["age"][1:]]}, ill)


def test_missing_columns_say_nothing_and_are_not_learned_from() -> None:
    rows, ill = make_people(2000, 14)
    model = make_model(words=dn.seeded(1)).fit(pd.DataFrame(rows), ill)
    some = {"age": rows["age"][:9], "sex": rows["sex"][:9]}
    wanted = model.predict_proba({**some, "town": [None] * 9})
    for table in (some, pd.DataFrame(some), pl.DataFrame(some)):
        np.testing.assert_array_equal(model.predict_proba(table), wanted)
    assert (wanted != model.predict_proba({name: column[:9] for name, column in rows.items()})).any()
    with pytest.raises(InvalidValue, match="'sx' has no domain"):
        model.predict({"age": [20], "sx": ["f"]})
    for learn in (make_model().fit, model.partial_fit):
        with pytest.raises(InvalidValue, match="town"):
            learn(some, ill[:9])
    with pytest.raises(InvalidValue):
        model.predict({})


_OTHER_COLUMNS = names("""
    check_fit_score_takes_y check_dont_overwrite_parameters check_n_features_in_after_fitting
    check_estimators_dtypes check_dtype_object check_estimators_pickle check_f_contiguous_array_estimator
    check_classifiers_one_label check_classifiers_regression_target check_supervised_y_2d
    check_fit2d_1sample check_fit2d_1feature check_dict_unchanged check_fit2d_predict1d
""")
_OTHER_VALUES = names("""
    check_estimators_overwrite_params check_estimators_fit_returns_self check_readonly_memmap_input
    check_positive_only_tag_during_fit check_classifier_data_not_an_array check_classifiers_classes
    check_estimators_partial_fit_n_features check_classifiers_train
""")
EXPECTED = {
    **dict.fromkeys(_OTHER_COLUMNS, "its tables have other columns than the domains"),
    **dict.fromkeys(
        _OTHER_VALUES, "its tables have values or labels outside of the domains, which are refused"
    ),
}
"""Checks that fail, since they make tables of their own, and domains are required."""


BY_CHANCE = {"check_fit_idempotent"}
"""Each fit makes new reports, so that its predictions may differ."""


def test_the_checks_of_scikit_learn_fail_only_where_domains_are_required() -> None:
    wide = dn.Range(-10, 10, step=5, open_low=True, open_high=True)
    model = dn.learn.PrivateNaiveBayes(1.0, {"a": wide, "b": wide, "y": [0, 1]}, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dn.DeniableWarning)  # the checks report tables again
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {one["check_name"] for one in results if one["status"] == "failed"}
    assert failed - BY_CHANCE == set(EXPECTED)
    assert sum(one["status"] == "passed" for one in results) >= 24


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilon": 0.0}, "epsilon must be a positive number"),
        ({"label": "secret"}, "'secret' is not what a label can be"),
        ({"protocol": "gr"}, "'gr' is not a protocol"),
        ({"target": "sick"}, "'sick' is not a column with a domain"),
        ({"domains": ["a"]}, "domains are the values of each column"),
        ({"domains": {"ill": ["yes", "no"]}}, "no columns beside the label"),
        ({"domains": {**DOMAINS, "age": dn.Range(0, 9, privacy="metric", epsilon=1.0)}}, "'age' cannot be"),
        ({"prior": {"town": [0.5, 0.5]}}, "a share for each of its 10 values"),
        ({"prior": {"city": [0.5, 0.5]}}, "'city' is not a column with a prior"),
        ({"prior": {"sex": {"x": 1.0}}}, "'x' is not a value of 'sex'"),
        ({"prior": {"sex": [1.5, -0.5]}}, "they add up to 1"),
        ({"temper": 0.0}, "temper must be"),
        ({"damp": -1.0}, "damp must be 0 or"),
    ],
)
def test_refused_parameters(options: dict[str, Any], why: str) -> None:
    rows, ill = make_people(50, 16)
    with pytest.raises(InvalidParameter, match=why):
        make_model().set_params(**options).fit(rows, ill)


def test_refused_tables_and_tallies() -> None:
    rows, ill = make_people(50, 17)
    with pytest.raises(NotFittedError):
        make_model().predict(rows)
    with pytest.raises(InvalidValue, match="'more' has no domain"):
        make_model().fit({**rows, "more": ill}, ill)
    with pytest.raises(InvalidValue, match="X holds the label, 'ill'"):
        make_model().fit({**rows, "ill": ill}, ill)
    with pytest.raises(InvalidParameter, match="the classes are those of 'ill'"):
        make_model().partial_fit(rows, ill, classes=["yes", "maybe"])
    make_model().partial_fit(rows, ill, classes=["yes", "no"])
    with pytest.raises(InvalidValue, match="row 0, counting from 0: the answer to 'town' is not"):
        make_model().fit({**rows, "town": ["z"] * 50}, ill)
    with pytest.raises(InvalidParameter, match="no tallies to learn from"):
        make_model().fit_tally(make_model().make_plan(50))
    plan, other = make_model().make_plan(50), make_model().make_plan(51)
    tallies = other.tally(other.privatize({**rows, "ill": ill}))
    with pytest.raises(InvalidReport, match="give the plan that people answered"):
        make_model().fit_tally(plan, tallies)
    empty = plan.tally([])
    with pytest.raises(InvalidParameter, match="no reports yet"):
        make_model().fit_tally(plan, empty)
    strange = Plan.of({"sex": ["f", "m"]}, dn.grr(2, 1.0), 10)
    with pytest.raises(InvalidReport, match="the classifier needs age, town, sex"):
        make_model().fit_tally(strange, tallies)


def shrink_two(f1: Floats, f0: Floats, variance: float, pi: float, prior: Floats) -> list[Floats]:
    """Two classes, as they are specified."""
    d = f1 - f0
    w = max(0.0, 1 - d.size * variance / float(d @ d))
    found = np.maximum(prior + (1 - pi) * w * d, 0.05 * prior), np.maximum(prior - pi * w * d, 0.05 * prior)
    return [one / one.sum() for one in found]


def test_two_classes_shrink_as_specified() -> None:
    draw = np.random.default_rng(10)
    for _ in range(50):
        k, pi = int(draw.integers(2, 9)), float(draw.uniform(0.1, 0.9))
        prior, f1, f0 = draw.dirichlet(np.ones(k), 3)
        noise = draw.uniform(0, 0.01, 2)
        margin = Margin(np.stack([f1, f0]), np.repeat(noise[:, None], k, axis=1), np.ones(2))
        found = shrink_margin(margin, np.array([pi, 1 - pi]), prior)
        np.testing.assert_allclose(found, shrink_two(f1, f0, noise.sum(), pi, prior), atol=1e-8)


def test_noise_alone_moves_nothing_and_classes_without_reports_have_the_prior() -> None:
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    prior, classes = np.array([0.6, 0.3, 0.1]), np.array([0.4, 0.5, 0.1])
    quiet = shrink_margin(Margin(shares, np.full((3, 3), 9.0), np.ones(3)), classes, prior)
    np.testing.assert_allclose(quiet, np.tile(prior, (3, 1)))
    some = shrink_margin(Margin(shares, np.zeros((3, 3)), np.array([1.0, 1.0, 0.0])), classes, prior)
    np.testing.assert_allclose(some[2], prior)
    assert some[0, 0] > some[1, 0]
    np.testing.assert_allclose(some.sum(axis=1), 1.0)


def test_rare_values_are_damped() -> None:
    """Two values with the same ratio of shares: that of the rare one, which is mostly noise, counts less."""
    shares = np.array([[0.60, 0.02, 0.38], [0.30, 0.01, 0.69]])
    margin = Margin(shares, np.full((2, 3), 0.0004), np.ones(2))
    half = np.array([0.5, 0.5])
    plain, damped = (shrink_margin(margin, half, shares.mean(axis=0), damp) for damp in (0.0, 0.5))
    ratios = [np.log(one[0] / one[1]) for one in (plain, damped)]
    assert ratios[0][0] == pytest.approx(ratios[0][1], rel=0.01)
    assert 0 < ratios[1][1] < 0.75 * ratios[1][0]
    assert ratios[1][0] > 0.9 * ratios[0][0]
