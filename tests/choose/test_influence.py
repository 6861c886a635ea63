"""Checks what is said before launch about reports that were made up."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.choose import Considered, Objective, consider, warn_influence, warn_uninvited
from deniable.choose.risks import MUCH
from deniable.explain.explain import reconsider
from deniable.formatting import format_points
from deniable.mechanisms import Mechanism
from deniable.results import Estimates
from deniable.results.findings import Findings
from deniable.show.text import write_text
from deniable.tickets import SigningKey

PUBLISHED = {"grr": 293, "oue": 16, "olh": 17, "ss": 16, "hr": 11}
"""Points that 5 % of fakes move a target by, of 100 values at epsilon 1."""


@pytest.mark.parametrize(("name", "points"), PUBLISHED.items())
def test_influence_is_what_fakes_do(name: str, points: int) -> None:
    made = dn.PROTOCOLS[name].make(100, 1.0)
    assert isinstance(made, Mechanism)
    found = Considered.of(made, "", [name], 1000, Objective())
    assert round(5 * found.influence[0]) == points


@pytest.mark.parametrize("mechanism", ["split", "sample", "faked"])
def test_fakes_of_one_attribute_move_it_by_their_influence(mechanism: str) -> None:
    """Five in a hundred reports are the most harmful ones: the share moves by that, and by no more."""
    study = dn.Study({"town": list("abcdefgh"), "smokes": ["yes", "no"]}, 1.0, mechanism=mechanism)
    plan = study.plan(4000)
    people = {"town": np.array(list("bcdefgh"))[np.arange(4000) % 7], "smokes": ["yes", "no"] * 2000}
    law = plan.mechanism.marginal(0)
    low, high = law.contributions
    found = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))["town"]
    assert low < 0 < 1 < high
    worst = found.interval_with_fakes(0.05, of=4000)
    fakes = 0.05 * 4000 / found.n
    np.testing.assert_allclose(
        worst.low, np.clip((found.interval().low - fakes * high) / (1 - fakes), 0, 1), atol=1e-12
    )
    assert (worst.high >= np.clip(found.interval().high, 0, 1)).all()


def test_fewer_fakes_than_there_are_explain_nothing() -> None:
    """GRR with 100 values: 5 % of fake reports give a value that 1 % has a share of 300 %."""
    plan = dn.Plan.of({"town": [f"t{v}" for v in range(100)]}, dn.grr(100, 1.0), people=10_000)
    reports = plan.privatize({"town": [f"t{v % 100}" for v in range(9500)]}, dn.seeded(3))
    honest = plan.tally(reports)["town"]
    tally = dn.Tally(10_000, honest.counts + 500 * (np.arange(100) == 7))
    found = dn.grr(100, 1.0).estimate(tally)
    assert found.frequencies[7] > 2
    few, enough = found.interval_with_fakes(0.01), found.interval_with_fakes(0.05)
    assert np.isnan(few.low[7])
    assert np.isnan(few.high[7])
    assert (enough.low <= 0.01).all()
    assert (enough.high >= 0.01).all()
    least = found.least_fakes()
    assert 0.01 < least[7] < 0.05
    assert least[7] == least.max()
    for share, possible in ((least[7] * 0.999, False), (least[7] * 1.001, True)):
        assert np.isnan(found.interval_with_fakes(share).low[7]) != possible
    estimates = Estimates(plan.id, 10_000, {"town": replace(found, labels=plan.labels["town"])})
    text = write_text(Findings(estimates, fakes=0.01))
    assert " impossible impossible" in text
    assert "of all reports must have been made up to explain 't7'; there may be more" in text


def test_a_cap_on_influence_is_kept_or_named() -> None:
    free, capped = (consider([100, 4], 1.0, 10_000, Objective(influence_cap=cap))[0] for cap in (None, 5))
    assert max(free.influence) > 5 >= max(capped.influence)
    assert capped.why_not is None
    impossible = consider([100], 0.1, 10_000, Objective(influence_cap=5))[0]
    assert "people or more (ss), the cap is 5" in str(impossible.why_not)


@pytest.mark.parametrize("cap", [1.0, 0.0, -3, float("inf"), float("nan"), True, "5"])
def test_a_cap_on_influence_is_a_number_above_one(cap: object) -> None:
    with pytest.raises(dn.InvalidParameter, match="influence_cap is a number of people"):
        Objective(influence_cap=cap)  # type: ignore[arg-type]


def test_direct_reports_of_many_values_are_warned_of() -> None:
    names = {"grr": "1 % of fake reports moves a share of 'town' by up to 58.6 points", "hr": None}
    for name, text in names.items():
        made = dn.PROTOCOLS[name].make(100, 1.0)
        found = warn_influence(Considered.of(made, "", [name], 1000, Objective(), names=("town",)))
        assert found is None if text is None else text in str(found)


@pytest.mark.long
def test_many_points_are_warned_of_whatever_the_least_is() -> None:
    """Three questions at epsilon 0.1: every protocol lets fake reports move them far."""
    asked = {"smokes": ["yes", "no"], "color": ["red", "green", "blue"], "town": list("abcdef")}
    plan = dn.Study(asked, 0.1).plan(500_000)
    text = " ".join(plan.explain().split())
    assert "1 % of fake reports moves a share of 'color' by up to 60 points" in text
    assert "invitations, fewer questions, a cap (deniable plan --influence 5), or a larger epsilon" in text
    assert text.index("WARNING") < text.index("known to within")
    assert "by up to 60 points: --invited" in str(warn_uninvited(reconsider(plan.document, ())))
    invited = plan.with_ticket_key(SigningKey.generate().public)
    assert "WARNING" not in invited.explain()


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 1.5, 3.0])
def test_the_threshold_is_the_one_that_is_stated(epsilon: float) -> None:
    made = dn.PROTOCOLS["ss"].make(30, epsilon)
    assert isinstance(made, Mechanism)
    found = Considered.of(made, "", ["ss"], 1000, Objective(), names=("town",))
    assert (warn_influence(found) is not None) is (found.influence[0] > MUCH == 5.0)


@pytest.mark.long
def test_a_cap_says_what_it_costs() -> None:
    asked = {"smokes": ["yes", "no"], "color": ["red", "green", "blue"], "town": list("abcdef")}
    free, capped, idle = (
        dn.Study(asked, 1.0, objective=Objective(influence_cap=cap)).plan(50_000) for cap in (None, 7.2, 50)
    )
    before, after = (plan.considered[0].units for plan in (free, capped))
    more = max(math.sqrt(b / a) for a, b in zip(before, after, strict=True)) - 1
    text = " ".join(capped.explain().split())
    assert "without it the choice would be SMP[grr, grr, ss]" in text
    assert f"Now it is SMP[grr, grr, hr], with 6.49 people, and errs up to {100 * more:.2g} % more." in text
    assert more > 0
    assert "costs nothing" in idle.explain()
    assert idle.id == free.id
    assert "The cap of" not in free.explain()


def test_a_study_that_asks_again_says_what_a_cap_costs() -> None:
    options: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 2.0}
    capped = dn.Study({"town": list("abcdefgh")}, objective=Objective(influence_cap=4.2), **options).plan(
        1000
    )
    free = dn.Study({"town": list("abcdefgh")}, **options).plan(1000)
    name = free.considered[0].name
    assert name != capped.considered[0].name
    assert f"without it the choice would be {name}, and" in " ".join(capped.explain().split())


def test_metric_contributions_are_those_of_the_inverse() -> None:
    for mechanism in (dn.metric.geometric(20, 0.5), dn.metric.square_wave(1.0, 30)):
        decoder = np.linalg.pinv(mechanism.law.matrix().T)
        low, high = mechanism.contributions
        assert low == pytest.approx(decoder.min(), rel=1e-6)
        assert high == pytest.approx(decoder.max(), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "cap"), [(0.1, 5.0), (0.5, 3.0)])
def test_a_cap_that_nothing_keeps_names_the_epsilon_that_would(epsilon: float, cap: float) -> None:
    """A thousandth less would not do."""
    study = dn.Study(
        {"town": [str(one) for one in range(30)]}, epsilon, objective=Objective(influence_cap=cap)
    )
    with pytest.raises(dn.InvalidParameter, match="is the smallest that keeps this cap") as refused:
        study.plan(1000)
    named = float(str(refused.value).rpartition("; epsilon ")[2].split()[0])
    assert replace(study, epsilon=named).plan(1000).names == ("town",)
    with pytest.raises(dn.InvalidParameter, match="nothing fits"):
        replace(study, epsilon=round(named - 0.001, 3)).plan(1000)


def test_no_epsilon_is_named_for_other_caps() -> None:
    """All keep the cap on fakes, and none the one on a guess."""
    both = Objective(influence_cap=50, success_cap=0.01)
    study = dn.Study({"town": [str(one) for one in range(30)]}, 1.0, objective=both)
    with pytest.raises(dn.InvalidParameter, match="nothing fits") as refused:
        study.plan(1000)
    assert "smallest" not in str(refused.value)


def test_operators_are_warned_by_the_same_threshold() -> None:
    for name, warned in {"grr": True, "hr": False}.items():
        study = dn.Study({"town": [str(one) for one in range(100)]}, 1.0, protocol=name)
        assert (warn_uninvited(reconsider(study.plan(1000).document, ())) is not None) is warned


def test_a_question_with_levels_is_warned_of_by_its_name_and_with_one_number() -> None:
    """It is a bound for all ranges; a cap is refused with levels, so that none is advised."""
    plan = dn.Study({"income": dn.Range(0, 5000), "sex": ["f", "m"]}, 2.0).plan(1000)
    here = reconsider(plan.document, ())
    points = format_points(max(here.influence) / 100)
    told = " ".join(plan.explain().split())
    assert told.count(f"moves the share of a range of 'income' by up to {points}") == 2
    warning = str(warn_uninvited(here))
    assert f"the share of a range of 'income' by up to {points}" in warning
    assert "--influence" not in warning + told
