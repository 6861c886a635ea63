"""Composition is exact; the bound for shuffled reports is never above what is published and never below what
is true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.client import composed_loss, composed_ratio
from deniable.exact import exp_down
from deniable.plan import Plan, shuffle, shuffled
from deniable.records import rsfd, smp, spl
from deniable.rounds import l_grr

Law = dict[tuple[int, ...], Fraction]


def test_ratios_of_independent_reports_multiply() -> None:
    first, second = dn.grr(5, 1.0), dn.oue(20, 0.5)
    assert composed_ratio([first, second]) == first.ratio * second.ratio
    assert 1.5 - 1e-9 < composed_loss([first, second]) <= 1.5
    assert composed_loss([]) == 0.0
    assert composed_loss([first]) == first.loss()


def test_a_split_record_is_the_composition_of_its_parts() -> None:
    mechanism = spl([3, 5, 4], 1.0, "grr")
    assert composed_ratio(mechanism.mechanisms) == mechanism.ratio("record")


def test_two_reports_enumerated() -> None:
    """Every pair of reports of two mechanisms, from every pair of people: the largest ratio is the product of
    the two.
    """
    one, two = dn.grr(3, 0.7), dn.grr(2, 1.1)

    def chances(mechanism: dn.Direct, value: int) -> list[Fraction]:
        p, q = mechanism.law.exact_p, mechanism.law.exact_q
        return [p if report == value else q for report in range(mechanism.k)]

    worst = Fraction(0)
    for v, w, x, y in product(range(3), range(2), range(3), range(2)):
        for a, b in product(range(3), range(2)):
            this = chances(one, v)[a] * chances(two, w)[b]
            other = chances(one, x)[a] * chances(two, y)[b]
            worst = max(worst, this / other)
    composed = composed_ratio([one, two])
    assert worst <= composed < worst * (1 + Fraction(1, 10**15))  # the bias of `below` is counted


def test_record_mechanisms_compose_per_record_and_per_attribute() -> None:
    sampled, faked = smp([3, 5], 1.0, "oue"), rsfd([3, 5], 1.0, "oue-z")
    assert composed_ratio([sampled, faked]) == sampled.ratio() * faked.ratio()
    assert composed_ratio([sampled, faked], per="attribute") == sampled.ratio("attribute") * faked.ratio(
        "attribute"
    )
    assert composed_loss([sampled, faked], per="attribute") < composed_loss([sampled, faked]) <= 2.0


def test_repeated_reports_compose_by_their_ratio_after_t() -> None:
    kept = l_grr(4, epsilon_first=0.5, epsilon_forever=1.0)
    assert composed_loss([kept.ratio_after(5), dn.grr(3, 1.0)]) < composed_loss(
        [kept.ratio] * 5 + [dn.grr(3, 1.0)]
    )


@given(st.lists(st.fractions(min_value=1, max_value=50, max_denominator=10**6), min_size=1, max_size=12))
@settings(max_examples=30)
def test_the_composed_loss_is_rounded_up(ratios: list[Fraction]) -> None:
    loss = composed_loss(ratios)
    exact = math.prod(ratios)
    with localcontext() as context:
        context.prec = 60
        truth = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()
        assert Decimal(loss) >= truth - Decimal(10) ** -55
        assert Decimal(loss) - truth <= Decimal(2) ** -50 * max(Decimal(1), truth)


@pytest.mark.parametrize("wrong", [1.0, "grr", dn.she(3, 1.0), Fraction(1, 2)])
def test_what_has_no_exact_ratio_is_refused(wrong: object) -> None:
    with pytest.raises(dn.InvalidParameter):
        composed_loss([wrong])  # type: ignore[list-item]


def hockey_stick(one: Law, other: Law, factor: Fraction) -> Fraction:
    """The smallest delta for e^epsilon = factor, in one direction."""
    return sum(
        (
            max(chance - factor * other.get(report, Fraction(0)), Fraction(0))
            for report, chance in one.items()
        ),
        Fraction(0),
    )


def histogram(people: Sequence[dict[int, Fraction]], kinds: int) -> Law:
    """The exact law of how many reports of each kind a shuffled crowd sends."""
    law: Law = {(0,) * kinds: Fraction(1)}
    for person in people:
        grown: Law = {}
        for counts, chance in law.items():
            for kind, its in person.items():
                key = tuple(count + (i == kind) for i, count in enumerate(counts))
                grown[key] = grown.get(key, Fraction(0)) + chance * its
        law = grown
    return law


def randomized(value: int, k: int, e: Fraction) -> dict[int, Fraction]:
    return {report: (e if report == value else Fraction(1)) / (e + k - 1) for report in range(k)}


def clones(n: int, e: Fraction) -> tuple[Law, Law]:
    """The two crowds of the reduction, exactly: nobody's report is of kind 2."""
    other = {0: 1 / (2 * e), 1: 1 / (2 * e), 2: 1 - 1 / e}
    return (
        histogram([randomized(0, 2, e), *[other] * (n - 1)], 3),
        histogram([randomized(1, 2, e), *[other] * (n - 1)], 3),
    )


@pytest.mark.parametrize(("local", "n"), [(0.3, 2), (0.3, 12), (1.0, 1), (1.0, 7), (1.0, 14), (2.5, 12)])
def test_the_clones_delta_is_that_of_full_enumeration(local: float, n: int) -> None:
    one, other = clones(n, exp_down(local))
    found = shuffle._Clones.among(local, n)
    for part in (0.1, 0.5, 0.9):
        epsilon = local * part
        truth = float(hockey_stick(one, other, exp_down(epsilon)))
        assert float(hockey_stick(other, one, exp_down(epsilon))) == pytest.approx(truth, rel=1e-9)
        assert truth <= found.delta(epsilon) <= truth * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("local", [0.2, 1.0, 2.0])
@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 25), (3, 8)])
@pytest.mark.parametrize("delta", [1e-1, 1e-3])
def test_no_better_than_randomized_response_really_is(local: float, k: int, n: int, delta: float) -> None:
    """GRR, shuffled, for one person's change in a crowd that is against them: its delta at the stated epsilon
    is within.
    """
    e = exp_down(local)
    stated = shuffled(local, n, delta)
    for crowd in range(k):
        rest = [randomized(crowd, k, e)] * (n - 1)
        one = histogram([randomized(0, k, e), *rest], k)
        other = histogram([randomized(1, k, e), *rest], k)
        for this, that in ((one, other), (other, one)):
            assert hockey_stick(this, that, exp_down(stated.epsilon)) <= Fraction(delta) * (
                1 + Fraction(1, 10**12)
            )


def test_the_enumeration_fails_a_bound_that_is_too_good() -> None:
    """The same check refuses 0.7 of the stated epsilon: it is a check, and the bound is not far from the
    truth.
    """
    e, n, delta = exp_down(1.0), 25, 1e-3
    too_good = exp_down(0.7 * shuffled(1.0, n, delta).epsilon)
    rest = [randomized(0, 2, e)] * (n - 1)
    one, other = histogram([randomized(0, 2, e), *rest], 2), histogram([randomized(1, 2, e), *rest], 2)
    assert hockey_stick(one, other, too_good) > delta


def test_the_closed_form_at_a_known_point() -> None:
    spread = 8 * math.sqrt(math.e * math.log(4e6)) / 1000 + 8 * math.e / 1e6
    expected = math.log(1 + (math.e - 1) / (math.e + 1) * spread)
    found = shuffled(1.0, 1_000_000, 1e-6, bound="closed")
    assert found.epsilon == pytest.approx(expected, rel=1e-9)
    assert found.epsilon == pytest.approx(0.0234968, abs=1e-6)
    assert expected <= found.epsilon
    assert "closed" in found.bound


@pytest.mark.parametrize("local", [0.01, 0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize(
    ("n", "delta"), [(200, 1e-3), (2000, 1e-6), (20_000, 1e-6), (10**6, 1e-7), (10**8, 1e-10)]
)
def test_the_numerical_bound_is_never_above_the_closed_one(local: float, n: int, delta: float) -> None:
    numerical, closed = shuffled(local, n, delta), shuffled(local, n, delta, bound="closed")
    assert 0 < numerical.epsilon <= closed.epsilon <= local
    if local > math.log(n / (16 * math.log(2 / delta))):
        assert closed.epsilon == local
        assert closed.bound.startswith("none")


def test_the_edge_of_the_closed_form() -> None:
    for n, delta in ((10_000, 1e-6), (10**6, 1e-9)):
        edge = math.log(n / (16 * math.log(2 / delta)))
        inside = shuffled(edge - 1e-9, n, delta, bound="closed")
        assert inside.epsilon < edge
        assert shuffled(edge - 1e-9, n, delta).epsilon <= inside.epsilon
        assert shuffled(edge + 1e-9, n, delta, bound="closed").epsilon == edge + 1e-9


def test_more_people_hide_better_and_a_smaller_delta_costs() -> None:
    by_people = [shuffled(1.0, n).epsilon for n in (1, 10, 100, 1000, 10_000, 100_000)]
    assert by_people == sorted(by_people, reverse=True)
    by_delta = [shuffled(1.0, 10_000, delta).epsilon for delta in (1e-3, 1e-5, 1e-7, 1e-9)]
    assert by_delta == sorted(by_delta)
    by_loss = [shuffled(local, 10_000).epsilon for local in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)]
    assert by_loss == sorted(by_loss)


def test_alone_nobody_hides() -> None:
    assert 1.0 - 1e-4 < shuffled(1.0, 1).epsilon <= 1.0
    assert shuffled(800.0, 10**6).epsilon == 800.0


def test_coarser_groups_only_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = shuffled(1.0, 2000).epsilon
    monkeypatch.setattr(shuffle, "_GROUPS", 32)
    assert fine <= shuffled(1.0, 2000).epsilon < 1.1 * fine


@pytest.mark.parametrize(
    ("epsilon", "n", "delta"), [(0.0, 10, 1e-6), (1.0, 0, 1e-6), (1.0, 10, 0.0), (1.0, 10, 1.0)]
)
def test_what_makes_no_sense_is_refused(epsilon: float, n: int, delta: float) -> None:
    with pytest.raises(dn.InvalidParameter):
        shuffled(epsilon, n, delta)
    with pytest.raises(dn.InvalidParameter):
        shuffled(1.0, 10, 1e-6, bound="best")  # type: ignore[arg-type]


def test_plans_that_one_person_answers_add_up() -> None:
    asked = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
    once = Plan.of(asked, smp([3, 2], 1.0, "grr"), people=1000)
    faked = Plan.of(asked, rsfd([3, 2], 0.5, "grr"), people=1000)
    again = Plan.of({"color": asked["color"]}, l_grr(3, 0.5, 1.5), people=1000, rounds=5)
    assert composed_loss([once, faked]) == pytest.approx(1.5, abs=2e-9)
    assert composed_loss([once, faked], per="attribute") == pytest.approx(
        once.loss.attribute + faked.loss.attribute, abs=1e-12
    )
    assert again.loss.repeated is not None
    total = composed_loss([once, again])
    assert once.loss.record + again.loss.repeated.one_value_forever <= total + 1e-12
    assert total == pytest.approx(2.5, abs=2e-9)


def test_a_mechanism_that_answers_an_unknown_number_of_times_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="how often a repeated mechanism answers"):
        composed_loss([l_grr(3, 0.5, 1.0)])
    with pytest.raises(dn.InvalidParameter, match="per is"):
        composed_loss([dn.grr(3, 1.0)], per="x")  # type: ignore[arg-type]


def test_a_huge_crowd_takes_no_search() -> None:
    assert shuffled(1.0, 10**15).epsilon <= 1e-9
