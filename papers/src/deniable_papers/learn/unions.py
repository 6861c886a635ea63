"""Counts people on unions of consecutive days: what operators of networks publish of a week.

A person's week is a set of days, with a number from 1 to 2^days - 1: bit d is set if the person was there on
day d + 1. A union of consecutive days counts everybody who was there on at least one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.formatting import format_count

MOST_DAYS = 14
"""Days of one report or fit: 2^14 sets of days are as many as solvers and reports stay small for."""


def checked_days(days: object) -> int:
    """Check the number of days."""
    return whole_number("days, the number of days,", days, 1, MOST_DAYS)


def list_unions(days: int = 7) -> list[tuple[int, int]]:
    """Lists the unions of consecutive days by their first and last day, in the order of all counts here.

    >>> list_unions(3)
    [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]
    >>> len(list_unions(7))
    28
    """
    last = checked_days(days)
    return [(one, other) for one in range(1, last + 1) for other in range(one, last + 1)]


def union_matrix(days: int = 7) -> Floats:
    """Says which sets of days meet which union: a row for each union, a column for each set, 1 or 0.

    Multiplied by the people of each set, it gives the people of each union.

    >>> union_matrix(2)
    array([[1., 0., 1.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """
    return _build_matrix(checked_days(days))


@lru_cache(maxsize=4)
def _build_matrix(days: int) -> Floats:
    sets = np.arange(1, 1 << days)
    masks = [(1 << last) - (1 << (first - 1)) for first, last in list_unions(days)]
    matrix = np.array([(sets & mask) != 0 for mask in masks], dtype=np.float64)
    matrix.setflags(write=False)  # the next caller gets the same one
    return matrix


def count_unions(cells: npt.ArrayLike, days: int = 7) -> Floats:
    """Counts the people of each union from the people of each set of days.

    >>> count_unions([10, 20, 5], days=2)
    array([15., 35., 25.])
    """
    return np.asarray(union_matrix(days) @ read_cells(cells, days))


def count_sets(sets: Integers, days: int) -> Integers:
    """How many people have each set of days."""
    return np.bincount(sets, minlength=1 << days)[1:]


def find_first_visits(people: Integers, at: Integers, days: int) -> list[Integers]:
    """For each union, the rows of the visits in it that are a person's first there: one row a person.

    `people` and `at` have a person's number and a day from 0 on for each visit.
    """
    order = np.lexsort((at, people))
    found = []
    for first, last in list_unions(days):
        inside = order[(at[order] >= first - 1) & (at[order] < last)]
        starts = np.flatnonzero(np.diff(people[inside], prepend=-1))
        found.append(inside[starts])
    return found


def read_cells(cells: npt.ArrayLike, days: int) -> Floats:
    """Check the people, or shares, of each set of days."""
    size = (1 << checked_days(days)) - 1
    return _read_numbers(cells, size, f"cells has a number for each of the {size:,} sets of {days} days")


def read_unions(unions: Mapping[tuple[int, int], float] | npt.ArrayLike, days: int) -> Floats:
    """Check the counts of all unions, in their order or by first and last day."""
    known = list_unions(days)
    if isinstance(unions, Mapping):
        missing = [one for one in known if one not in unions]
        if missing or len(unions) > len(known):
            raise InvalidParameter(
                f"unions has a count for each of the {len(known)} unions of {days} consecutive days, by "
                f"first and last day; got {format_count(len(unions), 'count')}"
                + (f", none for {missing[0]}" if missing else "")
            )
        unions = [unions[one] for one in known]
    told = f"unions has a count for each of the {len(known)} unions of {days} days, in order of list_unions"
    return _read_numbers(unions, len(known), told)


def read_variance(variance: npt.ArrayLike, days: int) -> Floats:
    """Check the variance of each count, 0 where it is exact, or of all."""
    size = len(list_unions(days))
    given = np.asarray(variance)
    many = np.full(size, given) if given.ndim == 0 else variance
    found = _read_numbers(many, size, f"variance is a positive number, or one for each of the {size} unions")
    if found.min() < 0 or not found.any():
        raise InvalidParameter(
            f"a variance is positive, or 0 of a count without noise, got {found.min():g} to {found.max():g}; "
            "leave it out if all counts are exact"
        )
    return found


def _read_numbers(given: npt.ArrayLike, size: int, told: str) -> Floats:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{told}; got {given!r}") from None
    if numbers.shape != (size,):
        raise InvalidParameter(f"{told}; got {format_count(math.prod(numbers.shape), 'number')}")
    if not np.isfinite(numbers).all():
        raise InvalidValue(f"{told}; one of them is not finite")
    return numbers
