"""Divides the loss of a round, and that of all rounds, between answers that stay and answers that change.

What stays is kept: it loses one part of a round, and one part of all rounds, however many there are. What
changes gets fresh noise in every round, so that its part of a round is lost in each. Either everybody reports
one answer that stays and one that changes, or people are divided between both, and report one answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, final

from deniable.choose.candidate import (
    TWO_ROUNDS,
    TWO_ROUNDS_OF_MEANS,
    Considered,
    DeviceLimit,
    Division,
    reveal_all,
)
from deniable.choose.objective import Objective
from deniable.choose.ranking import best_ranked, prefer_accepted, round_chances
from deniable.choose.task import Allowed, Protocols, Question, checked_task
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.formatting import format_points
from deniable.mechanisms import Mechanism
from deniable.records import RecordMechanism, Sample, Single, Split
from deniable.records.sample import MOST_WEIGHT

BOTH = "SPL of SMP"
"""Everybody reports one answer that stays and one that changes."""
_DIVISIONS = 10  # of a round between what stays and what changes, and of the people
_GRAIN = 1 << 30  # parts of a nat that budgets are whole numbers of, so that their sum is exact
_NEAREST = 0.9  # of what is kept for ever, that one report of it may lose at most
_ONCE = ("SPL", "SMP")  # what may be done with answers that change


@final
class Budget(NamedTuple):
    """What may be lost: by one report, and by all of a person whose lasting answers stay as they are."""

    report: float
    together: float
    reports: int

    @property
    def most_fresh(self) -> float:
        """What answers that change may lose in a round where nothing else is asked."""
        return _round_down(min(Fraction(self.report), Fraction(self.together) / self.reports))

    def divide(self, fresh: float) -> Division:
        """How a round is divided where answers that change lose this much of it."""
        forever = _round_down(Fraction(self.together) - self.reports * Fraction(fresh))
        first = _round_down(Fraction(self.report) - Fraction(fresh))
        return Division(min(first, _round_down(Fraction(_NEAREST * forever))), forever, fresh)


@final
class _Halves:
    """What stays and what changes, each planned alone."""

    def __init__(
        self,
        questions: Mapping[str, Question],
        changes: Sequence[str],
        people: int,
        objective: Objective,
        protocols: Protocols | None,
    ) -> None:
        self.names = tuple(questions)
        self.kept, self.fresh = (
            {name: question for name, question in questions.items() if (name in changes) is is_fresh}
            for is_fresh in (False, True)
        )
        self.people, self.objective = people, objective
        self._protocols = [
            self._choose_protocols(protocols, half, is_fresh)
            for half, is_fresh in ((self.kept, False), (self.fresh, True))
        ]
        self._rows: dict[object, Considered] = {}

    def _choose_protocols(
        self, protocols: Protocols | None, half: Mapping[str, Question], is_fresh: bool
    ) -> Protocols | None:
        """The protocols that were named for the questions of a half; of those for all, what it can have."""
        if isinstance(protocols, Mapping):
            places = [(j, self.names.index(name)) for j, name in enumerate(half)]
            return {j: protocols[place] for j, place in places if place in protocols}
        listed = [protocols] if isinstance(protocols, str) else list(protocols or ())
        again = {*TWO_ROUNDS, *TWO_ROUNDS_OF_MEANS, "dbitflip"}
        return [name for name in listed if (name in again) is not is_fresh] or None

    def keep(
        self, first: float, forever: float, names: Sequence[str] = (), limit: DeviceLimit | None = None
    ) -> Considered:
        """The best way to ask all that stays, or some of it, within what devices allow it."""
        questions = {name: question for name, question in self.kept.items() if not names or name in names}
        protocols = self._protocols[0] if len(questions) == len(self.kept) else None
        return self._choose(questions, first, Allowed(("SMP",), protocols), forever, limit)

    def refresh(self, epsilon: float, names: Sequence[str] = ()) -> Considered:
        """The best way to ask all that changes, or some of it."""
        questions = {name: question for name, question in self.fresh.items() if not names or name in names}
        protocols = self._protocols[1] if len(questions) == len(self.fresh) else None
        return self._choose(questions, epsilon, Allowed(_ONCE, protocols), None)

    def _choose(
        self,
        questions: Mapping[str, Question],
        epsilon: float,
        allowed: Allowed,
        forever: float | None,
        limit: DeviceLimit | None = None,
    ) -> Considered:
        key = (epsilon, forever, limit, *questions)
        if key not in self._rows:
            task = checked_task(questions, epsilon, self.people, self.objective, allowed, forever=forever)
            self._rows[key] = best_ranked(replace(task, limit=limit))
        return self._rows[key]


def consider_mixed(
    questions: Mapping[str, Question],
    changes: Sequence[str],
    budget: Budget,
    people: int,
    objective: Objective | None = None,
    protocols: Protocols | None = None,
    mechanism: str | None = None,
    limit: DeviceLimit | None = None,
) -> list[Considered]:
    """Ranks the ways to ask for answers that stay beside answers that change, which are named. Where devices
    have a limit, the best way that they accept is the first, if they accept any.

    >>> questions = {"os": Question(4), "crash": Question(2)}
    >>> best, other = consider_mixed(questions, ["crash"], Budget(1.0, 4.0, 4), 20_000)
    >>> best.name, other.name, best.protocols, best.mechanism.losses(4, 4).same_value <= 4.0
    ('SMP[adaptive]', 'SPL of SMP[adaptive]', ('l_grr', 'grr'), True)
    """
    positive_epsilon(budget.report)
    positive_epsilon(budget.together)
    whole_number("reports", budget.reports, 1)
    halves = _Halves(questions, changes, people, objective or Objective(), protocols)
    weights = [question.importance for question in questions.values()]

    def rank(within: DeviceLimit | None) -> list[Considered]:
        return _rank(halves, budget, mechanism, weights, within)

    best = prefer_accepted(rank, limit, weights)
    alone = tuple(_ask_alone(halves, budget, name) for name in questions)
    return [
        replace(row, division=row.division._replace(alone=alone)) for row in best if row.division is not None
    ]


def _rank(
    halves: _Halves,
    budget: Budget,
    mechanism: str | None,
    weights: Sequence[float],
    limit: DeviceLimit | None,
) -> list[Considered]:
    """The best of each way to ask, the best way first; none where devices refuse all."""
    refused: list[str] = []
    ways = [
        list(_collect(ask(halves, budget, limit), refused))
        for kind, ask in ((BOTH, _ask_both), ("SMP", _divide_people))
        if mechanism is None or mechanism == kind
    ]
    everything = [row for rows in ways for row in rows]
    if not everything and limit is not None:
        return []
    if not everything:
        raise InvalidParameter(f"nothing fits both what stays and what changes: {refused[0]}")
    least = [min(units) for units in zip(*(row.units for row in everything), strict=True)]
    judged = [
        [replace(row, score=row.objective.score(row.units, least, weights)) for row in rows] for rows in ways
    ]
    return sorted((min(rows, key=_score) for rows in judged if rows), key=_score)


def _score(row: Considered) -> float:
    return row.score


def _collect(rows: Iterator[Considered | str], refused: list[str]) -> Iterator[Considered]:
    for row in rows:
        if isinstance(row, str):
            refused.append(row)
        else:
            yield row


def _ask_both(halves: _Halves, budget: Budget, limit: DeviceLimit | None) -> Iterator[Considered | str]:
    """Everybody reports an answer that stays and one that changes, by several divisions of a round."""
    for step in range(1, _DIVISIONS):
        division = budget.divide(_round_down(Fraction(budget.most_fresh) * step / _DIVISIONS))
        if min(division.first, division.forever, division.fresh) <= 0:
            continue
        yield _join(halves, budget, division, None, limit)


def _divide_people(halves: _Halves, budget: Budget, limit: DeviceLimit | None) -> Iterator[Considered | str]:
    """Each person reports one answer, that stays or that changes, by several divisions of the people."""
    first = min(budget.report, _round_down(Fraction(_NEAREST * budget.together)))
    division = Division(first, budget.together, budget.most_fresh)
    equal = Fraction(len(halves.kept), len(halves.names))
    for share in dict.fromkeys((equal, *(Fraction(step, _DIVISIONS) for step in range(1, _DIVISIONS)))):
        yield _join(halves, budget, division, share, limit)


def _join(
    halves: _Halves, budget: Budget, division: Division, share: Fraction | None, limit: DeviceLimit | None
) -> Considered | str:
    """Both halves in one report; or what stays from this share of the people, what changes from others."""
    limit_of_kept = limit
    if limit is not None and share is None:
        limit_of_kept = limit._replace(most=limit.most - budget.reports * division.fresh)
    try:
        kept = halves.keep(division.first, division.forever, limit=limit_of_kept)
        fresh = halves.refresh(division.fresh)
    except InvalidParameter as problem:
        return str(problem)
    for row in (kept, fresh):
        if row.mechanism is None or row.why_not is not None:
            return f"{row.name}: {row.why_not}"
    assert kept.mechanism is not None
    assert fresh.mechanism is not None
    if share is None:
        mechanism: RecordMechanism = Split((*_list_parts(kept.mechanism), *_list_parts(fresh.mechanism)))
    else:
        if any(isinstance(half, Split) for half in (kept.mechanism, fresh.mechanism)):
            return "each person reports one answer"
        chances = [share * chance for chance in kept.chances]
        chances += [(1 - share) * chance for chance in fresh.chances]
        weights = round_chances(list(map(float, chances)), MOST_WEIGHT)
        mechanism = Sample((*kept.mechanism.mechanisms, *fresh.mechanism.mechanisms), weights=weights)
    listed = (*halves.kept, *halves.fresh)
    order = tuple(halves.names.index(name) for name in listed)
    row = Considered.of(
        mechanism,
        BOTH if share is None else "SMP",
        [*kept.protocols, *fresh.protocols],
        halves.people,
        halves.objective,
        listed,
        [reveal_all(part, budget.reports) for part in mechanism.mechanisms],
        readings=[*kept.readings, *fresh.readings],
    ).reordered(order)
    why_not = None if limit is None else limit.refuse(mechanism)
    if why_not is not None:
        return why_not
    most = halves.objective.bytes_cap
    if most is not None and row.report_bytes.most > most:
        return f"a report takes {row.report_bytes.most} bytes, the cap is {most}"
    return replace(row, loss_forever=mechanism.losses(budget.reports, 1).same_value, division=division)


def _list_parts(mechanism: RecordMechanism) -> tuple[Mechanism | RecordMechanism, ...]:
    """The parts of a split with this mechanism inside."""
    return mechanism.parts if isinstance(mechanism, Single | Split) else (mechanism,)


def _ask_alone(halves: _Halves, budget: Budget, name: str) -> float:
    """The standard error of a question that everybody answers, and of nothing else, by the whole budget."""
    if name in halves.fresh:
        return halves.refresh(budget.most_fresh, [name]).standard_errors[0]
    first = min(budget.report, _round_down(Fraction(_NEAREST * budget.together)))
    return halves.keep(first, budget.together, [name]).standard_errors[0]


def _round_down(budget: Fraction) -> float:
    """A budget in whole grains, a grain below it: losses that are rounded up still fit in."""
    return float(Fraction(math.floor(budget * _GRAIN) - 1, _GRAIN))


def explain_division(rows: Sequence[Considered], reports: int) -> str:
    """How what stays and what changes share the loss, and what that costs; empty where nothing is shared."""
    chosen = rows[0] if rows else None
    if chosen is None or chosen.division is None:
        return ""
    first, forever, fresh, alone = chosen.division
    sentences = [
        f"Answers that stay are kept: they lose {first:.3g} of a round, and {forever:.3g} of all {reports}. "
        f"Answers that change get fresh noise: they lose {fresh:.3g} of each round."
    ]
    other = next((row for row in rows[1:] if row.division is not None and row.kind != chosen.kind), None)
    for j, name in enumerate(chosen.names or ()):
        errors = [format_points(chosen.standard_errors[j]), format_points(alone[j])]
        costs = f"{name!r} errs by {errors[0]}, asked alone by {errors[1]}"
        if other is not None:
            way = (
                "if each person reported one of them" if other.kind == "SMP" else "if everybody reported both"
            )
            costs += f", {way} by {format_points(other.standard_errors[j])}"
        sentences.append(f"{costs}.")
    return " ".join(sentences)
