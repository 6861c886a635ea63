"""Regressions from tables: against fits of the true answers, in many studies, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import deniable as dn
from deniable.results.regression import INTERCEPT
from tests.statistics import REGRESSED_HELD, REGRESSED_STUDIES, at_least

QUESTIONS: dict[str, Any] = {
    "town": ["north", "south", "west"],
    "age": dn.Range(20, 80, step=20),
    "ill": ["yes", "no"],
}
TERMS = [INTERCEPT, "town = south", "town = west", "age"]
MIDDLES = np.array([30.0, 50.0, 70.0])
TRUE = np.array([-2.0, 0.7, -0.6, 0.03])


def draw_people(n: int, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    town, age = generator.choice(3, n, p=[0.5, 0.3, 0.2]), generator.choice(3, n, p=[0.3, 0.4, 0.3])
    odds = design(town, MIDDLES[age]) @ TRUE
    ill = generator.random(n) < 1 / (1 + np.exp(-odds))
    return {"town": np.array(QUESTIONS["town"])[town], "age": MIDDLES[age], "ill": np.where(ill, "yes", "no")}


def design(town: np.ndarray[Any, Any], age: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.column_stack([np.ones(len(town)), town == 1, town == 2, age])


def fit_linear(features: np.ndarray[Any, Any], explained: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(LinearRegression(fit_intercept=False).fit(features, explained).coef_)


def ask(epsilon: float, whole: bool = True, **options: Any) -> dn.Plan:
    study = dn.Study(QUESTIONS, epsilon=epsilon, together=[tuple(QUESTIONS)], whole=whole)
    return replace(study, **options).plan(people=60_000)


def count(plan: dn.Plan, people: dict[str, Any], seed: int) -> dn.Result:
    return plan.estimate(plan.tally(plan.privatize(people, dn.seeded(seed))))


def test_without_noise_it_is_the_fit_of_the_true_answers() -> None:
    people = draw_people(60_000, 1)
    features = design(np.array([QUESTIONS["town"].index(town) for town in people["town"]]), people["age"])
    is_ill = people["ill"] == "yes"
    whole = count(ask(25.0), people, 2)
    logistic = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=False, max_iter=1000).fit(
        features, is_ill
    )
    fit = whole.regress("ill", ["town", "age"])
    assert list(fit) == TERMS
    assert fit.coefficients == pytest.approx(logistic.coef_[0], abs=2e-4)
    # what is left is which people were sampled, as an ordinary fit has it
    chances = logistic.predict_proba(features)[:, 1]
    usual = np.linalg.inv((features * (chances * (1 - chances))[:, None]).T @ features)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(np.sqrt(np.diag(usual)), rel=0.03)
    linear = fit_linear(features, is_ill)
    for result in (whole, count(ask(25.0, whole=False), people, 2)):
        assert result.regress("ill", ["town", "age"], kind="linear").coefficients == pytest.approx(
            linear, abs=4 * float(np.sqrt(np.diag(usual)).max()) * 0.2
        )
    of_age = count(ask(25.0), people, 2).regress("age", "town", kind="linear")
    by_town = [people["age"][people["town"] == town].mean() for town in QUESTIONS["town"]]
    assert of_age.answer is None
    assert of_age.coefficients == pytest.approx(
        [by_town[0], *(mean - by_town[0] for mean in by_town[1:])], abs=1e-3
    )


@pytest.mark.parametrize("kind", ["logistic", pytest.param("linear", marks=pytest.mark.long)])
def test_intervals_hold_as_often_as_they_say(kind: Any) -> None:
    """How many studies have an interval of each coefficient that holds the fit of two million people."""
    plan, true = ask(2.0, whole=kind == "logistic"), TRUE
    if kind == "linear":
        crowd = draw_people(2_000_000, 3)
        towns = np.unique(crowd["town"], return_inverse=True)[1]
        true = fit_linear(design(towns, crowd["age"]), crowd["ill"] == "yes")
    off = []  # in standard errors
    for seed in range(REGRESSED_STUDIES):
        fit = count(plan, draw_people(60_000, 100 + seed), seed).regress("ill", ["town", "age"], kind=kind)
        off.append((fit.coefficients - true) / np.sqrt(np.diag(fit.covariance)))

    def judge(reach: float) -> None:
        for term, errors in zip(TERMS, np.abs(off).T, strict=True):
            at_least(int((errors < reach).sum()), REGRESSED_STUDIES, REGRESSED_HELD, f"{kind}, {term}")

    judge(1.96)
    with pytest.raises(AssertionError):
        judge(0.98)


def test_known_groups_explain_too() -> None:
    study = dn.Study({"arm": ["old", "new"], "ill": ["yes", "no"]}, epsilon=1.0, known=["arm"])
    plan = study.plan(people=40_000)
    generator = np.random.default_rng(5)
    arm = generator.integers(0, 2, 40_000)
    ill = generator.random(40_000) < np.array([0.5, 0.3])[arm]
    people = {"arm": np.array(["old", "new"])[arm], "ill": np.where(ill, "yes", "no")}
    fit = count(plan, people, 6).regress("ill", ["arm"])
    truth = np.log(0.3 / 0.7)
    assert fit["arm = new"].low < truth < fit["arm = new"].high < 0
    table = count(plan, people, 6).cross("ill", by="arm")
    assert fit["arm = new"].value == pytest.approx(np.log(table.odds("new", "old", "yes").value), abs=1e-6)


def test_what_it_shows_and_what_it_refuses() -> None:
    people = draw_people(60_000, 1)
    result = count(ask(4.0), people, 2)
    fit = result.regress("ill", ["town", "age"], level=0.9)
    assert str(fit).startswith(
        "logistic regression, log-odds of ill = yes (60,000 reports), 90 % intervals\n"
    )
    assert fit.frame("pandas")["term"].tolist() == TERMS
    assert result.regress("ill", ["town"], answer="no").coefficients == pytest.approx(
        -result.regress("ill", ["town"]).coefficients, abs=1e-6
    )
    for arguments, reason in (
        ((["town", "town"],), "each named once"),
        ((["twon"],), "did you mean 'town'"),
        ((["town"], "maybe"), "'maybe' is not an answer to 'ill'"),
        ((["town"], None, "logit"), "'logit' is not a regression"),
    ):
        with pytest.raises(dn.InvalidParameter, match=reason):
            result.regress("ill", *arguments)
    with pytest.raises(dn.InvalidParameter, match="has 3 answers; say whose share"):
        result.regress("town", ["age"])
    with pytest.raises(dn.InvalidParameter, match="is not a term of this regression"):
        fit["twon"]
    pairs = dn.Study(QUESTIONS, epsilon=1.0, together=[("town", "ill"), ("age", "ill")]).plan(people=60_000)
    with pytest.raises(dn.InvalidParameter, match=r"needs 'ill' and all of .* in one table.*whole"):
        count(pairs, people, 2).regress("ill", ["town", "age"])
    few = {name: column[:300] for name, column in people.items()}
    with pytest.raises(dn.InvalidParameter, match=r"needs .*: about [0-9,]+ reports of the table in pl"):
        count(ask(1.0), few, 2).regress("ill", ["town", "age"])
    with pytest.raises(dn.InvalidParameter, match="too noisy to tell the effects"):
        count(ask(0.5, whole=False), few, 2).regress("ill", ["town", "age"], kind="linear")
    with pytest.raises(dn.InvalidParameter, match="no table is asked for"):
        dn.Study(QUESTIONS, epsilon=1.0, whole=True)
