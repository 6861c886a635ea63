"""Counts all sets of at most three changes, and orders those by their score that are about enough.

The needs of every part of a study, and of every form of it, are planned at three epsilons and interpolated
between them, which is off by up to a third. A set is a candidate where the needs that it leaves are about
enough. When its turn comes its needs are planned at its own epsilon. They may be 1.15 times the people, since
the planner finds up to 13 percent less.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations, combinations_with_replacement, product
from typing import Any, Final, NamedTuple, final

import numpy as np

from deniable.advise.changes import (
    SCORES,
    WORDINGS,
    Change,
    apply_change,
    find_epsilon,
    list_epsilons,
    list_forms,
    raise_epsilon,
)
from deniable.advise.needs import COMMON, Need, Part, Wants, count_people, list_parts, measure
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.frames import Show

MOST_CHANGES = 3
SLACK: Final = 1.15
"""How far needs may be above the planner's."""
_ROUGHLY = 1.35  # how far interpolated needs may be from those at their own epsilon
_KNOTS = 3  # epsilons at which needs are planned before any set is chosen
_MOST_JOINED = 2  # questions of a part whose changes are combined
_LEAST_PEOPLE = 1e-9


class Load(NamedTuple):
    """What a part adds to the needs of a study, at each epsilon."""

    total: Floats
    """The sum of needs: what counts where importance follows them."""
    worst: Floats
    """The largest need of a draw, by the importance that the study gives."""
    draws: float
    """How often it is drawn, with that importance."""
    apart: Floats
    """The largest need of what everybody reports."""
    part: Part | None = None
    study: Any = None
    """What is asked of the part; nothing where it is gone."""


@final
@dataclass(frozen=True)
class Option:
    """Changes of one part, or of several that are alike, and what they leave."""

    parts: tuple[int, ...]
    changes: tuple[Change, ...]
    loads: tuple[Load, ...]

    @property
    def score(self) -> float:
        """How much the changes ask for."""
        return math.fsum(change.score for change in self.changes)


@final
@dataclass(frozen=True)
class Candidate:
    """A set of changes that may be enough."""

    changes: tuple[Change, ...]
    score: float
    people: float = 0.0
    """About how many people it takes, by its needs."""
    place: int = 0
    """Which epsilon it has."""
    loads: tuple[Load, ...] = field(default=(), compare=False, repr=False)

    @property
    def way(self) -> tuple[float, bool]:
        """By what the planner's choice depends most on: epsilon, and whether importance follows needs."""
        epsilon = self.find("epsilon")
        return 0.0 if epsilon is None else epsilon.to, self.has("importance")

    def find(self, kind: str) -> Change | None:
        """The change of this kind, if there is one."""
        return next((change for change in self.changes if change.kind == kind), None)

    def has(self, *kinds: str) -> bool:
        """Whether any change is of these kinds."""
        return any(change.kind in kinds for change in self.changes)

    def contains(self, other: Candidate) -> bool:
        """Whether it changes all that the other one does, at least as much."""
        return all(any(_goes_as_far(mine, change) for mine in self.changes) for change in other.changes)


def _goes_as_far(mine: Change, other: Change) -> bool:
    if mine.kind != other.kind:
        return False
    if mine.kind in ("epsilon", "people"):
        return mine.to >= other.to
    return set(other.questions) <= set(mine.questions) and (mine.kind != "coarser" or mine.to <= other.to)


def _add_up(loads: Sequence[Load]) -> Load:
    """What several parts add together."""
    return Load(
        reduce(np.add, (load.total for load in loads), np.zeros(1)),
        reduce(np.maximum, (load.worst for load in loads), np.zeros(1)),
        math.fsum(load.draws for load in loads),
        reduce(np.maximum, (load.apart for load in loads), np.zeros(1)),
    )


def form_of(change: Change) -> Change:
    """A change without the names of its questions."""
    return replace(change, questions=())


@final
class Search:
    """All sets of changes of a study, and about how many people each takes."""

    def __init__(
        self, study: Any, people: int, needed: float, wants: Wants, may_know: Collection[str]
    ) -> None:
        self.study, self.people, self.wants, self._may_know = study, people, wants, may_know
        self._needed = needed  # by the planner, of the study as it is
        self.show: Show | None = None
        self._done = 0
        self._planned: dict[tuple[int, int], Load] = {}
        self.parts = list_parts(study, wants)
        self.epsilons = list_epsilons(study)
        self._scale = np.log(np.sinh(np.array(self.epsilons) / 2))  # needs fall nearly evenly along it
        even = np.linspace(self._scale[0], self._scale[-1], _KNOTS)
        self._knots = sorted({int(np.abs(self._scale - place).argmin()) for place in even})

    def report(self) -> None:
        """Count one more plan."""
        self._done += 1
        if self.show is not None:
            self.show(self._done, self._expected)

    @cached_property
    def _expected(self) -> int:
        """About how many plans there will be."""
        forms = sum(len(list(list_forms(self.study, name, self._may_know))) for name in self.study.attributes)
        return len(self._knots) * (forms // 2 + len(self.parts)) + 10

    def measure_part(self, study: Any, wants: Wants, epsilon: float) -> tuple[Need, ...]:
        """What a part needs at an epsilon."""
        self.report()
        return measure(raise_epsilon(study, epsilon), wants, self.people)

    @cached_property
    def factors(self) -> Floats:
        """The planner's number of people by the count of needs, at each epsilon; 1 where these are near.

        They are not where a study names a record mechanism, or caps.
        """
        total = self.count([self.loads[part] for part in range(len(self.parts))], False)
        if 1 / SLACK <= self._needed / total[0] <= SLACK:
            return np.ones(len(self.epsilons))
        return self._interpolate([self._count_planned(knot) / total[knot] for knot in self._knots])

    def _count_planned(self, place: int) -> float:
        """How many people the study takes at an epsilon, by the planner."""
        self.report()
        plan = raise_epsilon(self.study, self.epsilons[place]).plan(self.people)
        return self._needed if place == 0 else count_people(plan, self.wants)

    @cached_property
    def loads(self) -> list[Load]:
        """What each part adds as it is."""
        return [self._load(part, part.study) for part in self.parts]

    def _load(self, part: Part, study: Any) -> Load:
        """What a part adds once it is changed to this study."""
        needs = [self.measure_part(study, part.wants, self.epsilons[knot]) for knot in self._knots]
        rows = [self._sum(part, at_knot) for at_knot in needs]
        total, worst, draws, apart = zip(*rows, strict=True)
        curves = self._interpolate(total), self._interpolate(worst), draws[0], self._interpolate(apart)
        return Load(*curves, part, study)

    def _sum(self, part: Part, needs: Sequence[Need]) -> tuple[float, float, float, float]:
        """The sum of needs, the largest by importance, all draws by importance, and what stands apart."""
        drawn = [need for need in needs if not need.is_apart]
        weights = [need.draws * self._weigh(part, need) for need in drawn]
        return (
            math.fsum(need.people for need in drawn),
            max((need.people / weight for need, weight in zip(drawn, weights, strict=True)), default=0.0),
            math.fsum(weights),
            max((need.people for need in needs if need.is_apart), default=0.0),
        )

    def _weigh(self, part: Part, need: Need) -> float:
        names = part.names if len(part.names) == 1 else need.keys
        importance = self.study.importance
        usual = [importance.get(name, 1.0) for key in names for name in (key, *key.split(" x "))]
        stated = [importance[name] for name in names if name in importance]
        return float(max(stated or usual))

    def _interpolate(self, values: Sequence[float]) -> Floats:
        """Between the knots, by a parabola of logarithms along the variance of unary reports."""
        knots = self._scale[self._knots]
        logs = np.log(np.maximum(values, _LEAST_PEOPLE))
        if not np.isfinite(logs).all():
            return np.full(len(self.epsilons), math.inf)
        curve = np.polynomial.Polynomial.fit(knots, logs, len(knots) - 1) if len(knots) > 1 else None
        return np.asarray(np.exp(logs[:1] if curve is None else curve(self._scale)))

    @cached_property
    def options(self) -> list[list[Option]]:
        """What can be changed of each part; of parts that are alike, in one list for all."""
        return [list(self._list_options(places)) for places in self._group_alike()]

    def _group_alike(self) -> list[tuple[int, ...]]:
        """Parts of one question that are the same but for their names."""
        groups: dict[object, list[int]] = {}
        for place, part in enumerate(self.parts):
            forms = tuple(form_of(change) for change in list_forms(self.study, part.names[0], self._may_know))
            key = (part.study, part.wants, forms) if len(part.names) == 1 else place
            groups.setdefault(key, []).append(place)
        return list(map(tuple, groups.values()))

    def _list_options(self, places: tuple[int, ...]) -> Iterator[Option]:
        """The changes of up to three parts that are alike; one change of wording may be that of many."""
        forms = list(self._list_loaded(places[0]))
        for count in range(1, min(MOST_CHANGES, len(places)) + 1):
            for chosen in combinations_with_replacement(forms, count):
                can_grow = [changes[0].kind in WORDINGS and len(places) > 1 for changes, _ in chosen]
                if any(
                    mine is other and grows
                    for mine, other, grows in zip(chosen, chosen[1:], can_grow, strict=False)
                ):
                    continue
                for sizes in product(*(range(1, len(places) + 1) if grows else (1,) for grows in can_grow)):
                    if sum(sizes) <= len(places):
                        yield self._spread(places, chosen, sizes)

    def _spread(
        self, places: tuple[int, ...], chosen: Sequence[tuple[tuple[Change, ...], Load]], sizes: Sequence[int]
    ) -> Option:
        """Each change to as many of the parts that are alike, from the last one on."""
        rest, changed = list(places), list[int]()
        changes, loads = list[Change](), list[Load]()
        for (forms, load), size in zip(chosen, sizes, strict=True):
            taken, rest = rest[len(rest) - size :], rest[: len(rest) - size]
            changed += taken
            loads += [load] * size
            if size == 1 and len(self.parts[taken[0]].names) > 1:
                changes += forms
            else:
                changes += [form.of([self.parts[place].names[0] for place in taken]) for form in forms]
        return Option(tuple(changed), tuple(changes), tuple(loads))

    def _list_loaded(self, place: int) -> Iterator[tuple[tuple[Change, ...], Load]]:
        """The changes of a part with what they leave, if they are possible."""
        part = self.parts[place]
        by_question = [list(list_forms(self.study, name, self._may_know)) for name in part.names]
        sets: list[tuple[Change, ...]] = [(form,) for forms in by_question for form in forms]
        if len(part.names) == _MOST_JOINED:
            sets += list(product(*by_question))
        for forms in sets:
            changed = self._change(part, forms)
            if changed is not None:
                yield forms, changed

    def _change(self, part: Part, forms: Sequence[Change]) -> Load | None:
        gone = {
            name for form in forms if form.kind in ("dropped", "apart", "known") for name in form.questions
        }
        nothing = np.zeros(len(self.epsilons))
        if gone >= set(part.names):
            return Load(nothing, nothing, 0.0, nothing)
        study = part.study
        try:
            for form in forms:
                names = form.questions if form.questions[0] in part.study.attributes else (COMMON,)
                study = apply_change(study, replace(form, questions=names))
            return self._load(part, study)
        except DeniableError:
            return None

    def count(self, loads: Sequence[Load], is_weighed: bool) -> Floats:
        """How many people it takes at each epsilon, about."""
        load = _add_up(loads)
        return np.maximum(load.total if is_weighed else load.worst * load.draws, load.apart)

    def count_apart(self, candidate: Candidate) -> float:
        """About how many people the study apart takes, of what a candidate asks apart."""
        names = {name for change in candidate.changes if change.kind == "apart" for name in change.questions}
        loads = [
            load for part, load in zip(self.parts, self.loads, strict=True) if names.issuperset(part.names)
        ]
        return float(self.count(loads, False)[candidate.place]) if loads else 0.0

    def recount(self, candidate: Candidate) -> float:
        """How many people a candidate takes, by needs that are planned at its own epsilon."""
        loads = [
            self._plan_load(load, load.part, candidate.place)
            for load in candidate.loads
            if load.part is not None
        ]
        count = self.count(loads, candidate.has("importance"))
        return float(count[0] * self.factors[candidate.place])

    def _plan_load(self, load: Load, part: Part, place: int) -> Load:
        key = id(load), place
        if key not in self._planned:
            needs = self.measure_part(load.study, part.wants, self.epsilons[place])
            total, worst, draws, apart = self._sum(part, needs)
            self._planned[key] = Load(np.array([total]), np.array([worst]), draws, np.array([apart]))
        return self._planned[key]

    def list_candidates(self) -> list[Candidate]:
        """All sets that may be enough, the gentlest first."""
        candidates = [
            replace(candidate, loads=loads)
            for changes, loads, total in self._list_sets()
            for candidate in self._close(changes, total)
        ]
        return sorted(candidates, key=lambda candidate: candidate.score)

    def _list_sets(self) -> Iterator[tuple[tuple[Change, ...], tuple[Load, ...], Floats]]:
        """All sets of changes of questions, with and without importance, and how many people they take."""
        everything = range(len(self.parts))
        draw = Change("importance", SCORES["importance"])
        can_weigh = not self.study.objective.is_absolute and len(self.parts) > 1
        sums: dict[frozenset[int], Load] = {}
        for options in self._combine():
            changed = frozenset(place for option in options for place in option.parts)
            changes = tuple(change for option in options for change in option.changes)
            unchanged = tuple(self.loads[place] for place in everything if place not in changed)
            chosen = tuple(load for option in options for load in option.loads)
            if changed not in sums:
                sums[changed] = _add_up(unchanged)
            loads, summed = (*unchanged, *chosen), (sums[changed], *chosen)
            yield changes, loads, self.count(summed, False) * self.factors
            if can_weigh and len(changes) < MOST_CHANGES:
                yield (*changes, draw), loads, self.count(summed, True) * self.factors

    def _combine(self) -> Iterator[tuple[Option, ...]]:
        for count in range(MOST_CHANGES + 1):
            for groups in combinations(self.options, count):
                for options in product(*groups):
                    if sum(len(option.changes) for option in options) <= MOST_CHANGES:
                        yield options

    def _close(self, changes: tuple[Change, ...], total: Floats) -> Iterator[Candidate]:
        """The set as it is, with the epsilons that may be enough, and with more people."""
        score = math.fsum(change.score for change in changes)
        if changes and total[0] <= SLACK * self.people:
            yield Candidate(changes, score, total[0])
        if len(changes) == MOST_CHANGES:
            return
        epsilon = find_epsilon(self.study)
        for place in range(1, len(self.epsilons)):
            if total[place] <= SLACK * _ROUGHLY * self.people:
                raised = self.epsilons[place]
                change = Change(
                    "epsilon", SCORES["epsilon"] * (raised - self.epsilons[0]), (), raised, epsilon or 0
                )
                yield Candidate((*changes, change), score + change.score, total[place], place)
                if total[place] * SLACK * _ROUGHLY <= self.people:
                    break
        if total[0] * SLACK > self.people and math.isfinite(total[0]):
            people = max(math.ceil(total[0]), self.people + 1)
            change = ask_more(self.people, people)
            yield Candidate((*changes, change), score + change.score, total[0])


def ask_more(before: int, people: int) -> Change:
    """The change to more people."""
    return Change("people", SCORES["people"] * math.log2(people / before), (), people, before)
