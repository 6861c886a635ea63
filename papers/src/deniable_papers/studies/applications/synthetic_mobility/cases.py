"""Finds the people of each set of days in several ways: from exact counts, noisy ones, and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.mechanisms import grr
from deniable.randomness import Words, below
from deniable_papers.data.visits import DAYS, Visits, load_visits
from deniable_papers.learn.days import DaySets
from deniable_papers.learn.entropy import CellFit, linear_program, maximum_entropy
from deniable_papers.learn.unions import count_sets, list_unions, union_matrix
from deniable_papers.noise import DiscreteLaplace

_UNIONS = list_unions(DAYS)
_WHOLE = _UNIONS.index((1, DAYS))


class Found(NamedTuple):
    """The people of each set of days, by one run."""

    cells: Floats
    residual: float | None
    """How far they are from the counts that they were found from, relative to these."""
    loss: float | None
    """What it loses about a person's week; None where there is no bound."""


@final
@dataclass(frozen=True, eq=False)
class People:
    """The true sets of days."""

    visits: Visits
    cells: Integers
    unions: Floats

    @property
    def n(self) -> int:
        return int(self.cells.sum())


@lru_cache(maxsize=1)
def load_people() -> People:
    """Everybody, foreign tourists included; once for each process."""
    visits = load_visits()
    cells = count_sets(visits.sets, DAYS)
    return People(visits, cells, union_matrix(DAYS) @ cells)


def _guess_independent(people: People, _epsilon: float, _words: Words) -> Found:
    """Days that have nothing to do with each other, each with its true count: a baseline."""
    shares = people.unions[[_UNIONS.index((day, day)) for day in range(1, DAYS + 1)]] / people.n
    there = (np.arange(1, 1 << DAYS)[:, None] >> np.arange(DAYS)) & 1
    cells = np.prod(np.where(there, shares, 1 - shares), axis=1)
    return Found(cells * people.n / cells.sum(), None, None)


def _fit_exact(fit: Callable[[Floats], CellFit]) -> Callable[[People, float, Words], Found]:
    def run(people: People, _epsilon: float, _words: Words) -> Found:
        found = fit(people.unions)
        return Found(found.cells, found.residual, None)

    return run


def _fit_central(is_entropy: bool) -> Callable[[People, float, Words], Found]:
    """One person is in all 28 unions at most, so that the noise of each has a 28th of epsilon."""

    def run(people: People, epsilon: float, words: Words) -> Found:
        noise = DiscreteLaplace.calibrate(epsilon, counts=len(_UNIONS))
        counts = people.unions + noise.draw(len(_UNIONS), words)
        fit = maximum_entropy(counts, DAYS, noise.deviation**2) if is_entropy else linear_program(counts)
        return Found(fit.cells, fit.residual, noise.epsilon(counts=len(_UNIONS)))

    return run


def _fit_local(is_entropy: bool) -> Callable[[People, float, Words], Found]:
    def run(people: People, epsilon: float, words: Words) -> Found:
        counts, variance, loss = ask_unions(people.visits.sets, epsilon, words)
        fit = maximum_entropy(counts, DAYS, variance) if is_entropy else linear_program(counts)
        return Found(fit.cells, fit.residual, loss)

    return run


def ask_unions(sets: Integers, epsilon: float, words: Words) -> tuple[Floats, Floats, float]:
    """Counts of all unions from one report a person: was she there on a day of it? And their variances.

    The union is drawn, whoever it is. That of the whole week is not: everybody is in it.
    """
    mechanism = grr(2, epsilon)
    asked = np.array([number for number in range(len(_UNIONS)) if number != _WHOLE])
    drawn = asked[below(words.take(sets.size), asked.size).astype(np.int64)]
    answers = union_matrix(DAYS)[drawn, sets - 1].astype(np.int64)
    reports = mechanism.privatize(answers, words)
    counts = np.full(len(_UNIONS), float(sets.size))
    variance = np.zeros(len(_UNIONS))
    for number in asked.tolist():
        found = mechanism.estimate(mechanism.tally(reports[drawn == number]))
        counts[number] = found.frequencies[1] * sets.size
        variance[number] = (found.stderr[1] * sets.size) ** 2
    return counts, variance, mechanism.loss()


def _report_sets(people: People, epsilon: float, words: Words) -> Found:
    week = DaySets(tuple(map(str, range(1, DAYS + 1))), tuple(range(people.n)), people.visits.sets)
    plan = week.plan(epsilon)
    found = week.estimate(plan, week.privatize(plan, words))
    return Found(found.shares() * people.n, None, plan.loss.record)


CASES: dict[str, tuple[str, str, Callable[[People, float, Words], Found]]] = {
    "independent": ("independent", "none", _guess_independent),
    "lp": ("lp", "none", _fit_exact(linear_program)),
    "maxent": ("maxent", "none", _fit_exact(maximum_entropy)),
    "lp-central": ("lp", "central", _fit_central(False)),
    "maxent-central": ("maxent", "central", _fit_central(True)),
    "lp-local": ("lp", "local", _fit_local(False)),
    "maxent-local": ("maxent", "local", _fit_local(True)),
    "day-set": ("day-set", "local", _report_sets),
}
"""How sets of days are found, and with which noise."""
