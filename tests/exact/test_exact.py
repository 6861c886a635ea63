"""Roundings have a direction: checked against decimals of twice as many digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.exact import exp_down, log_up, positive_epsilon, solve, whole_number

PRECISE = Context(prec=200, Emax=999_999, Emin=-999_999)
MANY = settings(max_examples=150)


def precise_log(ratio: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(PRECISE)


@MANY
@given(st.floats(1e-12, 500))
@example(1e-300)
@example(1000.0)
def test_exp_down_is_just_below(epsilon: float) -> None:
    exact = Fraction(Decimal(epsilon).exp(PRECISE))
    assert exp_down(epsilon) < exact
    assert 1 - exp_down(epsilon) / exact < Fraction(1, 10**50)


@MANY
@given(st.integers(1, 2**130), st.integers(1, 2**130))
@example(2**64, 2**64 - 1)
@example(2**64 + 1, 2**64)
@example(3 * 2**64, 1)
def test_log_up_is_the_next_float(numerator: int, denominator: int) -> None:
    ratio = Fraction(max(numerator, denominator), min(numerator, denominator))
    stated = log_up(ratio)
    if ratio == 1:
        assert stated == 0
    else:
        exact = precise_log(ratio)
        assert Decimal(stated) >= exact
        assert Decimal(math.nextafter(stated, -math.inf)) < exact


@MANY
@given(st.floats(1e-10, 40))
def test_log_up_undoes_exp_down(epsilon: float) -> None:
    """A ratio at the very edge of a budget does not exceed it."""
    assert log_up(exp_down(epsilon)) <= epsilon


@MANY
@given(st.floats(1e-3, 30), st.integers(2, 1000))
def test_solve_finds_the_last_threshold_in_the_budget(epsilon: float, k: int) -> None:
    full = 2**64

    def ratio(keep: int) -> Fraction:
        return Fraction(keep * (k - 1), full - keep)

    found = solve(ratio, epsilon, full // k + 1, full - 1)
    budget = Fraction(Decimal(epsilon).exp(PRECISE))
    assert ratio(found) <= budget < ratio(found + 1)
    assert dn.law.Law.solve(ratio, epsilon, full // k + 1, full - 1) == found


def test_solve_refuses_what_no_threshold_reaches() -> None:
    def ratio(t: int) -> Fraction:
        return Fraction(t, 10)

    assert solve(ratio, math.log(1.25), 10, 20) == 12
    with pytest.raises(dn.InvalidParameter, match=r"epsilon 0\.05 is too small"):
        solve(ratio, 0.05, 11, 20)
    with pytest.raises(dn.InvalidParameter, match=r"epsilon 5 is too large.*choose a smaller epsilon"):
        solve(ratio, 5, 10, 20)
    with pytest.raises(dn.InvalidParameter, match=r"epsilon must be a positive number, got -1"):
        solve(ratio, -1, 10, 20)


@pytest.mark.parametrize(
    "epsilon", [1, 1.0, np.float32(1), np.float64(1), np.int64(1), np.uint8(1), Fraction(1), Decimal(1)]
)
def test_positive_epsilon_takes_any_number(epsilon: float) -> None:
    number = positive_epsilon(epsilon)
    assert number == 1
    assert type(number) is float


@pytest.mark.parametrize(
    "epsilon",
    [
        0,
        -1,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        "1",
        b"1",
        True,
        np.True_,
        None,
        [1],
        1j,
        10**400,
        np.float64("nan"),
    ],
    ids=lambda epsilon: repr(epsilon)[:20],
)
def test_positive_epsilon_refuses_all_else(epsilon: float) -> None:
    with pytest.raises(dn.InvalidParameter, match="epsilon must be a positive number, got"):
        positive_epsilon(epsilon)


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2), np.int64(2)])
def test_whole_number_takes_any_integer(value: object) -> None:
    number = whole_number("k", value, 2)
    assert number == 2
    assert type(number) is int


@pytest.mark.parametrize(
    "value", [1, 11, 2.0, np.float64(2), "2", True, np.True_, None, [2], -3, math.nan, 10**30]
)
def test_whole_number_refuses_all_else(value: object) -> None:
    with pytest.raises(dn.InvalidParameter, match="k must be an integer from 2 to 10, got"):
        whole_number("k", value, 2, 10)
