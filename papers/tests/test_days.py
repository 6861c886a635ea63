"""Sets of days as one value: what is reported, what is estimated, and people who are drawn from it."""

from __future__ import annotations

import numpy as np
import pytest
from sizes import WEEK_PEOPLE
from tests import statistics

import deniable as dn
from deniable.errors import InvalidParameter, InvalidValue
from deniable_papers import learn

NAMES = ["Mon", "Tue", "Wed", "Thu"]


def visits(people: int, seed: int = 1) -> dict[str, list[object]]:
    """Visits of people to four days, with one visit twice."""
    rng = np.random.default_rng(seed)
    sets = rng.choice(15, people, p=rng.dirichlet(np.ones(15))) + 1
    rows = [(f"p{i}", NAMES[d]) for i, one in enumerate(sets.tolist()) for d in range(4) if one >> d & 1]
    rows = [rows[i] for i in rng.permutation(len(rows))] + rows[:1]
    return {"who": [row[0] for row in rows], "on": [row[1] for row in rows]}


def test_days_of_a_person_become_one_value() -> None:
    table = visits(200)
    week = learn.day_sets(table, NAMES, person="who", day="on")
    found: dict[object, set[object]] = {person: set() for person in week.people}
    for who, day in zip(table["who"], table["on"], strict=True):
        found[who].add(day)
    for person, number in zip(week.people, week.sets.tolist(), strict=True):
        assert set(week.labels[number - 1].split("+")) == found[person]
    assert week.counts.sum() == 200
    frame = pytest.importorskip("pandas").DataFrame(table)
    again = learn.day_sets(frame, NAMES, person="who", day="on")
    assert np.array_equal(again.sets, week.sets)
    assert "200 people on 4 days: Mon, Tue, Wed, Thu" in str(week)


def test_one_report_protects_the_whole_week() -> None:
    """The loss is that of the set: any week against any other, and exactly what was asked for."""
    plan = learn.day_sets(visits(50), NAMES, "who", "on").plan(epsilon=1.0)
    assert plan.verify().record <= 1.0 < plan.loss.record + 1e-8
    assert len(plan.labels["days"]) == 15
    assert plan.labels["days"][2] == "Mon+Tue"


def test_days_of_a_week_are_the_default() -> None:
    week = learn.day_sets({"person": ["a", "a", "b"], "day": [1, 7, 3]})
    assert week.sets.tolist() == [65, 4]
    assert len(week.plan(epsilon=1.0).labels["days"]) == 127
    assert learn.first_visits({"person": ["a"], "day": [7]})[7, 7].tolist() == [0]


def test_a_report_of_everybody_does_not_show_who_came() -> None:
    """Those who did not come report, too; without them, everybody who reports came."""
    table = visits(WEEK_PEOPLE)
    everybody = [f"p{i}" for i in range(2 * WEEK_PEOPLE)]
    week = learn.day_sets(table, NAMES, "who", "on", everybody=everybody)
    plan = week.plan(epsilon=1.0)
    assert plan.verify().record <= 1.0
    assert plan.labels["days"][:4] == ("no day", "Mon", "Tue", "Mon+Tue")
    reports = week.privatize(plan, dn.seeded(3))
    assert len(reports) == 2 * WEEK_PEOPLE == len(week.people)
    found = learn.estimate_days(plan, reports)
    came = found.union("Mon", "Thu")
    statistics.deviation(came.value, 0.5, came.stderr, "half of everybody came")
    truth = learn.count_unions(week.counts[1:], 4) / len(week.people)
    one = found.union("Tue", "Wed")
    statistics.deviation(one.value, truth[learn.list_unions(4).index((2, 3))], one.stderr, "Tue to Wed")
    assert found.days_visited().size == 5
    assert found.days_visited()[0] == pytest.approx(found.shares()[0])
    assert found.unions()[3] == pytest.approx(len(week.people) * (1 - found.shares()[0]))
    assert "0 days:" in str(found)
    only = learn.day_sets(table, NAMES, "who", "on")
    assert "no day" not in only.labels
    with pytest.raises(InvalidParameter, match="does not ask for sets of the days"):
        only.privatize(plan)
    alone = learn.estimate_days(only.plan(1.0), only.privatize(only.plan(1.0), dn.seeded(3)))
    share = alone.union("Mon", "Thu").value
    with pytest.raises(AssertionError):
        statistics.deviation(share, 0.5, came.stderr, "the planted fault: only those who came report")


def test_wrong_people_who_could_have_come_are_refused() -> None:
    some = {"person": [1, 2, 3], "day": [1, 2, 2]}
    with pytest.raises(InvalidValue, match="everybody lacks 2 of 3 people with a visit; name all"):
        learn.day_sets(some, [1, 2], everybody=[1, 4])
    with pytest.raises(InvalidValue, match="everybody has 4 names of 3 people"):
        learn.day_sets(some, [1, 2], everybody=[1, 2, 3, 3])
    with pytest.raises(InvalidValue, match="'everybody' must be a list"):
        learn.day_sets(some, [1, 2], everybody="everybody")
    with pytest.raises(InvalidParameter, match="a day cannot be called 'no day'"):
        learn.day_sets(some, ["no day", "1"])


def test_estimates_are_unbiased_within_their_errors() -> None:
    """And a report of the days in another order, the planted fault, is found."""
    week = learn.day_sets(visits(WEEK_PEOPLE), NAMES, "who", "on")
    plan = week.plan(epsilon=1.0)
    found = week.estimate(plan, week.privatize(plan, dn.seeded(3)))
    truth = learn.count_unions(week.counts, 4) / WEEK_PEOPLE
    for (first, last), share in zip(learn.list_unions(4), truth, strict=True):
        if (first, last) == (1, 4):
            assert found.union("Mon", "Thu").value == pytest.approx(1)
            continue
        one = found.union(NAMES[first - 1], NAMES[last - 1])
        statistics.deviation(one.value, share, one.stderr, f"days {first} to {last}")
    wrong = np.array([int(f"{number:04b}"[::-1], 2) for number in range(1, 16)])
    turned = learn.DaySets(week.days, week.people, wrong[week.sets - 1])
    late = week.estimate(plan, turned.privatize(plan, dn.seeded(3))).union("Mon", "Mon")
    with pytest.raises(AssertionError):
        statistics.deviation(late.value, truth[0], late.stderr, "days in another order")


def test_what_is_published_is_consistent() -> None:
    week = learn.day_sets(visits(300), NAMES, "who", "on")
    plan = week.plan(epsilon=1.0)
    reports = week.privatize(plan, dn.seeded(2))
    found = learn.estimate_days(plan, plan.tally(reports))
    assert found.n == 300
    assert found.shares().min() >= 0
    assert found.shares().sum() == pytest.approx(1)
    assert found.unions()[learn.list_unions(4).index((1, 4))] == pytest.approx(300)
    assert found.days_visited().sum() == pytest.approx(1)
    assert (found.estimate.frequencies < 0).any()
    assert "1 day:" in str(found)


def test_two_weeks_fit_in_a_report() -> None:
    week = learn.day_sets({"person": [1, 1, 2], "day": [1, 14, 3]}, days=range(1, 15))
    plan = week.plan(epsilon=4.0)
    assert week.sets.tolist() == [2**13 + 1, 4]
    assert week.estimate(plan, week.privatize(plan, dn.seeded(1))).days_visited().size == 14


def test_days_may_be_dates_and_visits_times() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2026-11-16", periods=3)
    times = pandas.to_datetime(["2026-11-16 09:30", "2026-11-18 23:59", "2026-11-17 00:00"])
    frame = pandas.DataFrame({"person": [1, 1, 2], "day": times})
    week = learn.day_sets(frame, days)
    assert week.days == ("2026-11-16", "2026-11-17", "2026-11-18")
    assert week.sets.tolist() == [5, 2]
    arrays = {"person": np.array([1, 1, 2]), "day": times.to_numpy().astype("datetime64[ns]")}
    assert learn.day_sets(arrays, [day.date() for day in days]).sets.tolist() == [5, 2]
    with pytest.raises(InvalidValue, match="'2026-11-18' is not a value of 'day'"):
        learn.day_sets(frame, days[:2])


def test_nobody_came() -> None:
    week = learn.day_sets({"person": [], "day": []}, [1, 2, 3])
    plan = week.plan(1.0)
    assert len(week.privatize(plan)) == 0
    with pytest.raises(InvalidParameter, match="no reports yet"):
        week.estimate(plan, week.privatize(plan))


def test_first_visits_are_one_row_a_person() -> None:
    """A second visit on the same day does not count."""
    table = visits(300)
    rows = learn.first_visits(table, NAMES, "who", "on")
    counts = learn.count_unions(learn.day_sets(table, NAMES, "who", "on").counts, 4)
    assert [some.size for some in rows.values()] == counts.tolist()
    for (first, last), some in rows.items():
        at = np.array([NAMES.index(str(table["on"][row])) for row in some]) + 1
        assert first <= at.min() <= at.max() <= last
        assert len({table["who"][row] for row in some}) == some.size
        earliest = {table["who"][row]: day for row, day in zip(some.tolist(), at.tolist(), strict=True)}
        for who, day in zip(table["who"], table["on"], strict=True):
            number = NAMES.index(str(day)) + 1
            assert not first <= number <= last or number >= earliest[who]


def test_wrong_visits_and_plans_are_refused() -> None:
    some = {"person": [1, 2], "day": [1, 8]}
    with pytest.raises(InvalidValue, match="8 is not a value of 'day'"):
        learn.day_sets(some, days=range(1, 8))
    with pytest.raises(InvalidValue, match="'who' is not a column"):
        learn.day_sets(some, range(1, 9), person="who")
    with pytest.raises(InvalidValue, match="without a 'person'"):
        learn.day_sets({"person": [1, None], "day": [1, 2]}, [1, 2])
    with pytest.raises(InvalidParameter, match="2 to 14 days, got 15"):
        learn.day_sets(some, range(15))
    with pytest.raises(InvalidParameter, match="joins the days of a set"):
        learn.day_sets(some, ["a+b", "c"])
    with pytest.raises(InvalidParameter, match="days names all days in order"):
        learn.day_sets(some, "1234567")
    week = learn.day_sets(some, range(1, 9))
    other = learn.day_sets(some, [*range(1, 9), 9]).plan(1.0)
    with pytest.raises(InvalidParameter, match="does not ask for sets of the days 1, 2"):
        week.privatize(other)
    colors = dn.Study({"color": ["red", "blue"]}, epsilon=1.0).plan(people=10)
    with pytest.raises(InvalidParameter, match="does not ask for sets of days"):
        learn.estimate_days(colors, colors.privatize({"color": ["red"]}))
    found = week.estimate(week.plan(1.0), week.privatize(week.plan(1.0)))
    with pytest.raises(InvalidParameter, match="'2' is before '3'"):
        found.union("3", "2")


def test_people_are_drawn_with_the_shares_of_each_day() -> None:
    cells = np.random.default_rng(4).gamma(1.0, 50.0, 15)
    shares = {"stay": {"short": [0.2, 0.4, 0.6, 1.0], "long": [0.8, 0.6, 0.4, 0.0]}}
    drawn = learn.draw_people(cells, shares, days=4)
    whole = learn.round_counts(cells)
    assert whole.sum() == round(cells.sum())
    assert np.abs(whole - cells).max() < 1
    sets = np.zeros(whole.sum(), dtype=np.int64)
    np.bitwise_or.at(sets, drawn["person"], 1 << (drawn["day"] - 1))
    assert np.array_equal(np.bincount(sets, minlength=16)[1:], whole)
    for day, share in enumerate(shares["stay"]["short"], 1):
        here = drawn["stay"][drawn["day"] == day]
        assert abs((here == "short").sum() - share * here.size) <= 1


def test_wrong_people_to_draw_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="not negative"):
        learn.round_counts([1.0, -1.0])
    with pytest.raises(InvalidParameter, match="each of the 3 sets of 2 days; got 2 numbers"):
        learn.draw_people([1, 2], days=2)
    with pytest.raises(InvalidParameter, match="give the attribute another name"):
        learn.draw_people([1, 2, 3], {"day": {"a": [1, 1]}}, days=2)
    with pytest.raises(InvalidParameter, match="share on each of the 2 days; got 1 value with 1 number"):
        learn.draw_people([1, 2, 3], {"stay": {"a": [1]}}, days=2)
    with pytest.raises(InvalidParameter, match="some of them positive on each day"):
        learn.draw_people([1, 2, 3], {"stay": {"a": [1, 0]}}, days=2)
