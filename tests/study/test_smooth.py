"""Studies that say that shares are smooth: their plans, what goes with them, and what is read of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.explain.questions import ONLY_IF_SMOOTH
from deniable.study import Plan, Result
from deniable.study.study import Study
from tests import waves
from tests.enumeration import part_law

BESIDE = Study({"income": waves.INCOME, "smokes": ["yes", "no"]}, epsilon=1.0)
PEOPLE = 20_000
"""Of seeded words: estimates are then within 4 standard errors, but for one seed in 16,000."""


def ask_people() -> tuple[dict[str, Any], Result]:
    rng = np.random.default_rng(5)
    people = {"income": 65_536 * rng.beta(2, 5, PEOPLE)}
    plan = waves.plans()["cells"]
    return people, plan.estimate(plan.tally(plan.privatize(people, dn.seeded(5))))


def test_a_long_range_has_256_cells_and_loses_what_the_study_says() -> None:
    plan = waves.plans()["cells"]
    assert plan.document.attributes[0].domain == dn.Range(0, 65_536, step=256)
    assert 1.0 - 1e-9 < plan.loss.record <= 1.0
    assert dn.Plan.from_json(plan.to_json()) == plan
    assert plan.considered[0].protocols == ("square_wave",)
    assert "li2020" in plan.cite()


@pytest.mark.parametrize("name", ["few values", "everything"])
def test_losses_and_guesses_are_those_of_the_exact_law(name: str) -> None:
    """All outcomes of all words, counted by an implementation of its own."""
    plan = waves.plans()[name]
    part = plan.document.parts[plan.names.index("age")]
    laws = [part_law(part, value) for value in range(part.k)]
    outputs = list(laws[0])
    assert len(outputs) == part.tallied
    largest = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in outputs)
    assert largest <= part.ratio <= largest * (1 + 1e-15)
    guess = sum(max(law[y] for law in laws) for y in outputs) / part.k
    assert part.success() == pytest.approx(float(guess), rel=1e-12)


def test_ranges_are_read_between_any_numbers_with_intervals() -> None:
    people, result = ask_people()
    income = people["income"]
    for low, high in ((20_000, 40_000), (0, 30_001), (12_345.5, None), (None, "9999")):
        found = result.range("income", low, high)
        ends = (0 if low is None else low), (65_536 if high is None else float(high))
        true = float(np.mean((income >= ends[0]) & (income < ends[1])))
        assert 0 < found.stderr < 0.05
        assert abs(found.value - true) < 4 * found.stderr
    whole, parts = result.range("income", 1000, 3000), [(1000, 1100), (1100, 3000)]
    assert whole.value == pytest.approx(sum(result.range("income", *one).value for one in parts))
    assert result.range("income").stderr == 0
    for wrong in ((40_000, 20_000), (-5, 100), (0, 70_000), (500, 500)):
        with pytest.raises(dn.InvalidParameter, match="income"):
            result.range("income", *wrong)
    median, curve = result.quantile("income", 0.5), result.cdf("income")
    assert abs(median.value - np.median(income)) < 4 * median.stderr
    below = np.array([np.mean(income < edge) for edge in curve.edges])
    spread = (curve.high - curve.low) / 2 / 1.96
    assert (np.abs(curve.unbiased - below) <= 4.5 * spread + 1e-9).all()
    assert (np.diff(curve.shares) >= 0).all()


def test_every_reader_is_told_what_is_taken_for_granted() -> None:
    _, result = ask_people()
    assert ONLY_IF_SMOOTH == "right only if shares are smooth: on heaped data its error is bias"
    assert ONLY_IF_SMOOTH in str(result)
    plan = waves.plans()["beside another"]
    assert ONLY_IF_SMOOTH in " ".join(plan.explain().split())
    assert str(BESIDE).count("smooth") == 1
    plain = replace(BESIDE, attributes={"smokes": ["yes", "no"]}).plan(people=1000)
    assert ONLY_IF_SMOOTH not in plain.explain()


def test_smoothing_and_most_likely_shares_are_there_when_asked_for() -> None:
    _, result = ask_people()
    assert "nearest possible shares" in str(result)
    assert result.document is not None
    assert result.tallies is not None
    smoothed = Plan(result.document).estimate(result.tallies, smooth=True)
    assert "smoothed shares" in str(smoothed)
    assert Plan(result.document).mle(result.tallies, "income").gap < 1e-6


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"known": ["income"]}, "known"),
        ({"missing": "value"}, "yes/no question"),
        ({"missing": {"income": True}}, "yes/no question"),
        ({"mechanism": "faked"}, "faked"),
        ({"protocol": {"income": "grr"}}, "protocol of its own"),
        ({"together": [("income", "smokes")]}, "together"),
        ({"epsilon": None, "epsilon_first": 1.0, "epsilon_forever": 2.0}, "asking again"),
    ],
)
def test_what_does_not_go_with_smooth_shares_is_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=told) as problem:
        replace(BESIDE, **more)
    assert "'income': queries = 'smooth'" in str(problem.value)


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        (dn.Range(0, 31, queries="smooth"), "fewer than 32"),
        (dn.Range(0, 257, queries="smooth"), "end the range at 258"),
        (dn.Range(0, 10_007, queries="smooth"), "end the range at 10040"),
        (dn.Range(0, 100, open_high=True, queries="smooth"), "open end"),
        (dn.Range(0, 99, privacy="metric", epsilon=0.1, queries="smooth"), "metric"),
        (dn.Range.dates("1900-01", "2026-12", queries="smooth"), "fewer dates"),
    ],
)
def test_ranges_that_have_no_smooth_cells_are_refused(domain: dn.Range, told: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=told):
        dn.Study({"a": domain}, epsilon=1.0)


@pytest.mark.parametrize(
    ("domain", "cells"),
    [
        (dn.Range(0, 1000, step=0.5, queries="smooth"), dn.Range(0, 1000, step=4)),
        (dn.Range(0, 25, step=0.05, queries="smooth"), dn.Range(0, 25, step=0.1)),
        (dn.Range.scale(1, 1000, queries="smooth"), dn.Range(1, 1001, step=4)),
        (dn.Range.scale(1, 100, queries="smooth"), dn.Range.scale(1, 100)),
        (dn.Range(0, 10_040, queries="smooth"), dn.Range(0, 10_040, step=40)),
    ],
)
def test_cells_are_equally_wide_and_begin_and_end_with_the_range(domain: dn.Range, cells: dn.Range) -> None:
    plan = dn.Study({"a": domain}, epsilon=1.0).plan(people=1000)
    assert plan.document.attributes[0].domain == cells


def test_smooth_ranges_stand_beside_levels_metric_values_and_numbers() -> None:
    study = Study(
        {
            "income": waves.INCOME,
            "debts": dn.Range(0, 4096),
            "age": dn.Range(0, 100, privacy="metric", epsilon=0.1),
        },
        epsilon=1.0,
    )
    plan = study.plan(people=1000)
    assert {"debts by 1024", "income", "age"} < set(plan.names)
    assert plan.loss.rest is not None
    assert plan.loss.rest <= 1.0
    other = Study({"income": waves.INCOME, "pay": dn.Number(0, 10)}, epsilon=1.0, protocol="grr")
    assert {"square_wave"} < set(other.plan(people=1000).considered[0].protocols)


def test_a_study_file_can_ask_for_it() -> None:
    asked = {"income": {"low": 0, "high": 65_536, "step": 1, "queries": "smooth"}}
    study = dn.Study.from_dict({"epsilon": 1.0, "attributes": asked})
    assert study.plan(people=1000) == waves.plans()["cells"]


def test_an_audit_finds_no_leak_and_an_attack_is_as_good_as_stated() -> None:
    plan = waves.plans()["few values"]
    audit = dn.audit.lower_bound(plan, trials=20_000, words=dn.seeded(1))
    assert audit.verdict == "PASS"
    assert dn.attack.success(plan).attributes[0].reported == pytest.approx(plan.document.parts[0].success())
