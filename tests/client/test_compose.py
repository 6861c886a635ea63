"""Composition is exact."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.client import composed_loss, composed_ratio
from deniable.records import rsfd, smp, spl
from deniable.rounds import l_grr
from deniable.study import Plan


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

    def chances(mechanism: dn.mechanisms.Direct, value: int) -> list[Fraction]:
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


@pytest.mark.parametrize("wrong", [1.0, "grr", Fraction(1, 2)])
def test_what_has_no_exact_ratio_is_refused(wrong: object) -> None:
    with pytest.raises(dn.InvalidParameter):
        composed_loss([wrong])  # type: ignore[list-item]


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
    assert once.loss.record + again.loss.repeated.changing_values <= total + 1e-12
    assert total == pytest.approx(once.loss.record + again.loss.counted, abs=2e-9)
    unbounded = Plan.of({"color": asked["color"]}, dn.rounds.dbitflip(3, 1.0, bits=2), people=1000, rounds=2)
    with pytest.raises(dn.InvalidParameter, match="if answers change"):
        composed_loss([once, unbounded])


def test_a_mechanism_that_answers_an_unknown_number_of_times_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="how often a repeated mechanism answers"):
        composed_loss([l_grr(3, 0.5, 1.0)])
    with pytest.raises(dn.InvalidParameter, match="per is"):
        composed_loss([dn.grr(3, 1.0)], per="x")  # type: ignore[arg-type]
