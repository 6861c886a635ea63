"""Draws people who do not exist, with a set of days each and attributes that depend on the day."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.formatting import format_count
from deniable.randomness import Words, checked_source
from deniable_papers.learn.unions import checked_days, read_cells

_COLUMNS = ("person", "day")


def round_counts(numbers: npt.ArrayLike) -> Integers:
    """Rounds numbers of people to whole ones with the same sum, by the largest remainders.

    >>> round_counts([1.5, 2.3, 0.6, 3.6]).tolist()
    [1, 2, 1, 4]
    """
    given = np.asarray(numbers, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidParameter("numbers of people are finite and not negative, in one list")
    floors = np.floor(given)
    rest = round(float(given.sum()) - float(floors.sum()))
    upward = np.argsort(floors - given, kind="stable")[:rest]
    floors[upward] += 1
    return floors.astype(np.int64)


def draw_people(
    cells: npt.ArrayLike,
    attributes: Mapping[str, Mapping[str, npt.ArrayLike]] | None = None,
    days: int = 7,
    words: Words | None = None,
) -> dict[str, Array]:
    """Draws simulated people: columns `person`, `day` and the attributes, a row for each day of a person.

    `cells` has the people of each set of days, which are rounded by `round_counts`. Each attribute has its
    values, and of each value its share on each day. On every day these shares hold, but for rounding; who has
    which value is random. So values depend on the day alone. What they have to do with each other, with other
    days of the same person, or with the number of these days is lost.

    >>> from deniable.randomness.simulated import seeded
    >>> shares = {"stay": {"short": [0.5, 0.25], "long": [0.5, 0.75]}}
    >>> people = draw_people([4.2, 2, 1.8], shares, days=2, words=seeded(1))
    >>> people["person"].tolist(), people["day"].tolist()
    ([0, 1, 2, 3, 4, 5, 6, 6, 7, 7], [1, 1, 1, 1, 2, 2, 1, 2, 1, 2])
    >>> people["stay"].tolist().count("long")
    6
    """
    size = checked_days(days)
    counts = round_counts(read_cells(cells, size))
    sets = np.repeat(np.arange(1, counts.size + 1), counts)
    there = (sets[:, None] >> np.arange(size)) & 1
    person, day = np.nonzero(there)
    source = checked_source(words)
    drawn: dict[str, Array] = {"person": person, "day": day + 1}
    for name, shares in (attributes or {}).items():
        if name in _COLUMNS:
            raise InvalidParameter(f"{name!r} is a column of all people; give the attribute another name")
        drawn[name] = _draw_values(day, *_read_shares(name, shares, size), source)
    return drawn


def _draw_values(day: Integers, labels: Array, shares: Floats, words: Words) -> Array:
    values = np.empty(day.size, dtype=labels.dtype)
    for number, some in enumerate(shares):
        here = np.flatnonzero(day == number)
        dealt = np.repeat(labels, round_counts(some * here.size))
        values[here] = dealt[np.argsort(words.take(here.size), kind="stable")]
    return values


def _read_shares(name: str, given: Mapping[str, npt.ArrayLike], days: int) -> tuple[Array, Floats]:
    """The values' names, and a row of their shares for each day."""
    told = f"{name!r} has values, each with its share on each of the {days} days"
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameter(f"{told}; got {given!r}")
    try:
        shares = np.array([np.asarray(one, dtype=np.float64) for one in given.values()])
    except (TypeError, ValueError):
        raise InvalidParameter(f"{told}; got {given!r}") from None
    if shares.shape != (len(given), days):
        got = format_count(int(shares.size), "number")
        raise InvalidParameter(f"{told}; got {format_count(len(given), 'value')} with {got}")
    totals = shares.sum(axis=0)
    if not np.isfinite(shares).all() or (shares < 0).any() or (totals <= 0).any():
        raise InvalidParameter(f"{told}: finite, not negative, and some of them positive on each day")
    return np.array([str(label) for label in given]), np.ascontiguousarray((shares / totals).T)
