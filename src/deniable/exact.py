"""Computes with rationals, and rounds against the collector, never in the collector's favor."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real

from deniable.errors import InvalidParameter

_DIGITS = Context(prec=80, Emax=999_999, Emin=-999_999)
_EXACT_BITS = 1 << 13  # powers with more digits than this are rounded up
_MARGIN = Fraction(1, 10**60)  # far above decimal's last digit, far below any float's


PRIME = (1 << 31) - 1
"""The modulus of the hash family."""


def number(name: str, value: object, low: float, high: float, allowed: str | None = None) -> float:
    """Check a number, of Python's or numpy's, strictly between low and high."""
    try:
        checked = (
            math.nan if isinstance(value, bool) or not isinstance(value, Real | Decimal) else float(value)
        )
    except OverflowError:
        checked = math.nan
    if not low < checked < high:
        raise InvalidParameter(
            f"{name} must be {allowed or f'a number between {low:g} and {high:g}'}, got {value!r}"
        )
    return checked


def positive_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """Check an epsilon: a positive, finite number."""
    return number(name, epsilon, 0.0, math.inf, "a positive number")


def whole_number(name: str, value: object, low: int, high: int | None = None, reason: str = "") -> int:
    """Check an integer, of Python's or numpy's, from low to high; a plan is refused for this reason."""
    number = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if number is None or number < low or (high is not None and number > high):
        allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InvalidParameter(f"{name} must be an integer {allowed}, got {value!r}", reason)
    return number


@lru_cache(maxsize=1024)
def exp_down(epsilon: float) -> Fraction:
    """A rational just below e^epsilon: a ratio that is at most this spends at most epsilon."""
    if epsilon > 1000:
        raise InvalidParameter(
            f"epsilon {epsilon} is too large for any threshold out of 2^64; use one below 40"
        )
    return Fraction(Decimal(epsilon).exp(_DIGITS)) * (1 - _MARGIN)


def exp_up(epsilon: float) -> Fraction:
    """A rational just above e^epsilon: what is lost where only its logarithm is known."""
    return Fraction(Decimal(epsilon).exp(_DIGITS)) * (1 + _MARGIN)


def log_up(ratio: Fraction) -> float:
    """ln(ratio) rounded up to a float: the loss that is stated is never below the loss that is spent."""
    if ratio == 1:
        return 0.0
    up = Context(prec=80, rounding=ROUND_CEILING, Emax=999_999, Emin=-999_999)
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    exact = up.add(quotient.ln(_DIGITS), Decimal(1).scaleb(-70))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def power_up(ratio: Fraction, times: int) -> Fraction:
    """ratio^times for a ratio of at least 1: exact where it is small, else rounded up to 256 bits.

    >>> power_up(Fraction(3, 2), 3)
    Fraction(27, 8)
    """
    if times * max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) <= _EXACT_BITS:
        return ratio**times
    power, square = Fraction(1), ratio
    while times:
        if times & 1:
            power = _short_up(power * square)
        square, times = _short_up(square * square), times >> 1
    return power


def _short_up(number: Fraction) -> Fraction:
    """At least this number, by less than 2^-255 of it."""
    spare = number.numerator.bit_length() - number.denominator.bit_length() - 256
    if spare >= 0:
        return Fraction(-(-number.numerator // (number.denominator << spare)) << spare)
    return Fraction(-(-(number.numerator << -spare) // number.denominator), 1 << -spare)


def times_up(loss: float, times: int) -> float:
    """A multiple of a loss, rounded up."""
    total = loss * times
    return total if Fraction(total) >= Fraction(loss) * times else math.nextafter(total, math.inf)


def round_up(number: Fraction) -> float:
    """The least float that is not below a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def solve(ratio: Callable[[int], Fraction], epsilon: float, low: int, high: int) -> int:
    """The largest integer threshold whose ratio is at most e^epsilon; ratio must not decrease.

    This is the one calibrator: a protocol says which ratio a threshold gives, and the budget picks the
    threshold.
    """
    budget = exp_down(positive_epsilon(epsilon))
    if ratio(low) > budget:
        raise InvalidParameter(
            f"epsilon {epsilon} is too small: the nearest threshold out of 2^64 already loses "
            f"{log_up(ratio(low)):.3g}"
        )
    if ratio(high) <= budget:
        raise InvalidParameter(
            f"epsilon {epsilon} is too large: no threshold out of 2^64 loses more than "
            f"{log_up(ratio(high)):.6g}; choose a smaller epsilon"
        )
    while high - low > 1:
        middle = (low + high) // 2
        if ratio(middle) <= budget:
            low = middle
        else:
            high = middle
    return low
