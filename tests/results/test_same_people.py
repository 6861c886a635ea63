"""Whose reports a table is from: those of other people agree with it, and all of them size a known group."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deniable as dn
from deniable.cross.source import agree
from deniable.cross.spread import OneReport, Supports
from deniable.explain.table_precision import expect_tables
from deniable.results.crossing import list_sources
from spec.make.products import SMOKING

N = 4000
ASKED = {"age": ["young", "old"], "smoker": ["yes", "no"], "sex": ["f", "m"]}
PAIRS = [("age", "smoker"), ("sex", "smoker")]


def _people() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(2)
    return {name: draw.choice(values, N, p=[0.3, 0.7]) for name, values in ASKED.items()}


def _plan(mechanism: dn.records.RecordMechanism) -> dn.Plan:
    each = {name: dn.Categories(values) for name, values in ASKED.items()}
    tables = {" x ".join(pair): dn.domain.Product([(name, each[name]) for name in pair]) for pair in PAIRS}
    return dn.Plan.of(tables, mechanism, people=N)


@pytest.mark.parametrize("kind", ["split", "faked", "sample"])
def test_tables_of_the_same_people_stay_as_they_are(kind: str) -> None:
    """Their errors depend on each other, so that those of independent tables would be too small."""
    parts = (dn.grr(4, 2.0), dn.grr(4, 2.0))
    made = {
        "split": dn.records.Split(parts),
        "sample": dn.records.Sample(parts),
        "faked": dn.rsfd([4, 4], 2.0, "grr"),
    }[kind]
    plan = _plan(made)
    result = plan.estimate(plan.tally(plan.privatize(_people(), dn.seeded(3))))
    table, sources = result.cross("smoker", by="age"), list_sources(result.numbers)
    law = plan.mechanism.marginal(0)
    assert isinstance(law, Supports)
    alone = OneReport(law).covariance(sources[0].values, np.eye(4)) / sources[0].n
    if kind == "sample":
        assert (np.diag(table.covariance) < 0.99 * np.diag(alone)).all()
        return
    assert table.n == N
    np.testing.assert_allclose(table.cells.ravel(), sources[0].values)
    np.testing.assert_allclose(table.covariance, alone)
    joined = agree(sources)[0].covariance(np.eye(4))
    assert (np.diag(joined) < 0.99 * np.diag(alone)).all()


def test_one_of_several_tables_of_the_same_people_is_read() -> None:
    """Of a view and a pair, the one with fewer cells; their mean would count each person twice."""
    each = {name: dn.Categories(values) for name, values in ASKED.items()}
    view = dn.domain.Product(each)
    pair = dn.domain.Product([(name, each[name]) for name in ("age", "smoker")])
    plan = dn.Plan.of(
        {view.name: view, pair.name: pair}, dn.records.Split((dn.grr(8, 2.0), dn.grr(4, 2.0))), people=N
    )
    result = plan.estimate(plan.tally(plan.privatize(_people(), dn.seeded(4))))
    table = result.cross("smoker", by="age")
    assert table.n == N
    np.testing.assert_allclose(table.cells.ravel(), list_sources(result.numbers)[1].values)
    # and forecasts are those of the pair alone
    alone = dn.Plan.of({pair.name: pair}, dn.grr(4, 2.0), people=N)
    expected, [expected_alone] = expect_tables(plan.document), expect_tables(alone.document)
    assert expected_alone in expected
    assert expected_alone.people_for_difference == 7907


def test_metric_questions_beside_a_sample_let_tables_agree() -> None:
    asked = dict(SMOKING.attributes) | {"mood": dn.Range(1, 6, privacy="metric", epsilon=0.5)}
    plan = dn.Study(asked, 2.0, together=SMOKING.together).plan(people=1000)
    assert plan.considered[0].kind == "SPL+SMP"
    people = {
        "age": [20, 40] * 500,
        "smoker": ["yes", "no"] * 500,
        "sex": ["f", "m"] * 500,
        "mood": [1, 2] * 500,
    }
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(5))))
    assert any(one.weights is not None for one in result.agreed)


@pytest.mark.parametrize("mechanism", ["sample", "split"])
def test_all_reports_say_how_large_a_known_group_is(mechanism: str) -> None:
    """Two questions are sampled, and half of the reports are about each; all of them name the group."""
    study = dn.Study(ASKED, 2.0, known=["age"], mechanism=mechanism)
    plan, people = study.plan(people=N), _people()
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(6))))
    table = result.cross("smoker", by="age")
    share = float(np.mean(people["age"] == "young"))
    base = table.base("young")
    assert base.value == pytest.approx(share, abs=1e-12)
    assert base.stderr == pytest.approx(math.sqrt(share * (1 - share) / N), rel=1e-3)
    assert float(table.cells.sum()) == pytest.approx(1.0, abs=1e-12)
    # shares of a group's people are as well known as its own reports about the question say
    law, n = plan.mechanism.marginal(0), result.estimates["smoker"].n * share
    assert isinstance(law, Supports)
    yes = float(table.shares[0, 0])
    noise = OneReport(law).covariance(np.array([yes, 1 - yes]), np.eye(2))[0, 0] / n
    assert table.stderr[0, 0] == pytest.approx(math.sqrt(noise), rel=0.03)


def test_changes_of_the_same_people_by_known_groups_err_by_noise_alone() -> None:
    """Groups keep their sizes. In a group the noise of its own reports about the question is left."""
    asked = {"arm": ["a", "b"]} | {f"q{j}": ["yes", "no"] for j in range(4)}
    study = dn.Study(
        asked, epsilon_first=2.0, epsilon_forever=4.0, rounds=2, known=["arm"], mechanism="sample"
    )
    plan, draw = study.plan(people=N), np.random.default_rng(7)
    people = {name: draw.choice(values, N, p=[0.3, 0.7]) for name, values in asked.items()}
    result = plan.estimate(plan.tally(plan.privatize(people, dn.remembering(8))))
    table, law = result.cross("q0", by="arm"), plan.mechanism.marginal(0)
    assert isinstance(law, Supports)
    change = table.change(table, people="same")
    for row, arm in enumerate(asked["arm"]):
        base = float(np.mean(people["arm"] == arm))
        shares = table.own[row] / table.own[row].sum()
        noise = OneReport(law).covariance(shares, np.eye(2)) - np.diag(shares) + np.outer(shares, shares)
        error = math.sqrt(2 * base * noise[0, 0] / table.n)  # of n x base reports, for this part of people
        np.testing.assert_allclose(change.cells.stderr[row], error, rtol=1e-6)
