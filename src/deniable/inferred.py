"""What a column of a table seems to ask: its values, or a range of them."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from deniable.answer import composed, is_missing, label_of, listed
from deniable.asked import as_domain
from deniable.domain import Domain, Range
from deniable.errors import InvalidParameter, InvalidValue

_MOST_CATEGORIES = 50  # a column of numbers with more distinct ones is binned
_BINS = 10


def inferred_domain(name: str, column: object) -> Domain:
    """Few distinct values are categories; many numbers are a range of about ten bins."""
    known = _distinct(name, column)
    if len(known) < 2:
        raise InvalidParameter(f"{name!r} has {len(known)} different values; a study needs at least two, so name them yourself")
    if None in known.values():
        return as_domain(sorted(known), name)
    numbers = {label: number for label, number in known.items() if number is not None}
    if len(numbers) <= _MOST_CATEGORIES:
        return as_domain(sorted(numbers, key=lambda label: numbers[label]), name)
    low, high = min(numbers.values()), max(numbers.values())
    try:
        return _binned(low, high)
    except (ArithmeticError, ValueError):  # no step, or not one that a range can have
        raise InvalidParameter(
            f"{name!r} has {len(numbers)} numbers that need more than 15 digits; round them, or name the range yourself"
        ) from None


def _distinct(name: str, column: object) -> dict[str, float | None]:
    """The values of a column by their labels, with the number where it is one."""
    known: dict[str, float | None] = {}
    for item in listed(column, name):
        if is_missing(item):
            continue
        try:
            label = composed(label_of(item))
        except InvalidValue as problem:
            raise InvalidParameter(f"{name!r}: {problem}") from None
        if label not in known:
            known[label] = _as_number(item)
            if known[label] in (math.inf, -math.inf):
                raise InvalidParameter(f"{name!r} has a value {item!r}; leave it out, or make it None for a missing answer")
    return known


def _as_number(item: Any) -> float | None:
    if isinstance(item, bool) or not isinstance(item, Real | Decimal):
        return None
    return int(item) if isinstance(item, Integral) else float(item)


def _binned(low: float, high: float) -> Range:
    step = 10.0 ** math.floor(math.log10((high - low) / _BINS))
    step = next(step * times for times in (1, 2, 5, 10, 20) if (high - low) / (step * times) <= _BINS)
    step = int(step) if step >= 1 else float(f"{step:.1g}")
    first = math.floor(low / step)
    bins = max(2, math.floor(high / step) + 1 - first)
    digits = max(0, -math.floor(math.log10(step)))
    return Range(round(first * step, digits), round((first + bins) * step, digits), step)
