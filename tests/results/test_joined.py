"""The shares of plans that continue each other, as one number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any, get_args

import numpy as np
import pytest

import deniable as dn
from deniable.collect.joining import Before
from deniable.collect.results import result_of
from deniable.errors import InvalidParameter
from deniable.results.joined import Joining, find_begun
from deniable.results.windows import Windows
from deniable.rounds import Memoized, dbitflip, l_grr, l_osue, l_sue
from deniable.study import Plan, Result
from spec.make.chains import plan_chain
from tests.cases import by_night
from tests.statistics import at_least

STUDIES, PEOPLE, COVERED = 150, 400, 0.93
"""Studies, people of each plan, and how often an interval holds at least."""


def answer(plan: Plan, values: np.ndarray, seed: int, day: int) -> Result:
    """The result of people who are the same in every plan with the same seed."""
    labels = plan.labels["city"]
    words = dn.remembering(seed, dn.seeded(10_000 * day + seed))
    reports = plan.privatize({"city": [labels[value] for value in values]}, words)
    return plan.estimate(plan.tally(reports))


@by_night(
    ("make", "forever"),
    [(l_grr, 2.0), (l_osue, 2.0), (l_osue, 2.2), (l_osue, 1.9)],
    (l_osue, 2.0),
    (l_osue, 1.9),
)
def test_intervals_hold_whoever_reports_to_both_plans(make: Callable[..., Memoized], forever: float) -> None:
    """The same people in both plans: errors add up, and without that intervals hold too rarely."""
    old, new = plan_chain((make(3, 1.8, 2.0), 1), (make(4, 1.8, forever), 1))
    shares, held = np.array([0.6, 0.3, 0.1]), {"same": 0, "others": 0}
    for seed in range(STUDIES):
        drawn = np.random.default_rng(seed).choice(3, PEOPLE, p=shares)
        results = [answer(plan, drawn, seed, day) for day, plan in enumerate((old, new), 1)]
        for people in get_args(Joining):
            low, high = new.join(results, people)["city"].interval()
            held[people] += int(low[1] <= shares[1] <= high[1])
    at_least(held["same"], STUDIES, COVERED, "the same people")
    assert held["others"] < held["same"] - 4


def test_shares_count_by_people_and_not_by_precision() -> None:
    old, new = plan_chain((l_grr(3, 0.5, 2.0), 1), (l_grr(3, 1.5, 2.0), 1))
    many, few = np.repeat([0, 1, 2], [9_000, 0, 0]), np.repeat([0, 1, 2], [0, 1_000, 0])
    results = [answer(old, many, 1, 1), answer(new, few, 2, 2)]
    both = new.join(results)
    joined = both["city"]
    parts = [result["city"].frequencies for result in results]
    assert joined.frequencies == pytest.approx(0.9 * parts[0] + 0.1 * parts[1])
    assert [part.n for part in both.numbers.plans] == [9_000, 1_000]
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
        (Sample((l_grr(4, 1.0, 2.0), l_sue(2, 1.0, 2.0))), 1),
    )
    results = []
    for plan in (old, new):
        rows = {name: [labels[0]] * 600 for name, labels in plan.labels.items()}
        results.append(plan.estimate(plan.tally(plan.privatize(rows, dn.remembering(3)))))
    joined = new.join(results)
    assert joined["city"].n == sum(result["city"].n for result in results)
    assert joined["color"] == results[1]["color"]
    fourth = results[1]["city"].frequencies[3] * results[1]["city"].n / joined["city"].n
    assert joined["city"].frequencies[3] == pytest.approx(fourth)
    with pytest.raises(dn.InvalidParameter, match="whose errors"):
        new.join(results, "nobody")  # type: ignore[arg-type]


@pytest.mark.parametrize("split", ["sample", "split"])
def test_a_question_of_which_nothing_is_kept_goes_on_with_more_answers(split: str) -> None:
    """Its losses add up, since each report has fresh noise; its shares are those of the same answers."""
    budgets: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 3.0, "rounds": 2}
    plans: list[dn.Plan] = []
    for crash in (["no", "app"], ["no", "app", "disk"]):
        asked = {"os": ["ios", "android"], "crash": crash}
        study = dn.Study(asked, changes=["crash"], mechanism=split, **budgets)
        plans.append(study.plan(4000, continues=plans[0]) if plans else study.plan(4000))
    old, new = plans
    assert find_begun(new.document) == {"os": (0, ""), "crash": (0, "")}
    assert "and its series goes on" in new.explain()
    results = [
        plan.estimate(plan.tally(plan.privatize({"os": ["ios"] * n, "crash": answers}, dn.remembering(n))))
        for plan, n, answers in (
            (old, 20_000, ["no"] * 10_000 + ["app"] * 10_000),
            (new, 30_000, ["no"] * 15_000 + ["disk"] * 15_000),
        )
    ]
    joined = new.join(results, "others")["crash"]
    assert joined.labels == ("no", "app", "disk")
    assert joined.n == sum(result["crash"].n for result in results)
    shares = np.array([0.5, 0.2, 0.3])
    assert (np.abs(joined.frequencies - shares) < 5 * joined.stderr).all()  # 2 in a million by chance


def test_only_plans_since_answers_were_removed_are_joined() -> None:
    """An answer's number is another one where answers before it are removed."""
    budgets: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 2}
    old = dn.Study({"crash": ["no", "driver", "app"]}, **budgets).plan(people=2000)
    new = dn.Study({"crash": ["no", "app", "disk"]}, **budgets).plan(2000, continues=old)
    given = ["no"] * 2400 + ["driver"] * 800 + ["app"] * 800, ["no"] * 1500 + ["disk"] * 500
    results = [
        plan.estimate(plan.tally(plan.privatize({"crash": answers}, dn.remembering(len(answers)))))
        for plan, answers in zip((old, new), given, strict=True)
    ]
    joined = new.join(results, "others")["crash"]
    assert joined.labels == ("no", "app", "disk")
    assert joined.frequencies == pytest.approx(results[1]["crash"].frequencies)
    assert find_begun(new.document) == {"crash": (1, "answers were removed: driver")}


def test_a_day_has_results_where_one_person_still_reports_to_the_old_plan() -> None:
    """One report of two bits says nothing of the other values: it counts as one, and estimates as none."""
    old, new = plan_chain((dbitflip(8, 1.0, 2), 2), (dbitflip(8, 1.0, 2), 3))
    before, after = (
        Windows(("day",), {date(2026, 9, 1): plan.tally(plan.privatize(people, dn.remembering(1)))})
        for plan, people in ((old, {"city": ["city 0"]}), (new, {"city": ["city 0"] * 500}))
    )
    [day] = new.estimate(replace(after, before=(before,))).values()
    alone = new.estimate(next(iter(after.values())))
    assert day["city"].frequencies == pytest.approx(alone["city"].frequencies)
    assert (day.n, [part.n for part in day.numbers.plans]) == (501, [1, 500])
    shown = result_of(
        new, next(iter(after.values())), before=Before((next(iter(before.values())),), "others")
    )
    assert shown["city"].frequencies == pytest.approx(alone["city"].frequencies)
    with pytest.raises(dn.InvalidParameter, match=r"2026-09-01: 'city': nobody was asked .* leave"):
        new.estimate(replace(after, tallies={}, before=(before,)))


def test_means_and_sums_are_joined_by_people() -> None:
    """A mean of 3,000 and 1,000 people errs as both do, and so does a share of several values."""
    questions = {"age": dn.Range(0, 64, step=16), "income": dn.Number(0, 100)}
    budgets: dict[str, Any] = {"epsilon_first": 2.0, "epsilon_forever": 4.0, "rounds": 2}
    old = dn.Study(questions, **budgets).plan(people=2000)
    new = dn.Study(questions, **budgets | {"epsilon_first": 1.5}).plan(2000, continues=old)
    results = []
    for plan, n, age, income in ((old, 3000, 20, 30), (new, 1000, 40, 50)):
        reports = plan.privatize({"age": [age] * n, "income": [income] * n}, dn.remembering(n))
        results.append(plan.estimate(plan.tally(reports)))
    joined = new.join(results, "others")

    def check(name: str, read: Callable[[Result], tuple[float, float]]) -> None:
        n = np.array([result[name].n for result in results])
        values, errors = np.array([read(result) for result in results]).T
        error = np.sqrt(((n * errors) ** 2).sum()) / n.sum()
        assert read(joined) == pytest.approx((values @ n / n.sum(), error))

    def read_range(result: Result) -> tuple[float, float]:
        between = result.range("age", 16, 48)
        return between.value, between.stderr

    check("age", read_range)
    check("income", lambda result: (result["income"].mean, result["income"].stderr))
    assert f"joined by the numbers of people: 3,000 to plan {old.id[:12]} and 1,000 to plan" in str(joined)
    with pytest.raises(InvalidParameter, match="a change is of results of one plan each"):
        joined.change(results[0])
    with pytest.raises(InvalidParameter, match="is of the reports to one plan"):
        joined.cross("age", "income")
