"""Defines a number whose mean a study wants: any number from a lowest to a highest one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.domain.answer import SELF, numbers_of, quote
from deniable.domain.decimals import (
    LARGEST,
    MOST_DIGITS,
    decimal_exponent,
    format_ends,
    from_integer,
    plain_number,
    to_integer,
)
from deniable.domain.domain import NO_ANSWER, Domain
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.metric.means import LAST_POSITION


@final
@dataclass(frozen=True)
class Number(Domain):
    """A number from `low` to `high` whose mean is wanted; beyond an open end, a number counts as the end.

    Its code is the nearest of 2^32 + 1 positions from the lowest to the highest number.

    >>> income = Number(0, 10_000, open_high=True)
    >>> income.encode([0, 2500, 40_000]).tolist() == [0, 2**30, 2**32]
    True
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    labels = ()
    k = LAST_POSITION + 1
    has_no_answer = False

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, plain_number(getattr(self, end), end))
        for end in ("open_low", "open_high"):
            if not isinstance(getattr(self, end), bool):
                raise InvalidParameter(f"{end} is true or false, got {getattr(self, end)!r}")
        if self.high <= self.low:
            text = f"a number goes from low up to high, got {self.low} to {self.high}"
            raise InvalidParameter(text, "number")
        if self.digits > MOST_DIGITS or max(abs(self.scaled_low), abs(self.scaled_high)) > LARGEST:
            raise InvalidParameter(
                f"low and high have at most {MOST_DIGITS} digits, got {self.low} and {self.high}; round them",
                "number",
            )

    def __str__(self) -> str:
        return f"a number {format_ends(self.low, self.high, self.open_low, self.open_high)}, for its mean"

    @staticmethod
    def from_integers(low: int, high: int, digits: int, open_low: bool, open_high: bool) -> Number:
        """Makes a number from integers: its ends times 10^digits."""
        whole_number("digits", digits, 0, MOST_DIGITS, reason="number")
        whole_number("low", low, -LARGEST, LARGEST, reason="number")
        whole_number("high", high, -LARGEST, LARGEST, reason="number")
        return Number(from_integer(low, digits), from_integer(high, digits), open_low, open_high)

    @cached_property
    def digits(self) -> int:
        """How many decimals the numbers have."""
        return max(0, *(-decimal_exponent(number) for number in (self.low, self.high)))

    @cached_property
    def scaled_low(self) -> int:
        """The lowest number, times 10^digits."""
        return to_integer(self.low, self.digits)

    @cached_property
    def scaled_high(self) -> int:
        """The highest number, times 10^digits."""
        return to_integer(self.high, self.digits)

    def codes(self, values: object, name: str = SELF) -> Integers:
        numbers, missing = numbers_of(values, name)
        outside = ((numbers < self.low) & (not self.open_low)) | (
            (numbers > self.high) & (not self.open_high)
        )
        if outside.any():
            wrong = plain_number(float(numbers[np.argmax(outside)]), "a number")
            end = "open_low" if wrong < self.low else "open_high"
            raise InvalidValue(
                f"{wrong} is not a value of {quote(name)} ({self.low} to {self.high})",
                f"widen it, or set {end} to count what lies beyond as the end",
            )
        inside = np.clip(np.where(missing, self.low, numbers), self.low, self.high)
        positions = np.floor((inside - self.low) / (self.high - self.low) * float(LAST_POSITION) + 0.5)
        return np.where(missing, NO_ANSWER, positions.astype(np.int64))
