"""Reads tables of visits: who was there on which of the named days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

import numpy as np

from deniable.arrays import Integers
from deniable.domain import Categories, is_missing, to_list
from deniable.errors import InvalidParameter, InvalidValue
from deniable.frames import columns_of
from deniable_papers.learn.unions import MOST_DAYS, checked_days, find_first_visits, list_unions

NO_DAY = "no day"
"""The set of days of those who did not come, where they report as well."""
WEEK = tuple(range(1, 8))
"""The days unless others are named."""
_JOIN = "+"


def first_visits(
    visits: object, days: Iterable[object] = WEEK, person: str = "person", day: str = "day"
) -> dict[tuple[int, int], Integers]:
    """Finds whose report counts for each union of consecutive days: the rows of each person's first visit.

    It is for reports that were made at each visit. A union is its first and last day, counted from 1. The
    table must tell one person's visits from another's, so that it shows who was there on which days.

    >>> rows = first_visits({"person": ["a", "a", "b"], "day": ["Sat", "Sun", "Sun"]}, days=["Sat", "Sun"])
    >>> {union: some.tolist() for union, some in rows.items()}
    {(1, 1): [0], (1, 2): [0, 2], (2, 2): [1, 2]}
    """
    names = read_days(days)
    _, who, at = read_visits(visits, names, person, day)
    return dict(zip(list_unions(len(names)), find_first_visits(who, at, len(names)), strict=True))


def read_visits(
    visits: object, days: Sequence[str], person: str, day: str
) -> tuple[tuple[object, ...], Integers, Integers]:
    """All people in order of appearance, and for each visit the number of its person and of its day."""
    people, on = columns_of(visits, [person, day])
    is_time = isinstance(on, np.ndarray) and on.dtype.kind == "M"
    dates = on.astype("datetime64[D]").astype(str) if is_time else on
    at = Categories(days).encode([_name_date(one) for one in to_list(dates, day)], day)
    numbers: dict[object, int] = {}
    who = np.array([numbers.setdefault(one, len(numbers)) for one in to_list(people, person)], dtype=np.int64)
    if any(is_missing(one) for one in numbers):
        raise InvalidValue(f"a visit without a {person!r} cannot be counted; remove the rows without one")
    return tuple(numbers), who, at


def read_people(
    everybody: Iterable[object], came: Sequence[object], who: Integers
) -> tuple[tuple[object, ...], Integers]:
    """All who could have come, and for each visit the number of its person among them."""
    people = tuple(to_list(everybody, "everybody"))
    numbers = {one: place for place, one in enumerate(people)}
    if len(numbers) < len(people):
        raise InvalidValue(
            f"everybody has {len(people):,} names of {len(numbers):,} people; name each once, since each "
            "reports once"
        )
    strangers = sum(one not in numbers for one in came)
    if strangers:
        raise InvalidValue(
            f"everybody lacks {strangers:,} of {len(came):,} people with a visit; name all who could have "
            "come, also those who did"
        )
    places = np.array([numbers[one] for one in came], dtype=np.int64)
    return people, places[who]


def read_days(days: Iterable[object]) -> tuple[str, ...]:
    """The names of all days."""
    if isinstance(days, str | bytes) or not isinstance(days, Iterable):
        raise InvalidParameter(f"days names all days in order, as in days=range(1, 8); got {days!r}")
    given = [_name_date(one) for one in days]
    if not 2 <= len(given) <= MOST_DAYS:
        raise InvalidParameter(
            f"days has 2 to {MOST_DAYS} days, got {len(given)}; a report of more would hide too little"
        )
    names = Categories(given).labels
    joined = [name for name in names if _JOIN in name]
    if joined:
        raise InvalidParameter(f"{joined[0]!r} has a {_JOIN!r}, which joins the days of a set; leave it out")
    if NO_DAY in names:
        raise InvalidParameter(
            f"a day cannot be called {NO_DAY!r}: that is the set of those who did not come"
        )
    return names


def name_sets(days: Sequence[str], is_everybody: bool) -> tuple[str, ...]:
    """The name of each set of days, by their numbers; the empty set is one only if everybody reports."""
    names = [""]
    for day in days[: checked_days(len(days))]:
        names += [f"{name}{_JOIN}{day}" if name else day for name in names]
    return (NO_DAY, *names[1:]) if is_everybody else tuple(names[1:])


def _name_date(day: object) -> object:
    """The date of a time, as text; other days stay as they are."""
    if isinstance(day, np.datetime64):
        return str(day.astype("datetime64[D]"))
    if isinstance(day, datetime):
        return day.date().isoformat()
    return day.isoformat() if isinstance(day, date) else day
