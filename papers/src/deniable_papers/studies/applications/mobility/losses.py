"""Counts what the reports of a week truly lose: from reports and what can change, not from claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.exact import round_up, times_up
from deniable.rounds import Repeated
from deniable_papers.studies.applications.mobility.reports import AttributeReports
from deniable_papers.studies.applications.mobility.week import DURATION, Week


@final
@dataclass(frozen=True)
class WeekLoss:
    """What a person's reports of a week lose about it; days of presence are not counted, as they show."""

    worst: float
    """Against any other values on the same days: infinite where a change shows."""
    mean: float
    """The mean over people, each against values that change and come back at the same times."""


def count_losses(week: Week, made: list[AttributeReports]) -> WeekLoss:
    """The losses of all reports of a week together, for the person who loses most and on average."""
    pairs = [_count_attribute(one, week) for one in made]
    usual = np.sum([one for one, _ in pairs], axis=0)
    worst = np.stack([one for _, one in pairs])
    return WeekLoss(_add_exactly(worst[:, worst.sum(axis=0).argmax()]), float(usual.mean()))


def _add_exactly(losses: Floats) -> float:
    """The sum, rounded up."""
    if not np.isfinite(losses).all():
        return math.inf
    return round_up(sum(map(Fraction, losses.tolist()), Fraction(0)))


def _count_attribute(made: AttributeReports, week: Week) -> tuple[Floats, Floats]:
    """What each person loses by one attribute: against weeks of one pattern, and against any week."""
    mechanism = made.mechanism
    person = week.person[made.rows]
    values = week.values[made.rows, made.attribute]
    reports = np.bincount(person, minlength=week.people)
    distinct = count_distinct(person, values, mechanism.k, week.people)
    if isinstance(mechanism, Repeated):
        stated = [mechanism.losses(n, n) for n in range(1, week.days + 1)]
        changing = np.array([0.0, *(one.changing_values for one in stated)])
        usual = np.array([0.0, *(one.changing_values_usual for one in stated)])
        return usual[distinct], changing[reports]
    one = np.array([times_up(mechanism.loss(), n) for n in range(week.days + 1)])
    if made.is_fresh or shows_fresh_noise(person, values, made.reports, mechanism.k):
        return one[reports], one[reports]
    changes = made.attribute == DURATION or bool((distinct > 1).any())
    unbounded = np.where(reports > 1, math.inf, one[np.minimum(reports, 1)])
    return one[distinct], unbounded if changes else one[distinct]


def count_distinct(person: Integers, values: Integers, k: int, people: int) -> Integers:
    """How many different values each person has reported."""
    return np.bincount(np.unique(person * k + values) // k, minlength=people)


def shows_fresh_noise(person: Integers, values: Integers, reports: Integers, k: int) -> bool:
    """Whether anybody has reported one value in two ways: then nothing is kept, whatever is claimed."""
    pairs = np.unique(person * k + values).size
    return np.unique((person * k + values) * k + reports).size > pairs
