"""Loads the visits of MS-FIMU: who was there on which days of a week, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.randomness.simulated import seeded
from deniable_papers.data.datasets import FOREIGN, UNKNOWN, deal_values, read_marginals
from deniable_papers.data.published import FILES, DataUnavailable, rows_of

DAYS = 7
_HEADER = ("Person ID", "Date ID", "Visit Duration")
_FOREIGN_ROWS = 2970  # the file begins with the visits of foreign tourists
_STATIC = ("Gender", "Age", "Geolife", "Region", "Sleeping area")
_ABROAD = ("Germany", "Netherlands", "United Kingdom")
_PERHAPS_ABROAD = ("0", "3", "4", "12", "13", "16", "18", "31", "32", "33", "34", "36")
"""Regions that are known by a code only. Which of these are abroad is not known; these 12 complete the
number of foreign tourists.
"""


@final
@dataclass(frozen=True, eq=False)
class Visits:
    """A row for each visit: the person, from 0 on, the day, from 0 to 6, and the class of its duration."""

    person: Integers
    day: Integers
    duration: Integers
    durations: tuple[str, ...]
    """The names of the classes."""

    @property
    def n(self) -> int:
        """The number of visits."""
        return self.person.size

    @cached_property
    def people(self) -> int:
        """The number of people."""
        return int(self.person.max()) + 1

    @cached_property
    def sets(self) -> Integers:
        """The days of each person, as a number: bit d is set if the person was there on day d."""
        found = np.zeros(self.people, dtype=np.int64)
        np.bitwise_or.at(found, self.person, np.left_shift(np.int64(1), self.day))
        return found


def load_visits(foreign: bool = True) -> Visits:
    """Loads the visits of a week; without foreign tourists, those whose attributes are known."""
    rows = rows_of(FILES["ms-fimu-visits.csv"], _HEADER)
    kept = rows if foreign else rows[_FOREIGN_ROWS:]
    people, days, durations = zip(*kept, strict=True)
    labels = tuple(sorted(set(durations), key=_order_duration))
    code = {label: number for number, label in enumerate(labels)}
    day = np.array(days, dtype=np.int64) - 1
    if day.min() < 0 or day.max() >= DAYS:
        raise DataUnavailable(
            f"ms-fimu-visits.csv has days from 1 to {DAYS}; got {day.min() + 1} to {day.max() + 1}"
        )
    _, person = np.unique(np.array(people, dtype=np.int64), return_inverse=True)
    return Visits(person, day, np.array([code[one] for one in durations]), labels)


def _order_duration(label: str) -> tuple[int, str]:
    digits = "".join(character for character in label.partition("h")[0] if character.isdigit())
    return int(digits or 0), label


def deal_attributes(people: int, seed: int = 2021) -> tuple[Integers, tuple[tuple[str, ...], ...]]:
    """Values of five attributes for people who are not foreign tourists: codes, a row each, and their names.

    The published counts hold exactly, less those of foreign tourists. Who has which value is simulated.
    """
    words = seeded(seed)
    columns, labels = [], []
    for name, counts in read_domestic().items():
        values = deal_values(counts, words)
        if len(values) != people:
            raise DataUnavailable(
                f"ms-fimu-marginals.json has {len(values):,} people for {name}, not {people:,}"
            )
        code = {label: number for number, label in enumerate(counts)}
        columns.append([code[value] for value in values])
        labels.append(tuple(counts))
    return np.array(columns).T, tuple(labels)


def read_domestic() -> dict[str, dict[str, int]]:
    """How many people who are not foreign tourists have each value.

    The gender and age of foreign tourists are unknown, and those of all others are known. Where the others
    have unknown values too, as many are foreign as there are foreign tourists.
    """
    marginals = read_marginals()
    foreign = marginals["Visitor category"][FOREIGN]
    found: dict[str, dict[str, int]] = {}
    for name in _STATIC:
        counts = dict(marginals[name])
        if name == "Region":
            for region in (*_ABROAD, *_PERHAPS_ABROAD):
                counts.pop(region, None)
        else:
            counts[UNKNOWN] -= foreign
        found[name] = {label: n for label, n in counts.items() if n}
    return found
