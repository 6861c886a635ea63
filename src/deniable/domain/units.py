"""Reads and names values that are counted one by one: whole numbers, months and years."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from deniable.domain.answer import is_missing, number_of, quote
from deniable.errors import InvalidParameter, InvalidValue

Unit = Literal["", "whole", "month", "year"]
"""What the values of a range are: numbers in bins, or whole numbers, months or years, one by one."""
UNITS: tuple[Unit, ...] = ("", "whole", "month", "year")
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")
_MONTHS = 12
FIRST_YEAR, LAST_YEAR = 1, 9999


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
    match = _DATE.fullmatch(text.strip()) if isinstance(text, str) else None
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
