"""Metric values over rounds: a report that is kept for each value, and what changes cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.attack import success_after
from deniable.errors import InvalidParameter
from deniable.metric import MetricMechanism
from deniable.plan import InvalidPlan
from deniable.study import Plan
from spec.make.vectors import TOWN
from tests.client.test_remembering import crowd_words

PEOPLE = 2000
AGES = dn.Range(0, 8, step=1, privacy="metric", epsilon=0.3)
KEPT: dict[str, Callable[[], MetricMechanism]] = {
    "geometric": lambda: replace(dn.metric.geometric(7, 0.3), kept=True),
    "planar": lambda: kept_part(dn.Study({"home": TOWN}, rounds=3).plan(1000)),
}


def kept_part(plan: Plan) -> MetricMechanism:
    [part] = plan.document.parts
    assert isinstance(part, MetricMechanism)
    return part


def check_kept(m: MetricMechanism, words: dn.randomness.Words) -> None:
    """Reports of a value repeat, in any round; those of another value are independent of them."""
    values = np.arange(PEOPLE) % m.k
    one, two = m.privatize(values, words), m.privatize(values, words)
    assert np.array_equal(one, two), "the report was redrawn"
    other = m.privatize((values + 1) % m.k, words)
    assert not np.array_equal(one, other)
    assert np.array_equal(m.privatize(values, words), one)


@pytest.mark.parametrize("name", KEPT)
def test_the_report_of_a_value_repeats(name: str) -> None:
    check_kept(KEPT[name](), crowd_words())


@pytest.mark.parametrize("name", KEPT)
def test_a_report_that_is_drawn_again_is_seen(name: str) -> None:
    for m, words in ((KEPT[name](), crowd_words(right=False)), (once(KEPT[name]()), crowd_words())):
        with pytest.raises(AssertionError, match="the report was redrawn"):
            check_kept(m, words)


def once(m: MetricMechanism) -> MetricMechanism:
    """The same with fresh noise each time."""
    assert isinstance(m, dn.metric.Geometric | dn.metric.PlanarGeometric)
    return replace(m, kept=False)


@pytest.mark.parametrize("name", KEPT)
def test_losses(name: str) -> None:
    m = KEPT[name]()
    losses = m.losses(reports=5, rounds=3)
    assert losses.one_report == losses.same_value == losses.one_value_forever == once(m).loss()
    assert losses.changing_values == math.inf
    assert losses.changing_values_usual == pytest.approx(3 * m.loss())
    assert m.losses(rounds=1).changing_values == m.loss()
    assert m.loss_at(1) == once(m).loss_at(1)
    assert m != once(m)
    assert hash(m) != hash(once(m))


def test_a_change_composes_and_shows() -> None:
    """By enumeration: two values lose the sum at each distance, and some sequences exclude others."""
    m = dn.metric.geometric(3, 0.4)
    rows = m.law.exact().weights

    def law(first: int, second: int) -> dict[tuple[int, int], int]:
        pairs = itertools.product(range(4), repeat=2)
        if first == second:
            return {(y, z): rows[first][y] * (y == z) for y, z in pairs}
        return {(y, z): rows[first][y] * rows[second][z] for y, z in pairs}

    moves = list(itertools.permutations(range(4), 2))
    for (a, b), (c, d) in itertools.product(moves, moves):
        one, other = law(a, b), law(c, d)
        worst = max(math.log(one[y] / other[y]) for y in one)
        assert worst <= m.loss_at(abs(a - c)) + m.loss_at(abs(b - d)) + 1e-12
    stays, moved = law(0, 0), law(0, 1)
    assert any(moved[y] and not stays[y] for y in stays)  # so that no bound holds


def test_many_reports_say_what_one_does() -> None:
    m = KEPT["geometric"]()
    assert success_after(m, 50) == pytest.approx(success_after(once(m), 1))
    assert success_after(once(m), 50, memoized=False) > success_after(m, 50) + 0.05


def test_a_plan_states_losses_per_unit_and_again() -> None:
    asked = {"age": AGES, "smokes": ["yes", "no"], "hours": dn.Number(0, 60)}
    plan = dn.Study(asked, epsilon_first=0.5, epsilon_forever=1.0, rounds=3).plan(people=1000)
    assert [part.repeated for part in plan.document.parts] == [True] * 3
    loss = plan.verify()
    assert loss.repeated is not None
    assert loss.units[0].loss <= 0.3
    assert loss.rest is not None
    assert loss.rest <= 0.5
    assert loss.repeated.one_value_forever == pytest.approx(2.1)
    again = Plan.from_json(plan.to_json())
    assert again.document == plan.document
    assert kept_part(dn.Study({"age": AGES}, rounds=2).plan(10)).repeated
    client = dn.Client(dn.Study({"age": AGES}, rounds=3).plan(10), secret=bytes(32), plan_cap=math.inf)
    bodies = [client.report({"age": 4}, round=number).body for number in (1, 2, 3)]
    assert len(set(bodies)) == 1


def test_what_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="leave the study's epsilons out"):
        dn.Study({"age": AGES}, epsilon_first=0.5, epsilon_forever=1.0)
    with pytest.raises(InvalidParameter, match="give epsilon_first and epsilon_forever"):
        dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0, rounds=3)
    with pytest.raises(InvalidParameter, match="'age' cannot have fresh noise in every round"):
        Plan.of(
            {"age": AGES, "b": ["x", "y"]},
            dn.records.Split((dn.metric.geometric(7, 0.3), dn.rounds.l_grr(2, 0.5, 1.0))),
            10,
            rounds=2,
        )
    with pytest.raises((InvalidParameter, InvalidPlan), match="rounds"):
        Plan.of({"age": AGES}, dn.metric.geometric(7, 0.3), 10, rounds=2)
