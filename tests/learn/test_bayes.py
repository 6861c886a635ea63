"""Naive Bayes from reports: what it learns from, that it learns, and what it refuses."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.learn.margins import Margin
from deniable.learn.shrinkage import shrink_margin
from deniable.plan import Plan, Tallies
from deniable.plan.windows import Windows
from deniable.wire import Wire
from tests import statistics

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


@pytest.mark.parametrize("label", ["public", "protected"])
def test_devices_answer_the_plan(label: str) -> None:
    """Reports that devices sent as bytes are counted, and learned from."""
    rows, ill = make_people(20, 18)
    plan = make_model(label).make_plan(20)
    wire = Wire(plan)
    bodies = []
    for i in range(20):
        answers = {name: column[i].item() for name, column in rows.items()} | {"ill": str(ill[i])}
        device = dn.Client(plan, secret=bytes([i]) * 32, cap=5.0)
        bodies.append(device.report(answers).body)
    model = make_model(label).fit_tally(plan, plan.tally(wire.reports(bodies)))
    assert model.tallies_.n == 20


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
        model._simulate = lambda _plan, _columns, _y: tallies
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


def test_three_classes() -> None:
    draw = np.random.default_rng(11)
    grade = draw.integers(0, 3, 20_000)
    told = np.where(draw.random(20_000) < 0.8, grade, draw.integers(0, 3, 20_000))
    domains = {"told": [0, 1, 2], "coin": [False, True], "grade": [0, 1, 2]}
    for label in ("public", "protected"):
        model = dn.learn.PrivateNaiveBayes(3.0, domains, "grade", label=label, words=dn.seeded(1))
        model.fit({"told": told, "coin": draw.random(20_000) < 0.5}, grade)
        assert model.predict({"told": [2, 0, 1], "coin": [True, False, True]}).tolist() == [2, 0, 1]


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
        plan.content.parts, reports.records.columns, model.tables_.values(), strict=True
    ):
        law = part.law
        assert isinstance(law, dn.Law)
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


def test_it_is_an_estimator_of_scikit_learn() -> None:
    import pandas as pd

    rows, ill = make_people(1500, 15)
    frame = pd.DataFrame(rows)
    model = make_model(words=dn.seeded(1))
    copy = clone(model).set_params(epsilon=8.0).fit(frame, pd.Series(ill))
    assert copy.feature_names_in_.tolist() == ["age", "town", "sex"]
    assert pickle.loads(pickle.dumps(copy)).score(frame, ill) == copy.score(frame, ill)
    assert cross_val_score(model, frame, ill, cv=3).mean() > 0.6


FEATURES = "its tables have other columns than the domains"
VALUES = "its tables have values or labels outside of the domains, which are refused"
EXPECTED = {
    "check_fit_score_takes_y": FEATURES,
    "check_estimators_overwrite_params": VALUES,
    "check_dont_overwrite_parameters": FEATURES,
    "check_estimators_fit_returns_self": VALUES,
    "check_readonly_memmap_input": VALUES,
    "check_n_features_in_after_fitting": FEATURES,
    "check_positive_only_tag_during_fit": VALUES,
    "check_estimators_dtypes": FEATURES,
    "check_dtype_object": FEATURES,
    "check_estimators_pickle": FEATURES,
    "check_f_contiguous_array_estimator": FEATURES,
    "check_classifier_data_not_an_array": VALUES,
    "check_classifiers_one_label": FEATURES,
    "check_classifiers_classes": VALUES,
    "check_estimators_partial_fit_n_features": VALUES,
    "check_classifiers_train": VALUES,
    "check_classifiers_regression_target": FEATURES,
    "check_supervised_y_2d": FEATURES,
    "check_fit2d_1sample": FEATURES,
    "check_fit2d_1feature": FEATURES,
    "check_dict_unchanged": FEATURES,
    "check_fit2d_predict1d": FEATURES,
}
"""Checks that fail, since they make tables of their own, and domains are required."""
BY_CHANCE = {"check_fit_idempotent"}
"""Each fit makes new reports, so that its predictions may differ."""


def test_the_checks_of_scikit_learn_fail_only_where_domains_are_required() -> None:
    wide = dn.Range(-10, 10, step=5, open_low=True, open_high=True)
    model = dn.learn.PrivateNaiveBayes(1.0, {"a": wide, "b": wide, "y": [0, 1]}, "y")
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {one["check_name"] for one in results if one["status"] == "failed"}
    assert failed - BY_CHANCE == set(EXPECTED)
    assert sum(one["status"] == "passed" for one in results) >= 24


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilon": 0.0}, "epsilon must be a positive number"),
        ({"label": "secret"}, "'secret' is not what a label can be"),
        ({"protocol": "she"}, "no plan can state it"),
        ({"protocol": "gr"}, "'gr' is not an exact protocol"),
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
    with pytest.raises(InvalidValue, match="'z' is not a value of 'town'"):
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


def test_one_column_is_enough() -> None:
    ones: Integers = np.arange(4000) % 2
    model = dn.learn.PrivateNaiveBayes(3.0, {"x": [0, 1], "y": [0, 1]}, "y", label="protected")
    assert model.fit(ones[:, None], ones).predict([[0], [1]]).tolist() == [0, 1]
