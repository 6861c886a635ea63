"""Divides numbers, whole numbers or dates into bins of one width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, final, get_args

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain.answer import BLANKS, SELF, is_missing, number_of, numbers_of, quote, to_list
from deniable.domain.decimals import (
    LARGEST,
    MOST_DIGITS,
    decimal_exponent,
    format_ends,
    format_scaled,
    from_integer,
    plain_float,
    plain_number,
    to_integer,
)
from deniable.domain.domain import (
    NO_ANSWER,
    Domain,
    Privacy,
    check_privacy,
    format_privacy,
    refuse_many_values,
)
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import whole_number
from deniable.formatting import format_count

Queries = Literal["values", "ranges"]
"""What is read of a range: single values, or ranges of any length."""

Unit = Literal["", "whole", "month", "year"]
"""What the values of a range are: numbers in bins, or whole numbers, months or years, one by one."""
UNITS: tuple[Unit, ...] = ("", "whole", "month", "year")
_DATE = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?)?")
_MONTHS = 12
FIRST_YEAR, LAST_YEAR = 1, 9999


@final
@dataclass(frozen=True)
class Range(Domain):
    """Numbers in bins of one width, from `low` to under `high`; the bin at an open end has no limit.

    A bin is as wide as `step`, which is 1 unless it is given: `Range(0, 10)` has ten bins, for 0 to 9.

    In a study a range with `privacy="metric"` has an epsilon of its own, per unit of its numbers: 0.1 per
    year of age. Distant bins are easier to distinguish, so that estimates get less noise.

    >>> age = Range(0, 100, step=10, open_high=True)
    >>> age.encode([0, 9.99, 10, 104]).tolist(), age.labels[1], age.labels[-1]
    ([0, 0, 1, 9], '10 to under 20', '90 or more')
    """

    low: float
    high: float
    step: float = 1
    open_low: bool = False
    open_high: bool = False
    privacy: Privacy = "equal"
    epsilon: float | None = None
    unit: Unit = ""
    """Where values are counted one by one: "whole" numbers, or the "month" or "year" of a date."""
    queries: Queries | None = None
    """What will be read of it in a study: shares of single "values", or of "ranges" of any length, which are
    then reported in levels. Without it, long ranges have levels. A plan only says how it is reported.
    """

    def __post_init__(self) -> None:
        check_privacy(self)
        if str(self.queries) == "smooth":
            raise InvalidParameter(
                "queries = 'smooth' is retired, since its shares were wrong where answers heap; use 'ranges'",
                "range",
            )
        if self.queries not in (None, *get_args(Queries)):
            text = not_among(str(self.queries), "what a range is asked for", get_args(Queries))
            raise InvalidParameter(text, "range")
        for end in ("low", "high", "step"):
            object.__setattr__(self, end, plain_number(getattr(self, end), end))
        for end in ("open_low", "open_high"):
            if not isinstance(getattr(self, end), bool):
                raise InvalidParameter(f"{end} is true or false, got {getattr(self, end)!r}")
        if self.step <= 0 or self.high <= self.low:
            raise InvalidParameter(
                f"a range goes up from low by a positive step, got {self.low} to {self.high} by {self.step}",
                "range",
            )
        if self.digits > MOST_DIGITS or max(abs(self.scaled_low), abs(self._scaled_high)) > LARGEST:
            numbers = f"{self.low} to {self.high} by {self.step}"
            raise InvalidParameter(
                f"a range's numbers have at most {MOST_DIGITS} digits, got {numbers}; round them", "range"
            )
        bins, rest = divmod(self._scaled_high - self.scaled_low, self.scaled_step)
        if rest:
            raise InvalidParameter(
                f"step {self.step} does not divide the range from {self.low} to {self.high} into whole bins; "
                "give a step that does"
            )
        if bins < 2:
            raise InvalidParameter(f"a range has 2 bins or more, got {bins:,}; change the step", "range")
        refuse_many_values(bins, "; use a larger step")
        self._check_unit()

    def _check_unit(self) -> None:
        if self.unit not in UNITS:
            raise InvalidParameter(
                f"a range's unit is 'whole', 'month' or 'year', got {self.unit!r}", "range"
            )
        if self.unit and (self.digits or self.step != 1 or self.open_low or self.open_high):
            raise InvalidParameter(
                f"values that are counted one by one ({self.unit}) are whole, with step 1 and no open ends",
                "range",
            )
        if self.unit in ("month", "year"):
            first, last = FIRST_YEAR, LAST_YEAR + 1
            many = 12 if self.unit == "month" else 1
            if not first * many <= self.low or not self.high <= last * many:
                raise InvalidParameter(f"dates have years from {first} to {LAST_YEAR}", "range")

    @staticmethod
    def scale(
        low: int,
        high: int,
        privacy: Privacy = "equal",
        epsilon: float | None = None,
        queries: Queries | None = None,
    ) -> Range:
        """Whole numbers from low to high, both among them.

        >>> Range.scale(1, 7).labels
        ('1', '2', '3', '4', '5', '6', '7')
        """
        for end, number in (("low", low), ("high", high)):
            whole_number(f"{end} of a scale", number, -LARGEST, LARGEST)
        if high <= low:
            text = (
                f"a scale goes from its lowest number up to its highest, such as [1, 5], got [{low}, {high}]"
            )
            raise InvalidParameter(text, "range")
        return Range(low, high + 1, 1, privacy=privacy, epsilon=epsilon, unit="whole", queries=queries)

    @staticmethod
    def dates(
        first: object,
        last: object,
        by: str = "month",
        privacy: Privacy = "equal",
        epsilon: float | None = None,
        queries: Queries | None = None,
    ) -> Range:
        """Months or years from one date to another, both among them.

        >>> Range.dates("2020-01-01", "2026-12-31", by="year").labels[-1]
        '2026'
        """
        low, high = date_ends([first, last], by)
        if high <= low:
            text = f"dates go from the first {by} up to a later one, got {first} and {last}"
            raise InvalidParameter(text, "range")
        known: Any = by
        return Range(low, high + 1, 1, privacy=privacy, epsilon=epsilon, unit=known, queries=queries)

    def __str__(self) -> str:
        if self.unit:
            counted = "whole number" if self.unit == "whole" else self.unit
            unit = "unit" if self.unit == "whole" else self.unit
            many = format_count(self.k, counted)
            return f"{many} from {self.labels[0]} to {self.labels[-1]}{format_privacy(self, unit)}"
        ends = format_ends(self.low, self.high, self.open_low, self.open_high)
        return f"{self.k:,} bins of {self.step:,}, {ends}{format_privacy(self, 'unit')}"

    @staticmethod
    def from_integers(
        low: int, step: int, bins: int, digits: int, open_low: bool, open_high: bool, unit: Unit = ""
    ) -> Range:
        """Makes a range from integers: its numbers times 10^digits."""
        whole_number("bins", bins, 2, reason="range")
        refuse_many_values(bins)
        whole_number("digits", digits, 0, MOST_DIGITS, reason="range")
        whole_number("step", step, 1, LARGEST, reason="range")
        whole_number("low", low, -LARGEST, LARGEST, reason="range")
        high = whole_number("low + bins * step", low + bins * step, -LARGEST, LARGEST, reason="range")
        return Range(
            from_integer(low, digits),
            from_integer(high, digits),
            from_integer(step, digits),
            open_low,
            open_high,
            unit=unit,
        )

    @cached_property
    def digits(self) -> int:
        """How many decimals the numbers have."""
        return max(0, *(-decimal_exponent(number) for number in (self.low, self.high, self.step)))

    @cached_property
    def scaled_low(self) -> int:
        """The lower end, times 10^digits."""
        return to_integer(self.low, self.digits)

    @cached_property
    def scaled_step(self) -> int:
        """The step, times 10^digits."""
        return to_integer(self.step, self.digits)

    @cached_property
    def _scaled_high(self) -> int:
        return to_integer(self.high, self.digits)

    @cached_property
    def bins(self) -> int:
        """The number of bins."""
        return (self._scaled_high - self.scaled_low) // self.scaled_step

    @property
    def k(self) -> int:
        return self.bins

    @property
    def plain(self) -> Range:
        if self.privacy == "equal" and self.queries is None:
            return self
        return replace(self, privacy="equal", epsilon=None, queries=None)

    @cached_property
    def edges(self) -> Floats:
        """Where the bins begin, and where the last one ends: integers over 10^digits, each rounded once.

        A whole number is in the middle of its bin.
        """
        if self.unit:
            return np.asarray(self.scaled_low - 0.5 + np.arange(self.bins + 1))
        scaled = self.scaled_low + self.scaled_step * np.arange(self.bins + 1, dtype=np.int64)
        return np.asarray(scaled / float(10**self.digits))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        if self.unit:
            return tuple(name_counted(self.scaled_low + i, self.unit) for i in range(self.bins))
        ends = [
            format_scaled(self.scaled_low + self.scaled_step * i, self.digits) for i in range(self.bins + 1)
        ]
        names = [f"{low} to under {high}" for low, high in pairwise(ends)]
        if self.open_low:
            names[0] = f"under {ends[1]}"
        if self.open_high:
            names[-1] = f"{ends[-2]} or more"
        return tuple(names)

    @property
    def _extent(self) -> str:
        """The range in words; with two open ends it has every number."""
        if self.unit:
            return f"{self.labels[0]} to {self.labels[-1]}"
        if self.open_high:
            return f"{self.low} or more"
        return f"under {self.high}" if self.open_low else f"{self.low} to under {self.high}"

    def codes(self, values: object, name: str = SELF) -> Integers:
        if self.unit:
            values = np.array(number_counted(to_list(values, name), self.unit, name), dtype=np.float64)
        numbers, missing = numbers_of(values, name)
        codes = np.searchsorted(self.edges, numbers, side="right").astype(np.int64) - 1
        outside = ~missing & (
            ((codes < 0) & (not self.open_low)) | ((codes >= self.bins) & (not self.open_high))
        )
        if outside.any():
            wrong = plain_float(float(numbers[np.argmax(outside)]))
            if self.unit:
                value_name = name_counted(int(wrong), self.unit)
                raise InvalidValue(f"{value_name} is not a value of {quote(name)} ({self._extent})")
            end = "open_low" if float(wrong) < self.low else "open_high"
            which = "first" if end == "open_low" else "last"
            raise InvalidValue(
                f"{wrong} is not a value of {quote(name)} ({self._extent})",
                f"widen the range, or set {end} to count it in the {which} bin",
            )
        return np.where(missing, NO_ANSWER, np.clip(codes, 0, self.bins - 1))


def name_counted(value: int, unit: Unit) -> str:
    """A value's name.

    >>> name_counted(24245, "month"), name_counted(7, "whole")
    ('2020-06', '7')
    """
    if unit != "month":
        return str(value)
    year, month = divmod(value, _MONTHS)
    return f"{year:04d}-{month + 1:02d}"


def number_counted(answers: Sequence[Any], unit: Unit, name: str) -> list[float | None]:
    """Answers as whole numbers: a month is 12 times its year, and so many more; None where one is missing."""
    return [None if is_missing(answer) else _number(answer, unit, name) for answer in answers]


def _number(answer: Any, unit: Unit, name: str) -> float:
    if unit == "whole":
        value = number_of(answer)
        if value != value:
            raise InvalidValue(f"{answer!r} is not a number, as {quote(name)} asks for")
        if not value.is_integer():
            raise InvalidValue(f"{answer!r} is not a whole number, as {quote(name)} asks for")
        return value
    if isinstance(answer, date):
        return answer.year * _MONTHS + answer.month - 1 if unit == "month" else answer.year
    text = str(int(answer)) if unit == "year" and _is_whole(answer) else answer
    match = _DATE.fullmatch(text.strip(BLANKS)) if isinstance(text, str) else None
    if match is None or (unit == "month" and match[2] is None):
        example = "2024-06 or 2024-06-30" if unit == "month" else "2024 or 2024-06-30"
        raise InvalidValue(f"{answer!r} is not a {unit}, as {quote(name)} asks for; write {example}")
    return int(match[1]) * _MONTHS + int(match[2]) - 1 if unit == "month" else int(match[1])


def _is_whole(answer: Any) -> bool:
    return not isinstance(answer, str) and number_of(answer) == number_of(answer) // 1


def date_ends(dates: object, by: object) -> tuple[int, int]:
    """The first and the last month or year, from two dates.

    >>> date_ends(["2020-01-01", "2026-12-31"], "year")
    (2020, 2026)
    """
    if by not in ("month", "year"):
        raise InvalidParameter(f"dates are counted by 'month' or by 'year', got {by!r}")
    if not isinstance(dates, list | tuple) or len(dates) != 2:
        raise InvalidParameter(
            f"dates are the first and the last one, such as ['2020-01-01', '2026-12-31'], got {dates!r}"
        )
    try:
        first, last = (int(_number(day, by, "dates")) for day in dates)
    except InvalidValue as problem:
        raise InvalidParameter(str(problem)) from None
    return first, last
