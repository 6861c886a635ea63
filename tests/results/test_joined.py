"""The shares of plans that continue each other, as one number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.results.joined import Joining
from deniable.rounds import l_grr, l_osue
from deniable.study import Plan, Result
from spec.make.chains import plan_chain
from tests.statistics import at_least

STUDIES, PEOPLE, COVERED = 150, 400, 0.93
"""Studies, people of each plan, and how often an interval holds at least."""


def answer(plan: Plan, values: np.ndarray, seed: int, day: int) -> Result:
    """The result of people who are the same in every plan with the same seed."""
    labels = plan.labels["city"]
    words = dn.remembering(seed, dn.seeded(10_000 * day + seed))
    reports = plan.privatize({"city": [labels[value] for value in values]}, words)
    return plan.estimate(plan.tally(reports))


@pytest.mark.parametrize("name", ["grr", "osue"])
def test_intervals_hold_whoever_reports_to_both_plans(name: str) -> None:
    """The same people in both plans: errors add up, and without that intervals hold too rarely."""
    make = {"grr": l_grr, "osue": l_osue}[name]
    old, new = plan_chain((make(3, 1.8, 2.0), 1), (make(4, 1.8, 2.0), 1))
    shares, held = np.array([0.6, 0.3, 0.1]), {"same": 0, "others": 0}
    for seed in range(STUDIES):
        drawn = np.random.default_rng(seed).choice(3, PEOPLE, p=shares)
        results = [answer(plan, drawn, seed, day) for day, plan in enumerate((old, new), 1)]
        for people in held:
            joined = new.join(results, people)["city"]  # type: ignore[arg-type]
            held[people] += int(joined.low[1] <= shares[1] <= joined.high[1])
    at_least(held["same"], STUDIES, COVERED, f"{name}, the same people")
    assert held["others"] < held["same"] - 4


def test_shares_count_by_people_and_not_by_precision() -> None:
    old, new = plan_chain((l_grr(3, 0.5, 2.0), 1), (l_grr(3, 1.5, 2.0), 1))
    many, few = np.repeat([0, 1, 2], [9_000, 0, 0]), np.repeat([0, 1, 2], [0, 1_000, 0])
    results = [answer(old, many, 1, 1), answer(new, few, 2, 2)]
    joined = new.join(results)["city"]
    parts = [result["city"].frequencies for result in results]
    assert joined.frequencies == pytest.approx(0.9 * parts[0] + 0.1 * parts[1])
    assert joined.counts == (9_000, 1_000)
    apart = np.sqrt(
        sum((w * result["city"].stderr) ** 2 for w, result in zip((0.9, 0.1), results, strict=True))
    )
    assert new.join(results, "others")["city"].stderr == pytest.approx(apart)
    assert (joined.stderr > apart).all()


def test_the_same_law_adds_counts() -> None:
    old, new = plan_chain((l_grr(3, 1.0, 2.0), 1), (l_grr(3, 1.0, 2.0), 2))
    values = np.repeat([0, 1, 2], [700, 200, 100])
    results = [answer(old, values, 1, 1), answer(new, values, 2, 2)]
    supported = sum(result["city"].support_counts for result in results) / 2000
    law: Any = new.document.parts[0].law
    assert new.join(results)["city"].frequencies == pytest.approx((supported - law.q) / law.gain)


@pytest.mark.parametrize("wrong", ["one result", "another plan", "a plan twice"])
def test_only_plans_of_a_chain_are_joined(wrong: str) -> None:
    old, new = plan_chain((l_grr(3, 1.0, 2.0), 1), (l_grr(4, 1.0, 2.0), 1))
    [other] = plan_chain((l_grr(3, 1.0, 2.0), 3))
    values = np.repeat([0, 1], 50)
    first, second, third = (answer(plan, values, 1, 1) for plan in (old, new, other))
    results = {"one result": [second], "another plan": [third, second], "a plan twice": [second, second]}[
        wrong
    ]
    with pytest.raises(dn.InvalidParameter, match="continues all others"):
        new.join(results)
    with pytest.raises(dn.InvalidParameter, match="are missing"):
        new.join([first])


def test_a_question_that_begins_anew_has_its_own_shares() -> None:
    from deniable.records import Sample

    old, new = plan_chain(
        (Sample((l_grr(3, 1.0, 2.0), l_osue(2, 1.0, 2.0))), 1),
        (Sample((l_grr(4, 1.0, 2.0), l_osue(2, 1.0, 3.0))), 1),
    )
    results = []
    for plan in (old, new):
        rows = {name: [labels[0]] * 600 for name, labels in plan.labels.items()}
        results.append(plan.estimate(plan.tally(plan.privatize(rows, dn.remembering(3)))))
    joined = new.join(results)
    assert (len(joined["city"].counts), len(joined["color"].counts)) == (2, 1)
    assert joined["color"].frequencies == pytest.approx(results[1]["color"].frequencies)
    assert joined["city"].plans[0][3] == 0.0
    assert "'city' of" in str(joined)
    people: Joining = "others"
    assert new.join(results, people).people == people
    with pytest.raises(dn.InvalidParameter, match="whose errors"):
        new.join(results, "nobody")  # type: ignore[arg-type]
