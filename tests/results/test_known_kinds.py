"""Tables by known groups of questions that apply only to some, and of all that apply."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.explain.table_precision import count_people, expect_tables
from deniable.mechanisms import Tally
from deniable.plan.known_groups import add_groups
from deniable.reports import Tallies
from deniable.study import Plan
from tests.statistics import CROSSED_HELD, CROSSED_SIZE, TESTED_STUDIES

PLAN = dn.Study(
    {
        "arm": ["A", "B"],
        "works": ["yes", "no"],
        "hours": ["few", "some", "many"],
        "media": dn.Several(["tv", "web"]),
    },
    epsilon=3.0,
    known=["arm"],
    only_if={"hours": {"works": "yes"}},
    mechanism="sample",
    protocol="grr",
).plan(people=10_000)
HOURS = np.array([[0.30, 0.24, 0.06, 0.40], [0.10, 0.08, 0.02, 0.80]])
"""By group: the same shares of those who work, who are 60 % in one and 20 % in the other."""


def count(plan: Plan, name: str, shares: Floats, sizes: tuple[int, ...], counts: Any) -> Tallies:
    """Tallies in which one attribute was reported; `counts` draws them by the chances of all reports."""
    law: Any = plan.mechanism.mechanisms[plan.names.index(name)].law
    groups = []
    for n, share in zip(sizes, shares, strict=True):
        tallies = {
            one: Tally(0, np.zeros(part.k, int))
            for one, part in zip(plan.names, plan.document.parts, strict=True)
        }
        groups.append(tallies | {name: Tally(n, counts(n, law.q + law.gain * share))})
    return Tallies(plan.id, sum(sizes), add_groups(groups), tuple(groups))


def expect(n: int, chances: Floats) -> Any:
    return np.round(n * chances).astype(np.int64)


def test_shares_are_of_those_to_whom_it_applies() -> None:
    many = (10**12, 10**12)  # so that rounding is far below the tolerance
    table = PLAN.estimate(count(PLAN, "hours", HOURS, many, expect)).cross("hours", by="arm")
    assert table.columns == ("few", "some", "many")
    np.testing.assert_allclose(table.shares, np.tile([0.5, 0.4, 0.1], (2, 1)), atol=1e-9)
    np.testing.assert_allclose(table.cells, HOURS[:, :3] / 2, atol=1e-9)  # of all people
    assert table.test().statistic < 1e-6


def test_every_option_has_a_table() -> None:
    shares, many = np.array([[0.7, 0.3], [0.2, 0.8]]), (10**12, 3 * 10**12)
    tallies = count(PLAN, "media: web", shares, many, expect)
    table = PLAN.estimate(tallies).cross("media: web", by="arm")
    assert table.columns == ("yes", "no")
    np.testing.assert_allclose(table.shares, shares, atol=1e-9)
    turned = PLAN.estimate(tallies).cross("arm", by="media: web")
    np.testing.assert_allclose(turned.cells, table.cells.T, atol=1e-12)
    with pytest.raises(dn.InvalidParameter, match="each of its options has a table by 'arm': 'media: tv'"):
        PLAN.estimate(tallies).cross("media", by="arm")
    with pytest.raises(dn.InvalidParameter, match="there are no reports about 'media: tv' yet"):
        PLAN.estimate(tallies).cross("media: tv", by="arm")


def test_intervals_hold_and_the_test_has_its_size_where_it_applies_to_few() -> None:
    """Though it applies to three times as many people of one group: that is no dependence.

    The planted fault are shares of the whole group.
    """
    rng, sizes = np.random.default_rng(4), (1500, 1500)
    held, faulty, rejected = [], [], []
    true, reach = np.array([0.5, 0.4, 0.1]), 1.96
    for _ in range(TESTED_STUDIES):
        tallies = count(PLAN, "hours", HOURS, sizes, rng.multinomial)
        table = PLAN.estimate(tallies).cross("hours", by="arm")
        held.append((table.low <= true) & (table.high >= true))
        faulty.append(np.abs(2 * table.cells[1] - true) <= 2 * reach * table.stderr[1])
        rejected.append(table.test().p < 0.05)
    assert (np.mean(held, axis=0) >= CROSSED_HELD[0]).all()
    assert np.mean(held) <= CROSSED_HELD[1]
    assert np.mean(faulty) < CROSSED_HELD[0]
    assert CROSSED_SIZE[0] <= np.mean(rejected) <= CROSSED_SIZE[1]


def test_people_answer_and_the_plan_says_what_tables_tell() -> None:
    """From answers to tables: 20,000 people in four attributes, five standard errors."""
    rng = np.random.default_rng(5)
    n = 20_000
    is_b, works = rng.random(n) < 0.5, rng.random(n) < 0.6
    few = rng.random(n) < np.where(is_b, 0.7, 0.3)
    people = {
        "arm": np.where(is_b, "B", "A"),
        "works": np.where(works, "yes", "no"),
        "hours": np.where(works, np.where(few, "few", "many"), "not applicable"),
        "media": np.where(is_b, "tv;web", "none of these"),
    }
    result = PLAN.estimate(PLAN.tally(PLAN.privatize(people, dn.seeded(6))))
    hours, media = result.cross("hours", by="arm"), result.cross("media: tv", by="arm")
    assert (np.abs(hours.shares[:, 0] - [0.3, 0.7]) < 5 * hours.stderr[:, 0]).all()
    assert (np.abs(media.shares[:, 0] - [0, 1]) < 5 * media.stderr[:, 0]).all()
    assert hours.test().p < 1e-6
    text = " ".join(PLAN.explain().split())
    assert re.search(
        r"'hours' by 'arm': shares of one of 2 groups are known to within [\d.]+ points if 75 % of", text
    )
    [hours_by_arm] = [one for one in expect_tables(PLAN.document) if one.of == "hours"]
    assert hours_by_arm.describe().endswith("That is if 75 % of people answer.")
    [works_by_arm] = [one for one in expect_tables(PLAN.document) if one.of == "works"]
    assert "of people answer" not in works_by_arm.describe()
    assert "'media: web' by 'arm': shares of one of 2 groups" in text
    assert count_people(PLAN.document, of="media: tv", by="arm", difference=0.05) > 1000


def test_secret_tables_say_what_to_ask_instead() -> None:
    asked: dict[str, Any] = {
        "works": ["yes", "no"],
        "hours": ["few", "many"],
        "media": dn.Several(["a", "b"]),
    }
    conditions = {"hours": {"works": "yes"}}
    for name, words in (
        ("media", "a yes/no question for each option"),
        ("hours", "with an answer for those"),
    ):
        with pytest.raises(dn.InvalidParameter, match=words):
            dn.Study(asked, epsilon=1.0, only_if=conditions, together=[("works", name)])
    plan = dn.Study(asked, epsilon=1.0, only_if=conditions, mechanism="sample").plan(people=400)
    people = [{"works": "yes", "hours": "few", "media": ["a"]}, {"works": "no", "media": []}] * 200
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    for name, words in (("media: a", "yes/no question"), ("hours", "to whom it does not apply")):
        with pytest.raises(dn.InvalidParameter, match=words):
            result.cross(name, by="works")


def test_split_reports_hold_tables_of_options() -> None:
    """Each option is reported beside the others, so that pairs are read through both."""
    asked: dict[str, Any] = {"sex": ["f", "m"], "media": dn.Several(["a", "b"])}
    plan = dn.Study(asked, epsilon=9.0, mechanism="split").plan(people=4000)
    rng = np.random.default_rng(7)
    is_f = rng.random(4000) < 0.5
    people = {"sex": np.where(is_f, "f", "m"), "media": np.where(is_f, "a", "b")}
    table = plan.cross(plan.privatize(people, dn.seeded(7)), "media: a", by="sex")
    assert (np.abs(table.shares[:, 0] - [1, 0]) < 5 * table.stderr[:, 0]).all()
