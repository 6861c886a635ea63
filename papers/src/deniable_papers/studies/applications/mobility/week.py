"""Holds a week of visits with six attributes, and what is true of each union of consecutive days."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable_papers.data.visits import DAYS, deal_attributes, load_visits
from deniable_papers.learn.unions import find_first_visits

ATTRIBUTES = ("Gender", "Age", "Geolife", "Region", "Sleeping area", "Visit duration")
DURATION = ATTRIBUTES.index("Visit duration")
"""The only attribute that a person can have another value of on another day."""


@final
@dataclass(frozen=True, eq=False)
class Week:
    """A row for each visit, in order of the people; a person's first visit of a union counts there."""

    person: Integers
    day: Integers
    values: Integers
    """The values of a visit: a column for each attribute."""
    ks: tuple[int, ...]
    days: int = DAYS

    @cached_property
    def people(self) -> int:
        """The number of people."""
        return int(self.person.max()) + 1

    @cached_property
    def visits_of(self) -> Integers:
        """How many visits each person made: one a day."""
        return np.bincount(self.person, minlength=self.people)

    @cached_property
    def firsts(self) -> list[Integers]:
        """For each union of consecutive days, the row of each person's first visit in it."""
        return find_first_visits(self.person, self.day, self.days)

    @cached_property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """For each union and visit, whether it is the first of its person there."""
        found = np.zeros((len(self.firsts), self.person.size), dtype=np.bool_)
        for row, firsts in zip(found, self.firsts, strict=True):
            row[firsts] = True
        return found

    @cached_property
    def truth(self) -> list[Floats]:
        """For each union, the true shares of all values of all attributes."""
        found = []
        for rows in self.firsts:
            counts = [np.bincount(self.values[rows, j], minlength=k) for j, k in enumerate(self.ks)]
            found.append(np.concatenate(counts) / rows.size)
        return found


def take_day(week: Week, day: int) -> Week:
    """The visits of one day, from 0 on, as a week of one day; only its people are counted."""
    there = week.day == day
    _, person = np.unique(week.person[there], return_inverse=True)
    return Week(person, np.zeros(person.size, dtype=np.int64), week.values[there], week.ks, days=1)


def load_week() -> Week:
    """MS-FIMU without foreign tourists: real visits and durations, five attributes that are simulated."""
    visits = load_visits(foreign=False)
    static, labels = deal_attributes(visits.people)
    values = np.column_stack([static[visits.person], visits.duration])
    ks = (*(len(names) for names in labels), len(visits.durations))
    return Week(visits.person, visits.day, values, ks)
