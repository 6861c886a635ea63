"""Keeps numbers exact: as people write them in decimals, and as integers times a power of ten."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from deniable.errors import InvalidParameter

LARGEST = 10**15
"""Every float distinguishes integers up to here, and their quotients by powers of ten."""
MOST_DIGITS = 15
"""Decimals of a number."""


def plain_number(number: Any, end: str) -> float:
    """An int where it is whole, else a float."""
    try:
        known = (
            not isinstance(number, bool) and isinstance(number, Real | Decimal) and np.isfinite(float(number))
        )
    except (OverflowError, ValueError):
        raise InvalidParameter(f"{end} must be a number of at most {MOST_DIGITS} digits") from None
    if not known:
        raise InvalidParameter(f"{end} must be a number, got {number!r}")
    return plain_float(float(number)) if not isinstance(number, Integral) else int(number)


def plain_float(number: float) -> float:
    """An int where it is whole and a float holds it exactly."""
    return int(number) if number.is_integer() and abs(number) < LARGEST * 10 else number


def decimal_exponent(number: float) -> int:
    """The power of ten of its last digit."""
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def to_integer(number: float, digits: int) -> int:
    """A number times 10^digits."""
    return int(Fraction(str(number)) * 10**digits)


def from_integer(number: int, digits: int) -> float:
    """An integer over 10^digits."""
    return plain_float(number / 10**digits)


def format_scaled(scaled: int, digits: int) -> str:
    """An integer over 10^digits, in decimals."""
    return format(Decimal(scaled).scaleb(-digits), "f") if digits else str(scaled)


def format_ends(low: float, high: float, open_low: bool, open_high: bool) -> str:
    """From where to where numbers go, in words.

    >>> format_ends(0, 1000, False, True)
    'from 0 to 1,000 or more'
    """
    return f"from {low:,}{' or less' if open_low else ''} to {high:,}{' or more' if open_high else ''}"
