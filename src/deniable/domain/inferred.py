"""Infers what a column of a table seems to ask: its values, or a range of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from deniable.domain.answer import composed, is_missing, label_of, to_list
from deniable.domain.categories import Categories
from deniable.domain.domain import Domain
from deniable.domain.grid import Grid, location_of
from deniable.domain.number import Number
from deniable.domain.parsed import as_domain
from deniable.domain.range import Range
from deniable.errors import InvalidParameter, InvalidValue

_MOST_CATEGORIES = 50  # a column of numbers with more distinct ones is binned
_BINS = 10
_FINE = 100  # bins of a metric range
_MOST_BINS = 1000
_CELLS = 20  # in either direction of a grid


def inferred_domain(name: str, column: object, declared: Sequence[str] | None = None) -> Domain:
    """Few distinct values are categories; many numbers are a range of about ten bins.

    Categories that were `declared` for the column are kept, all of them in their order.
    """
    if has_locations(column):
        raise InvalidParameter(
            f"{name!r} has pairs, maybe locations: metric={{{name!r}: "
            f"dn.metric.per_meter(level=2.0, radius=200)}} makes them cells of a Grid with an "
            "epsilon per meter; or name the Grid yourself"
        )
    if declared is not None and len(declared) > 1:
        return as_domain(list(declared), name)
    known = _distinct(name, column)
    if len(known) < 2:
        raise InvalidParameter(
            f"{name!r} has {len(known)} different values; a study needs at least two, so name them yourself"
        )
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
            f"{name!r} has {len(numbers)} numbers that need more than 15 digits; round them, or name the "
            "range yourself"
        ) from None


def inferred_number(name: str, column: object) -> Number:
    """A number, from the lowest to the highest of the column, rounded outwards, whose mean is wanted."""
    low, high = _ends(name, column)
    binned = _binned(low, high)
    return Number(binned.low, binned.high)


def inferred_metric(name: str, column: object, epsilon: float) -> Range | Grid:
    """Numbers as a range, of whole ones or about a hundred bins; locations as a grid; with this epsilon."""
    if has_locations(column):
        pairs = np.array(
            [location_of(item, name) for item in to_list(column, name) if not is_missing(item)],
            dtype=np.float64,
        )
        south, west = (math.floor(100 * low) / 100 for low in pairs.min(axis=0).tolist())
        north, east = (math.ceil(100 * high + 1e-9) / 100 for high in pairs.max(axis=0).tolist())
        return Grid(
            south, west, max(north, south + 0.01), max(east, west + 0.01), _CELLS, _CELLS, epsilon=epsilon
        )
    low, high = _ends(name, column)
    if all(float(number).is_integer() for number in (low, high)) and high - low < _MOST_BINS:
        return Range(math.floor(low), math.floor(high) + 1, step=1, privacy="metric", epsilon=epsilon)
    binned = _binned(low, high, _FINE)
    return replace(binned, privacy="metric", epsilon=epsilon)


def has_locations(column: object) -> bool:
    """Whether a column holds pairs of numbers."""
    items = [
        item for item in to_list(column, "this column") if not (isinstance(item, str) or is_missing(item))
    ]
    return bool(items) and all(
        isinstance(item, list | tuple | np.ndarray) and _is_pair(item) for item in items
    )


def _is_pair(item: Sequence[Any] | np.ndarray[Any, Any]) -> bool:
    return len(item) == 2 and all(
        isinstance(coordinate, Real) and not isinstance(coordinate, bool) for coordinate in item
    )


def hint_for(name: str, domain: Domain, column: object) -> str:
    """Suggest how else to ask a column of many whole numbers that were taken for categories."""
    if not isinstance(domain, Categories) or domain.k <= _BINS or None in _distinct(name, column).values():
        return ""
    return (
        f"{name!r} has {domain.k} numbers, taken for categories: metric={{{name!r}: 0.1}} makes them a range "
        f"with an epsilon per unit, means=[{name!r}] asks for their mean only"
    )


def _ends(name: str, column: object) -> tuple[float, float]:
    known = _distinct(name, column)
    numbers = [number for number in known.values() if number is not None]
    if len(numbers) < 2 or len(numbers) < len(known):
        raise InvalidParameter(
            f"{name!r} needs two different numbers, and nothing but numbers; name its range yourself"
        )
    return min(numbers), max(numbers)


def _distinct(name: str, column: object) -> dict[str, float | None]:
    """The values of a column by their labels, with the number where it is one."""
    known: dict[str, float | None] = {}
    for item in to_list(column, name):
        if is_missing(item):
            continue
        try:
            label = composed(label_of(item))
        except InvalidValue as problem:
            raise InvalidParameter(f"{name!r}: {problem}") from None
        if label not in known:
            known[label] = _as_number(item)
            if known[label] in (math.inf, -math.inf):
                raise InvalidParameter(
                    f"{name!r} has a value {item!r}; leave it out, or make it None for a missing answer"
                )
    return known


def _as_number(item: Any) -> float | None:
    if isinstance(item, bool) or not isinstance(item, Real | Decimal):
        return None
    return int(item) if isinstance(item, Integral) else float(item)


def _binned(low: float, high: float, most: int = _BINS) -> Range:
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * times for times in (1, 2, 5, 10, 20) if (high - low) / (step * times) <= most)
    step = int(step) if step >= 1 else float(f"{step:.1g}")
    first = math.floor(low / step)
    bins = max(2, math.floor(high / step) + 1 - first)
    digits = max(0, -math.floor(math.log10(step)))
    return Range(round(first * step, digits), round((first + bins) * step, digits), step)
