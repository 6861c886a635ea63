"""Sampling with unequal chances: who reports what, and all that depends on how often that is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.choose import Objective
from deniable.choose.candidate import Considered
from deniable.records.sample import draw_attributes, draw_weighted
from deniable.study import Plan
from tests import statistics
from tests.records.test_records import compile_loops

WEIGHTS = (5, 1, 3)
KS = (3, 2, 4)


def of(*weights: int, reported: int = 1) -> dn.records.Sample:
    parts = tuple(dn.grr(2 + j, 1.0) for j in range(3))
    return dn.records.Sample(parts, reported, weights)


def test_weights_have_one_form() -> None:
    assert of(6, 2, 4) == of(3, 1, 2)
    assert of(7, 7, 7) == of(1, 1, 1) == dn.records.Sample(of(3, 1, 2).parts)
    assert of(7, 7, 7).weights is None
    assert of(1 << 20, 1 << 19, 1 << 19).weights == (2, 1, 1)
    assert dn.smp(KS, 1.0, weights=range(2, 8, 2)).weights == (1, 2, 3)
    assert [of(3, 1, 2).chance(j) for j in range(3)] == [Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((1, 2), "there are 3 attributes, got 2 weights"),
        ((0, 1, 2), "a weight, .* must be an integer of at least 1, got 0"),
        ((1.0, 1, 2), "a weight, .* got 1.0"),
        ((True, 1, 2), "a weight, .* got True"),
        ((1, 1, 1 << 16), "weights add up to at most 65,536 .* got 65,538; round them"),
        ("312", "weights are a list of whole numbers, got '312'"),
        (3, "weights are a list of whole numbers, got 3"),
    ],
)
def test_other_weights_are_refused_in_words(weights: Any, said: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=said) as refused:
        dn.records.Sample(of(3, 1, 2).parts, 1, weights)
    assert refused.value.reason == "weights"


def test_weights_are_for_one_attribute_a_report() -> None:
    with pytest.raises(dn.InvalidParameter, match="one attribute a report, got reported = 2; leave them out"):
        of(3, 1, 2, reported=2)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_equal_weights_draw_what_none_draw(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits from the same words; and the loop of a large batch draws what the one for few draws."""
    compile_loops(monkeypatch, compiled)
    for d in (2, 3, 300):
        rows = dn.seeded(1).rows(1000, 1)
        assert np.array_equal(draw_weighted(rows, (1,) * d), draw_attributes(rows, d))
    words = dn.seeded(1).take(1000)
    drawn = draw_weighted(dn.seeded(1).rows(1000, 1), WEIGHTS)[:, 0]
    ends = np.cumsum(WEIGHTS)
    assert drawn.tolist() == [int(np.searchsorted(ends, int(word) * 9 >> 64, "right")) for word in words]


def test_a_device_draws_its_attribute_from_plan_and_secret_alone() -> None:
    """The same in every round and for any answers; over many devices as often as the weights say."""
    asked = {f"question {j}": [str(v) for v in range(k)] for j, k in enumerate(KS)}
    parts = tuple(dn.rounds.l_grr(k, 0.5, 1.0) for k in KS)
    plan = Plan.of(asked, dn.records.Sample(parts, weights=WEIGHTS), 1000, rounds=2)
    held = []
    for number in range(300):
        client = dn.Client(plan, secret=number.to_bytes(16), plan_cap=100.0)
        first = client.report(dict.fromkeys(asked, "0"), 1).body[0]
        second = client.report(dict.fromkeys(asked, "1"), 2).body[0]
        assert first == second
        held.append(first)
    seen = np.bincount(held, minlength=3)
    statistics.goodness_of_fit(seen, np.array(WEIGHTS) / 9 * 300, "attributes of devices")


def test_the_loss_does_not_depend_on_the_weights() -> None:
    for ks in (KS, (2, 2, 2)):
        alike = dn.smp(ks, [0.5, 1.0, 2.0], "grr")
        weighted = dn.smp(ks, [0.5, 1.0, 2.0], "grr", weights=WEIGHTS)
        assert weighted.ratio() == alike.ratio()
        assert weighted.ratio("attribute") == alike.ratio("attribute")


def test_a_plan_says_the_weights_and_keeps_them() -> None:
    asked = {"vote": ["a", "b", "c"], "smokes": ["yes", "no"], "region": ["n", "e", "s", "w"]}
    plan = Plan.of(asked, dn.smp(KS, 1.0, "grr", weights=WEIGHTS), 1000)
    assert Plan.from_json(plan.to_json()) == plan
    assert '"weights":[5,1,3]' in plan.to_json()
    assert "('vote' 55.6 %, 'smokes' 11.1 %, 'region' 33.3 %)" in " ".join(plan.explain().split())
    assert "weights" not in Plan.of(asked, dn.smp(KS, 1.0, "grr"), 1000).to_json()
    assert "drawn at random (55.6 %, 11.1 %, 33.3 %) and named" in str(plan.mechanism)
    many = dn.smp([2] * 9, 1.0, "grr", weights=[*[1] * 8, 2])
    assert "10.0 %, ...) and named" in str(many)


def test_expected_errors_are_those_of_the_people_who_are_drawn() -> None:
    """Computed for a plan, and seen in simulated people; those of equal chances would be noticed."""
    mechanism = dn.smp(KS, 2.0, "grr", weights=WEIGHTS)
    row = Considered.of(mechanism, "SMP", ["grr"] * 3, 9000, Objective(people="answered"))
    parts = enumerate(mechanism.mechanisms)
    assert row.errors == pytest.approx([part.law.error(1000 * WEIGHTS[j]) for j, part in parts])
    people = 9000 * 9
    tallies = mechanism.tally(mechanism.privatize(np.zeros((people, len(KS)), dtype=np.int64), dn.seeded(5)))
    for tally, weight in zip(tallies, WEIGHTS, strict=True):
        spread = math.sqrt(people * weight / 9 * (1 - weight / 9))
        assert abs(tally.n - 9000 * weight) < 5 * spread
        assert abs(tally.n - 27_000) > 5 * spread or weight == 3


def test_an_attackers_profile_is_that_of_all_ways_to_draw() -> None:
    """Against a sum over all sequences of attributes, where each collection draws anew or keeps the first."""
    weights = (3, 1, 2)
    mechanism = dn.records.Sample(tuple(dn.grr(k, 1.5) for k in KS), weights=weights)
    found = dn.attack.success(mechanism, collections=2)
    chances = [float(mechanism.chance(j)) for j in range(3)]
    for one, part, chance in zip(found.attributes, mechanism.mechanisms, chances, strict=True):
        assert one.report == pytest.approx(chance * part.success() + (1 - chance) / part.k)
    averaged = next(one for one in found.profiles if not one.memoized)
    after = [
        [1 / part.k, *(dn.attack.success_after(part, times, memoized=False) for times in (1, 2))]
        for part in mechanism.mechanisms
    ]
    whole = known = right = 0.0
    for draws in itertools.product(range(3), repeat=2):
        chance = math.prod(chances[j] for j in draws)
        times = [draws.count(j) for j in range(3)]
        whole += chance * math.prod(after[j][m] for j, m in enumerate(times))
        known += chance * math.prod(after[j][m] for j, m in enumerate(times) if m)
        right += chance * math.fsum(after[j][m] for j, m in enumerate(times) if m)
    assert averaged.whole_record == pytest.approx(whole)
    assert averaged.all_reported == pytest.approx(known)
    assert averaged.right == pytest.approx(right)
    assert not any(one.asked == "new" for one in found.profiles)


def test_a_kept_attribute_is_guessed_as_often_as_it_is_drawn() -> None:
    weights = (3, 1, 2)
    parts = tuple(dn.rounds.l_grr(k, 1.0, 2.0) for k in KS)
    kept = next(
        one for one in dn.attack.success(dn.records.Sample(parts, weights=weights), collections=3).profiles
    )
    after = [dn.attack.success_after(part, 3, memoized=True) for part in parts]
    expected = math.fsum(weight / 6 * one for weight, one in zip(weights, after, strict=True))
    assert kept.memoized
    assert kept.all_reported == pytest.approx(expected)
    assert kept.right == pytest.approx(expected)
    blind = [1 / k for k in KS]
    whole = math.fsum(weights[j] / 6 * after[j] * math.prod(blind) / blind[j] for j in range(3))
    assert kept.whole_record == pytest.approx(whole)
