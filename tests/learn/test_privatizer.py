"""A transformer reports rows by their law, learns nothing, and loses what it states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import deniable as dn
from deniable.learn import Privatizer
from tests import statistics

COLORS = ["red", "green", "blue", "gray"]
PEOPLE = pd.DataFrame(
    {"color": ["red", "blue", "gray"], "age": [34, 51, 19], "height": [1.7, 1.8, 1.6]}, index=["a", "b", "c"]
)
DOMAINS = {"color": COLORS, "age": dn.Range(0, 100)}
Transform = Callable[[pd.DataFrame], Any]


def people_of_one_color(n: int = statistics.LEARN_ROWS) -> pd.DataFrame:
    return pd.DataFrame({"color": ["blue"] * n})


def judge_law(transform: Transform) -> None:
    """Reports of one value, a row each: their counts are what the law says."""
    n = statistics.LEARN_ROWS
    reports = np.asarray(transform(people_of_one_color()))[:, 0]
    law = dn.grr(4, 1.0).law
    expected = [n * (law.p if color == "blue" else law.q) for color in COLORS]
    statistics.goodness_of_fit(
        np.array([(reports == one).sum() for one in COLORS]), np.array(expected), "GRR"
    )


def judge_independence(transform: Transform) -> None:
    """Two tables of equal values agree as often as independent reports do."""
    n = statistics.LEARN_ROWS
    one, other = (np.asarray(transform(people_of_one_color()))[:, 0] for _ in range(2))
    law = dn.grr(4, 1.0).law
    chance = law.p**2 + 3 * law.q**2
    error = (chance * (1 - chance) / n) ** 0.5
    statistics.deviation(float((one == other).mean()), chance, error, "reports of two tables that agree")


def test_rows_are_reported_by_the_law() -> None:
    judge_law(Privatizer({"color": COLORS}, 1.0, words=dn.seeded(1)).fit_transform)


def test_noise_that_is_drawn_once_for_each_value_is_found() -> None:
    def draw_once(table: pd.DataFrame) -> Any:
        values = sorted(set(table["color"]))
        drawn = Privatizer({"color": COLORS}, 1.0, words=dn.seeded(1)).fit_transform(
            pd.DataFrame({"color": values})
        )
        return np.array([drawn[values.index(value)] for value in table["color"]])

    with pytest.raises(AssertionError, match="chi-square"):
        judge_law(draw_once)


def test_folds_have_noise_of_their_own() -> None:
    fitted = Privatizer({"color": COLORS}, 1.0, words=dn.seeded(2)).fit(people_of_one_color(3))
    judge_independence(fitted.transform)
    with pytest.warns(dn.DeniableWarning, match="a clone made reports before"):
        judge_independence(lambda table: clone(fitted).fit_transform(table))  # as a cross-validation does


def test_folds_that_share_their_words_are_found() -> None:
    with pytest.raises(AssertionError, match="standard errors off"):
        judge_independence(
            lambda table: Privatizer({"color": COLORS}, 1.0, words=dn.seeded(2)).fit_transform(table)
        )


@pytest.mark.parametrize("protocol", ["grr", "sue", "oue", "ss", "olh", "blh", "the", "hr", "adaptive"])
def test_indicators_follow_the_law(protocol: str) -> None:
    n = statistics.LEARN_ROWS
    fitted = Privatizer({0: 6}, 1.0, protocol=protocol, output="support", words=dn.seeded(3))
    found = fitted.fit_transform(np.full((n, 1), 4))
    assert found.dtype == np.uint8
    assert found.shape == (n, 6)
    part = fitted.plan_.mechanism.mechanisms[0]
    assert isinstance(part, dn.mechanisms.SetMechanism)
    law = part.law
    for value, share in enumerate(found.mean(axis=0)):
        chance = law.p if value == 4 else law.q
        statistics.deviation(float(share), chance, (chance * (1 - chance) / n) ** 0.5, f"{protocol}, {value}")


def judge_learning(fit: Callable[[pd.DataFrame], Privatizer]) -> None:
    """Whatever the people are like, the plan and the columns that come out are the same."""
    one, other = fit(PEOPLE), fit(PEOPLE.iloc[:1])
    assert one.plan_ == other.plan_
    assert list(one.get_feature_names_out()) == list(other.get_feature_names_out())


def test_nothing_is_learned_from_the_data() -> None:
    judge_learning(Privatizer(DOMAINS, 1.0, output="support").fit)
    unseen = Privatizer(DOMAINS, 1.0).fit(PEOPLE.iloc[:1]).transform(PEOPLE)
    assert unseen.shape == (3, 3)


def test_a_domain_that_is_read_from_the_data_is_found() -> None:
    def read_domain(table: pd.DataFrame) -> Privatizer:
        colors = [*sorted(set(table["color"])), "other"]
        return Privatizer({**DOMAINS, "color": colors}, 1.0, output="support").fit(table)

    with pytest.raises(AssertionError):
        judge_learning(read_domain)


@pytest.mark.parametrize("budget", ["split", "sample", {"color": 0.1, "age": 0.2}])
def test_losses_are_exact_and_those_of_the_plan(budget: Any) -> None:
    fitted = Privatizer(DOMAINS, 0.3, budget=budget).fit(PEOPLE)
    assert fitted.loss_ == fitted.plan_.verify().record <= 0.3
    assert 0.3 - fitted.loss_ < 1e-9
    assert fitted.losses_ == {
        name: part.loss()
        for name, part in zip(fitted.plan_.names, fitted.plan_.mechanism.mechanisms, strict=True)
    }
    if budget != "sample":
        assert sum(fitted.losses_.values()) == pytest.approx(fitted.loss_)
    assert dn.Plan.from_json(fitted.plan_.to_json()).loss.record == fitted.loss_


def test_budgets_without_a_total_are_their_sum() -> None:
    fitted = Privatizer(DOMAINS, budget={"color": 1, "age": 0.5}).fit(PEOPLE)
    assert fitted.losses_ == {"color": pytest.approx(1.0), "age": pytest.approx(0.5)}
    assert fitted.loss_ == pytest.approx(1.5)


def test_protocols_can_differ_by_column() -> None:
    domains = {"color": COLORS, "age": dn.Range(0, 100)}
    fitted = Privatizer(domains, 2.0, protocol={"color": "oue"}, output="support").fit(PEOPLE)
    first, second = fitted.plan_.mechanism.mechanisms
    assert first == dn.oue(4, 1.0)
    assert second == dn.adaptive(100, 1.0)
