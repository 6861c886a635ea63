"""Naive Bayes from reports: that it learns, and what it learns from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport
from deniable.reports import Tallies
from deniable.results.windows import Windows
from deniable.study import Plan
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
        device = dn.Client(plan, secret=bytes([i]) * 32, plan_cap=5.0)
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
