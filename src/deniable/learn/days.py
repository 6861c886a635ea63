"""Reports presence over several days as one value, so that one report protects the whole week.

A person's days are a set, and a set is one of 2^days - 1 values. One report of that value hides every day,
also whether the person was there. Reports of each day, or of each count, would share out the budget or lose
it many times over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Categories
from deniable.domain.answer import is_missing, to_list
from deniable.errors import InvalidParameter, InvalidValue
from deniable.estimate import Estimate, reach_of
from deniable.exact import number
from deniable.formatting import format_count
from deniable.learn.unions import (
    MOST_DAYS,
    checked_days,
    count_sets,
    find_first_visits,
    list_unions,
    union_matrix,
)
from deniable.plan import Plan, Reports, Tallies
from deniable.plan.study import Study
from deniable.summaries import Summary
from deniable.summaries.covariance import error_of
from deniable.tables import columns_of
from deniable.words import Words

ATTRIBUTE = "days"
"""What the plan of a set of days asks for."""
_JOIN = "+"


def day_sets(visits: object, days: Iterable[object], person: str = "person", day: str = "day") -> DaySets:
    """Reads who was there on which days from a table of visits, as one set of days for each person.

    `visits` is a dataframe, a dictionary of columns or a list of dictionaries, with a row for each visit; a
    person may come twice on one day. `days` names all days in order: texts, numbers, dates or times. They are
    public and never read off the data: a day that is not among them is refused.

    >>> from deniable.words.simulated import seeded
    >>> visits = {"person": ["a", "a", "b", "c", "c"], "day": ["Fri", "Sun", "Sat", "Fri", "Sat"]}
    >>> week = day_sets(visits, days=["Fri", "Sat", "Sun"])
    >>> [week.labels[s - 1] for s in week.sets]
    ['Fri+Sun', 'Sat', 'Fri+Sat']
    >>> plan = week.plan(epsilon=1.0)
    >>> plan.loss.record <= 1.0, len(plan.labels["days"])
    (True, 7)
    >>> found = week.estimate(plan, week.privatize(plan, seeded(1)))
    >>> found.n, found.shares().size, len(found.unions())
    (3, 7, 6)
    """
    names = _read_days(days)
    people, who, at = _read_visits(visits, names, person, day)
    sets = np.zeros(len(people), dtype=np.int64)
    np.bitwise_or.at(sets, who, np.left_shift(np.int64(1), at))
    return DaySets(names, people, sets)


def first_visits(
    visits: object, days: Iterable[object], person: str = "person", day: str = "day"
) -> dict[tuple[int, int], Integers]:
    """Finds whose report counts for each union of consecutive days: the rows of each person's first visit.

    It is for reports that were made at each visit. A union is its first and last day, counted from 1. The
    table must tell one person's visits from another's, so that it shows who was there on which days.

    >>> rows = first_visits({"person": ["a", "a", "b"], "day": ["Sat", "Sun", "Sun"]}, days=["Sat", "Sun"])
    >>> {union: some.tolist() for union, some in rows.items()}
    {(1, 1): [0], (1, 2): [0, 2], (2, 2): [1, 2]}
    """
    names = _read_days(days)
    _, who, at = _read_visits(visits, names, person, day)
    return dict(zip(list_unions(len(names)), find_first_visits(who, at, len(names)), strict=True))


def _read_visits(
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


@final
@dataclass(frozen=True, eq=False)
class DaySets:
    """The set of days of each person, from the raw visits: not protected until `privatize`."""

    days: tuple[str, ...]
    people: tuple[object, ...] = field(repr=False)
    sets: Integers = field(repr=False)
    """A number from 1 to 2^days - 1 for each person: bit d is set if the person was there on the day d."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of all sets of days, in the order of their numbers: `Fri+Sun`."""
        return _name_sets(self.days)

    @cached_property
    def counts(self) -> Integers:
        """How many people have each set of days. This is the truth: it has no noise, and protects nobody."""
        return count_sets(self.sets, len(self.days))

    def plan(self, epsilon: float, protocol: str = "oue", people: int | None = None, title: str = "") -> Plan:
        """A plan that asks for the set of days, whose report loses at most epsilon about all of them.

        `people` is how many are expected, for the precision that the plan states.
        """
        asked = {ATTRIBUTE: Categories(self.labels)}
        study = Study(asked, epsilon=epsilon, protocol=protocol, title=title)
        return study.plan(people=max(len(self.people), 1) if people is None else people)

    def privatize(self, plan: Plan, words: Words | None = None) -> Reports:
        """One report of each person's days: by the words of the operating system, unless others are given."""
        if plan.labels.get(ATTRIBUTE) != self.labels or len(plan.names) > 1:
            raise InvalidParameter(
                f"this plan does not ask for sets of the days {', '.join(self.days)}; make one with "
                "plan(epsilon)"
            )
        return plan.privatize_codes(np.ascontiguousarray(self.sets[None, :] - 1), words)

    def estimate(self, plan: Plan, reports: Reports | Tallies) -> DayEstimate:
        """What the reports say of everybody's days; `estimate_days` needs no visits for it."""
        return estimate_days(plan, reports)

    def __str__(self) -> str:
        return f"{len(self.people):,} people on {format_count(len(self.days), 'day')}: {', '.join(self.days)}"


def estimate_days(plan: Plan, reports: Reports | Tallies) -> DayEstimate:
    """Estimates how many people have each set of days, from reports or tallies of a plan of `day_sets`.

    >>> from deniable.mechanisms import Tally
    >>> from deniable.plan import Tallies
    >>> week = day_sets({"person": [1, 2], "day": [1, 2]}, days=[1, 2])
    >>> plan = week.plan(epsilon=2.0)
    >>> found = estimate_days(plan, Tallies(plan.id, 1000, {"days": Tally(1000, [300, 250, 200])}))
    >>> found.shares().round(2).tolist(), found.unions().round().tolist()
    ([0.46, 0.33, 0.2], [667.0, 1000.0, 535.0])
    """
    labels = plan.labels.get(ATTRIBUTE, ())
    count = (len(labels) + 1).bit_length() - 1
    names = tuple(labels[(1 << d) - 1] for d in range(count)) if labels else ()
    if len(plan.names) > 1 or not names or labels != _name_sets(names):
        raise InvalidParameter(
            "this plan does not ask for sets of days; dn.learn.day_sets makes one that does"
        )
    tallies = reports if isinstance(reports, Tallies) else plan.tally(reports)
    return DayEstimate(names, plan.estimate(tallies)[ATTRIBUTE])


@final
@dataclass(frozen=True, eq=False)
class DayEstimate:
    """How many people have each set of days, by reports: with the noise of these, and safe to publish."""

    days: tuple[str, ...]
    estimate: Estimate = field(repr=False)
    """The unbiased share of each set of days, with its errors."""

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.estimate.n

    def shares(self, consistency: str = "norm-sub") -> Floats:
        """The share of each set of days after a named step, so that none is negative."""
        return self.estimate.project(consistency)

    def unions(self, consistency: str = "norm-sub") -> Floats:
        """How many people were there on each union of consecutive days, in the order of `list_unions`."""
        return np.asarray(union_matrix(len(self.days)) @ self.shares(consistency)) * self.n

    def union(self, first: object, last: object, level: float = 0.95) -> Summary:
        """The share of people who were there on a day from first to last: unbiased, with its interval.

        Everybody has one of the sets, so that an error that all sets have in common is taken away.
        """
        begin, end = (self._find_day(one) + 1 for one in (first, last))
        known = list_unions(len(self.days))
        if (begin, end) not in known:
            raise InvalidParameter(f"{last!r} is before {first!r}; give the first day, then the last")
        meets = union_matrix(len(self.days))[known.index((begin, end))]
        weights = meets - meets.mean()
        value = float(meets.mean() + self.estimate.frequencies @ weights)
        error = error_of(self.estimate, weights)
        reach = reach_of((1 - number("a confidence level", level, 0.0, 1.0)) / 2) * error
        return Summary(value, error, value - reach, value + reach)

    def days_visited(self, consistency: str = "norm-sub") -> Floats:
        """The share of people who were there on one day, on two, and so on."""
        numbers = np.bitwise_count(np.arange(1, 1 << len(self.days)))
        return np.asarray(np.bincount(numbers, self.shares(consistency))[1:], dtype=np.float64)

    def _find_day(self, day: object) -> int:
        return int(Categories(self.days).encode([day], "day")[0])

    def __str__(self) -> str:
        lines = [f"{format_count(self.n, 'report')} of sets of {format_count(len(self.days), 'day')}"]
        for count, share in enumerate(self.days_visited(), 1):
            lines.append(f"{format_count(count, 'day'):>8}: {100 * share:5.1f} %")
        return "\n".join(lines)


def _read_days(days: Iterable[object]) -> tuple[str, ...]:
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
    return names


def _name_date(day: object) -> object:
    """The date of a time, as text; other days stay as they are."""
    if isinstance(day, np.datetime64):
        return str(day.astype("datetime64[D]"))
    if isinstance(day, datetime):
        return day.date().isoformat()
    return day.isoformat() if isinstance(day, date) else day


def _name_sets(days: Sequence[str]) -> tuple[str, ...]:
    """The name of each set of days, by their numbers."""
    names = [""]
    for day in days[: checked_days(len(days))]:
        names += [f"{name}{_JOIN}{day}" if name else day for name in names]
    return tuple(names[1:])
