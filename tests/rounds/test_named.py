"""The names people know for asking again: the papers' tables, parameters and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.records import Sample
from deniable.rounds import Memoized, Repeated, l_grr, l_osue, l_oue, l_soue, l_sue, loloha

ALL: dict[str, Callable[[int, float, float], Repeated]] = {
    "l-grr": l_grr,
    "l-grr, as published": lambda k, first, forever: l_grr(k, first, forever, "published"),
    "l-sue": l_sue,
    "l-oue": l_oue,
    "l-osue": l_osue,
    "l-soue": l_soue,
    "loloha": loloha,
    "loloha, as published": lambda k, first, forever: loloha(k, first, forever, calibration="published"),
}


# Parameters, by the papers' formulas.


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize(("first", "forever"), [(0.3, 1.0), (1.0, 2.0), (0.5, 4.0), (1.9, 2.0)])
def test_parameters_of_l_grr(k: int, first: float, forever: float) -> None:
    a, c = math.exp(forever), math.exp(first)
    exact, published = l_grr(k, first, forever), l_grr(k, first, forever, "published")
    for m in (exact, published):
        assert m.first.law.p == pytest.approx(a / (a + k - 1), rel=1e-12)
        assert m.first.law.q == pytest.approx(1 / (a + k - 1), rel=1e-12)
    assert exact.second.law.p == pytest.approx(
        (c * (a + k - 2) - (k - 1)) / ((a - 1) * (c + k - 1)), rel=1e-12
    )
    assert published.second.law.p == pytest.approx((c * a - 1) / ((k - 1) * (a - c) + c * a - 1), rel=1e-12)

    def gain(epsilon: float) -> float:
        return math.expm1(epsilon) / (math.exp(epsilon) + k - 1)

    assert exact.second.law.gain == pytest.approx(gain(first) / gain(forever), rel=1e-12)


@pytest.mark.parametrize(("first", "forever"), [(0.3, 1.0), (1.0, 2.0), (0.5, 4.0), (0.05, 0.1)])
def test_parameters_of_unary_chains(first: float, forever: float) -> None:
    a, c, s, u = math.exp(forever), math.exp(first), math.exp(forever / 2), math.exp(first / 2)
    osue, sue = l_osue(7, first, forever), l_sue(7, first, forever)
    assert osue.first.law.p == 0.5
    assert osue.first.law.q == pytest.approx(1 / (a + 1), rel=1e-12)
    assert osue.second.law.p == pytest.approx((c * a - 1) / ((c + 1) * (a - 1)), rel=1e-12)
    assert sue.first.law.p == pytest.approx(s / (s + 1), rel=1e-12)
    assert sue.second.law.p == pytest.approx((u * s - 1) / ((u + 1) * (s - 1)), rel=1e-12)
    for m in (osue, sue):
        assert m.second.law.exact_q == 1 - m.second.law.exact_p
    for made in (l_oue(7, first, forever), l_soue(7, first, forever)):
        p1, q1 = made.first.law.p, made.first.law.q
        assert made.second.law.p == 0.5
        coefficients = [
            (c - 1) * (1 - p1) * (1 - q1),
            (1 - p1) * (1 - q1 / 2) - p1 / 2 * (1 - q1) - c * ((1 - q1) * (1 - p1 / 2) - q1 / 2 * (1 - p1)),
            p1 / 2 * (1 - q1 / 2) - c * q1 / 2 * (1 - p1 / 2),
        ]
        assert made.second.law.q == pytest.approx(min(np.roots(coefficients).real), rel=1e-9)


@pytest.mark.parametrize(("first", "forever"), [(0.3, 1.0), (1.0, 2.0), (0.5, 4.0)])
def test_one_report_is_the_one_round_protocol(first: float, forever: float) -> None:
    """So that its error depends on epsilon_first only."""
    c, u = math.exp(first), math.exp(first / 2)
    for k in (2, 5, 50):
        for two, one, printed in (
            (l_grr(k, first, forever), dn.grr(k, first), (c + k - 2) / (c - 1) ** 2),
            (l_osue(k, first, forever), dn.oue(k, first), 4 * c / (c - 1) ** 2),
            (l_sue(k, first, forever), dn.sue(k, first), u / (u - 1) ** 2),
        ):
            assert two.law.p == pytest.approx(one.law.p, abs=1e-12)
            assert two.law.q == pytest.approx(one.law.q, abs=1e-12)
            assert two.law.variance(1) == pytest.approx(printed, rel=1e-12)
    m = loloha(100, first, forever)
    assert m.law.p == pytest.approx(dn.mechanisms.lh(100, first, m.g).law.p, abs=1e-12)
    assert m.law.exact_q == pytest.approx(dn.mechanisms.lh(100, first, m.g).law.q, abs=1e-12)
    assert m.law.variance(1) == pytest.approx(1 / m.g * (1 - 1 / m.g) / (m.law.p - 1 / m.g) ** 2, rel=1e-7)


# The tables.


@pytest.mark.parametrize(
    ("k", "forever", "stated", "true"),
    [(100, 2.0, 0.6, 0.071), (100, 2.0, 1.2, 0.243), (100, 4.0, 2.4, 1.633), (10, 1.0, 0.6, 0.327)],
)
def test_what_the_published_calibration_spends(k: int, forever: float, stated: float, true: float) -> None:
    m = l_grr(k, stated, forever, "published")
    assert m.loss() == pytest.approx(true, abs=5.1e-4)
    # the same mechanism as the exact one at that smaller budget
    assert m.second.law.p == pytest.approx(l_grr(k, m.loss(), forever).second.law.p, rel=1e-9)


def test_one_attribute_each_and_its_losses() -> None:
    mechanism = Sample((l_grr(3, 1.0, 2.0), l_osue(50, 1.0, 2.0), l_grr(8, 1.0, 2.0)))
    assert mechanism.reported == 1
    assert 1.0 - 1e-9 < mechanism.loss() <= 1.0
    assert 1.0 - 1e-9 < mechanism.loss("attribute") <= 1.0
    for part in mechanism.mechanisms:
        assert isinstance(part, Memoized)
        assert 2.0 - 1e-9 < part.losses().one_value_forever <= 2.0


def test_several_reports_of_one_value() -> None:
    """The printed losses of 1, 2, 3 and 5 reports, at 1 for one and 2 for ever."""
    m = l_osue(10, 1.0, 2.0)
    found = [m.losses(reports=reports).same_value for reports in (1, 2, 3, 5)]
    assert found == pytest.approx([1.0, 1.642, 1.899, 1.994], abs=5.1e-4)


@pytest.mark.parametrize("forever", [0.5, 1.0, 2.0, 4.0])
def test_what_is_usually_stated_for_changing_values(forever: float) -> None:
    """(distinct values kept) times epsilon_forever: at most k of them, or g buckets."""
    for m, kept in (
        (l_grr(6, 0.3, forever), 6),
        (l_osue(6, 0.3, forever), 6),
        (loloha(60, 0.3, forever, g=3), 3),
    ):
        for rounds in (1, 2, 5, 6, 100):
            stated = m.losses(rounds=rounds).changing_values_usual
            assert stated == pytest.approx(min(rounds, kept) * forever, rel=1e-9)


# LOLOHA.


@pytest.mark.parametrize("first", [0.1, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_number_of_buckets(first: float) -> None:
    """round(e^epsilon_first + 1), which no neighbor errs less than by more than a little; g can be given."""
    m = loloha(500, first, 4.0)
    assert m.g == max(2, round(math.exp(first) + 1))
    best = min(loloha(500, first, 4.0, g).law.error(1, 0.0) for g in range(2, 2 * m.g + 2))
    assert m.law.error(1, 0.0) <= 1.005 * best
    assert loloha(500, first, 4.0, g=9).g == 9
    if first >= 0.6:
        assert m.law.error(1, 0.0) <= 1.02 * l_osue(500, first, 4.0).law.error(1, 0.0)


def test_two_buckets_are_exact_either_way() -> None:
    one, two = loloha(50, 0.5, 1.0, 2), loloha(50, 0.5, 1.0, 2, "published")
    assert one.buckets.second.law.p == pytest.approx(two.buckets.second.law.p, abs=1e-15)


# Budgets are kept, anywhere.


@pytest.mark.parametrize("name", ALL)
def test_budgets_are_kept_anywhere(name: str) -> None:
    @settings(max_examples=25)
    @given(
        st.integers(2, 300),
        st.floats(math.log(1e-2), math.log(8)).map(math.exp),
        st.floats(0.01, 0.59 if name in ("l-oue", "l-soue") else 0.99),
    )
    def check(k: int, forever: float, share: float) -> None:
        m = ALL[name](k, share * forever, forever)
        assert m.loss() <= share * forever
        losses = m.losses(reports=3, rounds=3)
        assert losses.one_report == m.loss()
        assert losses.one_report <= losses.same_value <= losses.one_value_forever <= forever
        assert losses.one_value_forever > forever - 1e-9
        assert losses.changing_values >= losses.same_value - 1e-9
        if "published" not in name:
            assert m.loss() > share * forever - 1e-9
        assert m.law.exact_p > m.law.exact_q

    check()


# What is refused.


@pytest.mark.parametrize("name", ALL)
def test_the_first_budget_is_below_the_second(name: str) -> None:
    make: Any = ALL[name]
    for first, forever in ((1.0, 1.0), (2.0, 1.0)):
        with pytest.raises(
            dn.InvalidParameter, match=rf"must be below epsilon_forever, got {first} and {forever}"
        ):
            make(5, first, forever)
    with pytest.raises(dn.InvalidParameter, match="too close to epsilon_forever"):
        make(5, 0.9999, 1.0)
    wrong: list[Any] = [
        (0.0, 1.0),
        (-1.0, 1.0),
        (0.5, float("inf")),
        (float("nan"), 1.0),
        ("0.5", 1.0),
        (0.5, None),
    ]
    for first, forever in wrong:
        with pytest.raises(dn.InvalidParameter, match="epsilon must be a positive number"):
            make(5, first, forever)
    with pytest.raises(dn.InvalidParameter, match="k, the number of values"):
        make(1, 0.5, 1.0)


@pytest.mark.parametrize("forever", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_the_limits_of_a_fair_second_coin(forever: float) -> None:
    """epsilon_first can be at most ln((2 a + 1) / 3) for L-OUE and ln(s (2 s + 1) / (s + 2)) for L-SOUE; the
    limit is named.
    """
    a, s = math.exp(forever), math.exp(forever / 2)
    for make, limit in ((l_oue, math.log((2 * a + 1) / 3)), (l_soue, math.log(s * (2 * s + 1) / (s + 2)))):
        assert make(4, 0.999999 * limit, forever).loss() == pytest.approx(0.999999 * limit, abs=1e-9)
        message = (
            rf"epsilon_first must be at most {limit:.4g} for this pair of rounds.*l_osue has no such limit"
        )
        with pytest.raises(dn.InvalidParameter, match=message):
            make(4, 1.000001 * limit, forever)
        assert limit > 0.6 * forever
    if forever == 0.1:
        assert math.log((2 * a + 1) / 3) == pytest.approx(2 / 3 * forever, rel=0.03)


@pytest.mark.parametrize("make", [l_grr, loloha])
def test_an_unknown_calibration_is_refused(make: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="'exact' or 'published', got 'exactly'"):
        make(5, 0.5, 1.0, calibration="exactly")


@pytest.mark.parametrize("g", [1, 0, -3, 2.5, "3"])
def test_a_wrong_number_of_buckets_is_refused(g: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="g, the number of buckets,"):
        loloha(10, 0.5, 1.0, g)


def test_the_buckets_that_fit_are_capped_and_too_many_are_named() -> None:
    most = 1 << 24
    assert loloha(10, 16.0, 20.0).g == round(math.exp(16.0) + 1) < most
    made = loloha(10, 20.0, 25.0)
    assert made.g == most
    assert 20 - 1e-9 < made.loss() <= 20
    assert made.law.variance(1) < loloha(10, 20.0, 25.0, g=most >> 1).law.variance(1)
    with pytest.raises(
        dn.InvalidParameter,
        match=f"g, the number of buckets, must be an integer from 2 to {most}, got {most + 1}",
    ):
        loloha(10, 20.0, 25.0, g=most + 1)
