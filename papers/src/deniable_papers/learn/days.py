"""Reports presence over several days as one value, so that one report protects the whole week.

A person's days are a set, and a set is one of 2^days - 1 values. One report of that value hides every day,
though not that its person came at all: whoever reports did. Where everybody reports who could have come, "no
day" is one more value, and hides that, too. Reports of each day would share out the budget, or lose it often.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from deniable import Study
from deniable.arrays import Floats, Integers
from deniable.domain import Categories
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, reach_of
from deniable.exact import number
from deniable.formatting import format_count
from deniable.randomness import Words
from deniable.reports import Reports, Tallies
from deniable.study import Plan
from deniable.summaries import Summary
from deniable.summaries.totals import error_of
from deniable_papers.learn.unions import count_sets, list_unions, union_matrix
from deniable_papers.learn.visits import NO_DAY, WEEK, name_sets, read_days, read_people, read_visits

ATTRIBUTE = "days"
"""What the plan of a set of days asks for."""


def day_sets(
    visits: object,
    days: Iterable[object] = WEEK,
    person: str = "person",
    day: str = "day",
    everybody: Iterable[object] | None = None,
) -> DaySets:
    """Reads who was there on which days from a table of visits, as one set of days for each person.

    `visits` is a dataframe, a dictionary of columns or a list of dictionaries, with a row for each visit; a
    person may come twice on one day. `days` names all days in order: texts, numbers, dates or times. They are
    public and never read off the data: a day that is not among them is refused.

    Only people with a visit report, which shows that they came. `everybody` names all who could have come:
    then all of them report, and "no day" is a value.

    >>> from deniable.randomness.simulated import seeded
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
    >>> day_sets(visits, ["Fri", "Sat", "Sun"], everybody=["a", "b", "c", "d"]).counts.tolist()
    [1, 0, 1, 1, 0, 1, 0, 0]
    """
    names = read_days(days)
    people, who, at = read_visits(visits, names, person, day)
    if everybody is not None:
        people, who = read_people(everybody, people, who)
    sets = np.zeros(len(people), dtype=np.int64)
    np.bitwise_or.at(sets, who, np.left_shift(np.int64(1), at))
    return DaySets(names, people, sets, everybody is not None)


@final
@dataclass(frozen=True, eq=False)
class DaySets:
    """The set of days of each person, from the raw visits: not protected until `privatize`."""

    days: tuple[str, ...]
    people: tuple[object, ...] = field(repr=False)
    sets: Integers = field(repr=False)
    """A number from 1 to 2^days - 1 for each person: bit d is set if the person was there on the day d.

    It is 0 for those who did not come; only `everybody` has such people.
    """
    is_everybody: bool = False
    """Whether those report, too, who did not come, so that a report does not show that its person came."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of all sets of days, in the order of their numbers: `Fri+Sun`; "no day" comes first."""
        return name_sets(self.days, self.is_everybody)

    @cached_property
    def counts(self) -> Integers:
        """How many people have each set of days. This is the truth: it has no noise, and protects nobody."""
        came = count_sets(self.sets, len(self.days))
        return np.append(np.sum(self.sets == 0), came) if self.is_everybody else came

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
        codes = self.sets if self.is_everybody else self.sets - 1
        return plan.privatize_codes(np.ascontiguousarray(codes[None, :]), words)

    def estimate(self, plan: Plan, reports: Reports | Tallies) -> DayEstimate:
        """What the reports say of everybody's days; `estimate_days` needs no visits for it."""
        return estimate_days(plan, reports)

    def __str__(self) -> str:
        return f"{len(self.people):,} people on {format_count(len(self.days), 'day')}: {', '.join(self.days)}"


def estimate_days(plan: Plan, reports: Reports | Tallies) -> DayEstimate:
    """Estimates how many people have each set of days, from reports or tallies of a plan of `day_sets`.

    >>> from deniable.mechanisms import Tally
    >>> from deniable.reports import Tallies
    >>> week = day_sets({"person": [1, 2], "day": [1, 2]}, days=[1, 2])
    >>> plan = week.plan(epsilon=2.0)
    >>> found = estimate_days(plan, Tallies(plan.id, 1000, {"days": Tally(1000, [300, 250, 200])}))
    >>> found.shares().round(2).tolist(), found.unions().round().tolist()
    ([0.46, 0.33, 0.2], [667.0, 1000.0, 535.0])
    """
    labels = plan.labels.get(ATTRIBUTE, ())
    is_everybody = NO_DAY in labels[:1]
    came = labels[1:] if is_everybody else labels
    count = (len(came) + 1).bit_length() - 1
    names = tuple(came[(1 << d) - 1] for d in range(count))
    if len(plan.names) > 1 or not names or labels != name_sets(names, is_everybody):
        raise InvalidParameter(
            "this plan does not ask for sets of days; deniable_papers.learn.day_sets makes one that does"
        )
    tallies = reports if isinstance(reports, Tallies) else plan.tally(reports)
    return DayEstimate(names, plan.estimate(tallies)[ATTRIBUTE], is_everybody)


@final
@dataclass(frozen=True, eq=False)
class DayEstimate:
    """How many people have each set of days, by reports: with the noise of these, and safe to publish."""

    days: tuple[str, ...]
    estimate: Estimate = field(repr=False)
    """The unbiased share of each set of days, with its errors."""
    is_everybody: bool = False
    """Whether the first share is of those who came on no day."""

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.estimate.n

    def shares(self, consistency: str = "norm-sub") -> Floats:
        """The share of each set of days after a named step, so that none is negative."""
        return self.estimate.project(consistency)

    def unions(self, consistency: str = "norm-sub") -> Floats:
        """How many people were there on each union of consecutive days, in the order of `list_unions`."""
        return np.asarray(self._matrix @ self.shares(consistency)) * self.n

    def union(self, first: object, last: object, level: float = 0.95) -> Summary:
        """The share of people who were there on a day from first to last: unbiased, with its interval.

        Everybody has one of the sets, so that an error that all sets have in common is taken away.
        """
        begin, end = (self._find_day(one) + 1 for one in (first, last))
        known = list_unions(len(self.days))
        if (begin, end) not in known:
            raise InvalidParameter(f"{last!r} is before {first!r}; give the first day, then the last")
        meets = self._matrix[known.index((begin, end))]
        weights = meets - meets.mean()
        value = float(meets.mean() + self.estimate.frequencies @ weights)
        error = error_of(self.estimate, weights)
        reach = reach_of((1 - number("a confidence level", level, 0.0, 1.0)) / 2) * error
        return Summary(value, error, value - reach, value + reach)

    def days_visited(self, consistency: str = "norm-sub") -> Floats:
        """The share of people who were there on one day, on two, and so on; of everybody, on none first."""
        numbers = np.bitwise_count(np.arange(self._first, 1 << len(self.days)))
        return np.asarray(np.bincount(numbers, self.shares(consistency))[self._first :], dtype=np.float64)

    @property
    def _first(self) -> int:
        """The number of the first set."""
        return 0 if self.is_everybody else 1

    @cached_property
    def _matrix(self) -> Floats:
        """Which sets meet which union."""
        came = union_matrix(len(self.days))
        return np.pad(came, ((0, 0), (1, 0))) if self.is_everybody else came

    def _find_day(self, day: object) -> int:
        return int(Categories(self.days).encode([day], "day")[0])

    def __str__(self) -> str:
        lines = [f"{format_count(self.n, 'report')} of sets of {format_count(len(self.days), 'day')}"]
        for count, share in enumerate(self.days_visited(), self._first):
            lines.append(f"{format_count(count, 'day'):>8}: {100 * share:5.1f} %")
        return "\n".join(lines)
