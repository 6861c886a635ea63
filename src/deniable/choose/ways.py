"""Defines a way to ask: which attributes a person reports, at which budgets, with which protocols.

Of the options for each attribute those are picked that err least, under the caps on a guess and on bytes. A
lean pick takes the smallest report among those that err hardly more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from deniable.choose.candidate import (
    CAPPED,
    HASHED_ALONE,
    Option,
    fakes,
    given_name,
    influence_of,
    mechanisms,
    one_in,
)
from deniable.choose.objective import Objective
from deniable.choose.task import BLOCKS, NEAR, SINGLE, UNEQUAL, Task, count_reported
from deniable.errors import InvalidParameter
from deniable.formatting import format_digits
from deniable.law.law import ReportLaw
from deniable.mechanisms import Mechanism
from deniable.records import Fake, Faked, Prior, RecordMechanism, Sample, Single, Split, equal_part
from deniable.records.named import largest_budget
from deniable.records.sample import MOST_WEIGHT, count_name_bytes

Selection = tuple[list[Option], str | None]
"""One option per attribute, and why they are excluded together."""

_MOST_COUNTED = 1 << 32
_HUNDREDTHS = 100


@final
@dataclass(frozen=True)
class Way:
    """Which attributes a person reports: by a name of the papers, and which of them everybody does."""

    kind: str
    everybody: tuple[int, ...] = ()
    weighted: bool = False
    """Whether the attribute that is sampled is drawn by importance."""
    budgets: tuple[float, ...] = ()
    """The part of epsilon that each attribute has, where parts are not equal."""
    weights: tuple[int, ...] = ()
    """How often each sampled attribute is drawn, where that is by its error."""

    @property
    def title(self) -> str:
        """What the table of choices calls it."""
        return UNEQUAL if self.budgets else self.kind

    @property
    def faked(self) -> bool:
        """Whether one attribute is real and the others are fakes."""
        return self.kind in ("RS+FD", "RS+RFD")

    @property
    def sample_size(self) -> int | None:
        """How many attributes a person samples and names, of those that not everybody reports."""
        return 1 if self.kind == BLOCKS else count_reported(self.kind)

    def sampled(self, task: Task) -> list[int]:
        """The attributes that are sampled."""
        return [j for j in range(task.d) if j not in self.everybody]

    def chance(self, task: Task, attribute: int) -> Fraction:
        """How likely a report holds an attribute."""
        size = self.sample_size
        if size is None or attribute in self.everybody:
            return Fraction(1)
        weights = self._weights(task)
        if weights is None:
            return Fraction(size, len(self.sampled(task)))
        return Fraction(weights[self.sampled(task).index(attribute)], sum(weights))

    def _weights(self, task: Task) -> tuple[int, ...] | None:
        """How often each sampled attribute is drawn, in hundredths of an ordinary one where these fit."""
        if self.weights:
            return self.weights
        if not self.weighted:
            return None
        importance = [task.importance[j] for j in self.sampled(task)]
        scale = min(_HUNDREDTHS, (MOST_WEIGHT - len(importance)) / sum(importance))
        return tuple(max(1, round(scale * weight)) for weight in importance)

    def list_budgets(self, task: Task) -> tuple[float, ...]:
        """What each attribute of a report may lose."""
        return self.budgets or (self._equal_part(task),) * task.d

    def _equal_part(self, task: Task) -> float:
        """What each attribute of a report may lose of the epsilon that they share, if parts are equal."""
        if task.per == "attribute" or self.faked:
            return task.epsilon
        sharing = task.sharing
        if self.kind == NEAR:
            sharing -= sum(len(members.places) - 1 for members in task.together)
        elif self.kind == BLOCKS:
            sharing = 1 + sum(j not in task.fixed for j in self.everybody)
        elif self.kind != "SPL":
            sharing = min(count_reported(self.kind) or 1, sharing)
        return equal_part(task.epsilon, max(sharing, 1))

    def build(self, task: Task, chosen: Sequence[Option]) -> tuple[RecordMechanism, tuple[int, ...]]:
        """The record mechanism, and the attributes in the order in which it has them."""
        parts, order = tuple(option.part for option in chosen), tuple(range(task.d))
        if self.kind == SINGLE:
            return Single(parts[0]), order
        if self.kind == "SPL":
            return Split(parts), order
        if self.kind == NEAR:
            return self._build_near(task, parts)
        if self.kind == BLOCKS:
            sampled = self.sampled(task)
            before = [j for j in self.everybody if j < sampled[0]]
            after = [j for j in self.everybody if j > sampled[0]]
            block = Sample(tuple(parts[j] for j in sampled), weights=self._weights(task))
            split = Split((*(parts[j] for j in before), block, *(parts[j] for j in after)))
            return split, (*before, *sampled, *after)
        size = count_reported(self.kind)
        if size is None:
            return _build_faked(chosen, task.epsilon), order
        return Sample(parts, size, self._weights(task)), order

    def _build_near(self, task: Task, parts: Sequence[Mechanism]) -> tuple[RecordMechanism, tuple[int, ...]]:
        """One near report for all attributes that go together, and each other attribute by itself."""
        budget = self._equal_part(task)
        members: list[tuple[tuple[int, ...], Mechanism | RecordMechanism]] = [
            (together.places, together.build(budget)) for together in task.together
        ]
        inside = {j for places, _ in members for j in places}
        members += [((j,), part) for j, part in enumerate(parts) if j not in inside]
        members.sort(key=lambda member: member[0][0])
        order = tuple(j for places, _ in members for j in places)
        if len(members) > 1:
            return Split(tuple(member for _, member in members)), order
        only = members[0][1]
        assert isinstance(only, RecordMechanism), "attributes go together"
        return only, order


def settle_protocols(task: Task, way: Way, among: Sequence[tuple[str, ...]], lean: bool) -> Selection:
    """Each attribute's protocol, at the budget that this one gives its parts."""
    sample_size = way.sample_size

    def at(budgets: Sequence[float]) -> Selection:
        options = [list_options(task, way, j, names, budgets[j]) for j, names in enumerate(among)]
        return _select_options(options, task, sample_size, lean)

    if not way.faked or task.per == "record":
        return at(way.list_budgets(task))

    def loss(budget: float) -> float:
        return _build_faked(at([budget] * task.d)[0], task.epsilon).loss("attribute")

    return at([largest_budget(loss, task.epsilon, task.d)] * task.d)


def list_options(task: Task, way: Way, attribute: int, names: Sequence[str], budget: float) -> list[Option]:
    """What an attribute can have; a name that has nothing for this size and budget is passed over."""
    question, objective = task.questions[attribute], task.objective
    k, cap = question.k, objective.success_cap
    prior = None if task.priors is None else task.priors[attribute]
    often = way.chance(task, attribute)
    options: list[Option] = []
    refused: list[str] = []

    def add(
        name: str, mechanism: Mechanism | Fake, law: ReportLaw, one_in: float, prior: Prior | None
    ) -> None:
        influence = 1.0 if objective.influence_cap is None else influence_of(law, one_in)
        unit = objective.unit(question.readings, law, one_in)
        options.append(Option(name, mechanism, unit, prior, question.importance, influence))

    def offer(name: str) -> None:
        for mechanism in mechanisms(name, k, budget, task.forever, cap, objective.f):
            if isinstance(mechanism, str):
                refused.append(mechanism)
            else:
                add(name, mechanism, mechanism.law, one_in(mechanism, often), prior)

    def offer_fake(name: str) -> None:
        for mechanism in fakes(name, k, budget, prior if way.kind == "RS+RFD" else None, task.forever):
            if isinstance(mechanism, str):
                refused.append(mechanism)
            else:
                law = Faked((mechanism,) * task.d).marginal(0)
                add(name, mechanism, law, one_in(mechanism.part, Fraction(1)), prior)

    together = [members for members in task.together if way.kind == NEAR and attribute in members.places]
    if together:
        tick = together[0].build(budget).tick
        add(together[0].protocol, tick, tick.law, 1.0, prior)
        return options
    if attribute in task.fixed:
        mechanism = task.fixed[attribute]
        known = None if mechanism.numeric else prior  # a number's guess is about halves of its range
        add(given_name(mechanism), mechanism, mechanism.law, one_in(mechanism, often), known)
        return options
    for name in names:
        (offer_fake if way.faked else offer)(name)
    if (
        cap is not None
        and options
        and task.protocols[attribute] is None
        and "grr" in names  # no mean of a number
        and not (way.faked or task.forever)
        and min(options, key=lambda option: option.order).success > cap
    ):
        for name in CAPPED:
            if objective.counted_in == "collector" or name not in HASHED_ALONE:
                offer(name)
    if not options:
        # the positions of a number are not the values of an attribute
        size = f" with {k:,} values" if k <= _MOST_COUNTED else ""
        raise InvalidParameter(f"{task.label(attribute)}{size}: {refused[0]}")
    limit = task.limit
    if limit is not None:
        options = [option for option in options if limit.refuse(option.part) is None] or options
    return options


def _build_faked(chosen: Sequence[Option], epsilon: float) -> Faked:
    return Faked(tuple(option.mechanism for option in chosen if isinstance(option.mechanism, Fake)), epsilon)


def _select_options(
    options: Sequence[Sequence[Option]], task: Task, sample_size: int | None, lean: bool = False
) -> Selection:
    """For each attribute the option that errs least under the caps; or the nearest to them, and why."""
    tolerance = task.objective.tolerance if lean else 0.0
    cap, most = task.objective.success_cap, task.objective.bytes_cap
    least = [min(choices, key=lambda option: option.order) for choices in options]
    fitting, most_influence = options, task.objective.influence_cap
    if most_influence is not None:
        options = [
            [option for option in choices if option.influence <= most_influence] for choices in options
        ]
        for j, choices in enumerate(options):
            if not choices:
                return _least_influence(fitting), _above_influence(task.label(j), fitting[j], most_influence)
        fitting = options
    if cap is not None:
        fitting = [[option for option in choices if option.success <= cap] for choices in options]
        for j, choices in enumerate(fitting):
            if not choices:
                nearest = [
                    min(fits or rest, key=_nearest(bool(fits)))
                    for fits, rest in zip(fitting, options, strict=True)
                ]
                return nearest, _above_cap(task.label(j), nearest[j], cap)
    if most is None:
        return [_pick(choices, tolerance) for choices in fitting], None
    names = 0 if sample_size is None else count_name_bytes(sample_size, task.d)
    fitted = _within(fitting, most - names, sample_size or task.d, task)
    if fitted is None:
        sizes = sorted(min(option.size for option in choices) for choices in fitting)
        smallest = names + sum(sizes[task.d - (sample_size or task.d) :])
        return least, f"a report takes {smallest} bytes or more, the cap is {most}"
    return fitted, None


def _pick(options: Sequence[Option], tolerance: float) -> Option:
    """The smallest report among the options whose standard error is at most this much above the least."""
    least = min(options, key=lambda option: option.order)
    precise = [option for option in options if option.unit <= least.unit * (1 + tolerance) ** 2]
    return min(precise, key=lambda option: (option.size, option.order)) if tolerance else least


def _least_influence(options: Sequence[Sequence[Option]]) -> list[Option]:
    return [min(choices, key=lambda option: option.influence) for choices in options]


def _above_influence(label: str, options: Sequence[Option], cap: float) -> str:
    """Why no option keeps a cap on fake reports: less epsilon for each attribute leaves more to a report."""
    (least,) = _least_influence([options])
    counts = format_digits(least.influence, 3)
    return (
        f"a fake report of {label} counts for {counts} people or more ({least.name}), the cap "
        f"is {cap:g}; a larger epsilon, or fewer attributes, leaves fake reports less"
    )


def _nearest(fits: bool) -> Callable[[Option], tuple[float, int]]:
    """The least error under the cap; where nothing keeps it, the hardest guess."""
    return (lambda option: option.order) if fits else (lambda option: (option.success, option.size))


def _above_cap(label: str, nearest: Option, cap: float) -> str:
    """Why no option keeps a cap on the guess: it is below a blind guess, or this epsilon reveals too much."""
    blind, known = nearest.blind, "" if nearest.prior is None else " by an attacker with the public prior"
    if cap < blind:
        return (
            f"a blind guess of {label}{known} is already right for {100 * blind:.4g} % of people, without "
            f"any report, and the cap is {100 * cap:.4g} %; give one above {100 * blind:.4g} %"
        )
    often = f"with probability {nearest.success:.4g} or more ({nearest.name})"
    return f"a guess of {label}{known} is right {often}, the cap is {cap:g}"


def _within(options: Sequence[Sequence[Option]], room: int, reported: int, task: Task) -> list[Option] | None:
    """The best options of which any `reported` fit into `room` together, exactly.

    The r largest of some sizes sum to the least, over all limits T, of r T and what exceeds T in each. So
    every T has its own knapsack, and the best of them is the best of all. Where all are reported T is 0,
    where one is, T is the whole room.
    """
    d, objective = task.d, task.objective
    if reported == d:
        limits = [0]
    elif reported == 1:
        limits = [room]
    else:
        limits = sorted(
            {0, *(option.size for choices in options for option in choices if option.size * reported <= room)}
        )
    fits = [_fit(options, room - reported * limit, limit, objective) for limit in limits]

    def score(chosen: list[Option]) -> tuple[float, float]:
        costs = [_cost(option, objective) for option in chosen]
        return max(costs) if objective.worst else 0.0, sum(costs)

    return min((chosen for chosen in fits if chosen is not None), key=score, default=None)


def _cost(option: Option, objective: Objective) -> float:
    return objective.cost(option.unit, option.importance)


def _fit(
    options: Sequence[Sequence[Option]], room: int, free: int, objective: Objective
) -> list[Option] | None:
    """One option per attribute, with the least errors that fit into `room`; `free` bytes of each are free.

    It is a knapsack, solved exactly.
    """

    def size(option: Option) -> int:
        return max(option.size - free, 0)

    if sum(min(map(size, choices)) for choices in options) > room:
        return None
    if objective.worst:  # the smallest limit on every error that still fits
        limits = sorted({_cost(option, objective) for choices in options for option in choices})
        low, high = -1, len(limits) - 1
        while high - low > 1:
            middle = (low + high) // 2
            within = [
                [size(option) for option in choices if _cost(option, objective) <= limits[middle]]
                for choices in options
            ]
            fits = all(within) and sum(map(min, within)) <= room
            low, high = (low, middle) if fits else (middle, high)
        options = [
            [option for option in choices if _cost(option, objective) <= limits[high]] for choices in options
        ]
    frontier: list[tuple[int, float, tuple[Option, ...]]] = [(0, 0.0, ())]  # more bytes, less error
    for choices in options:
        grown = sorted(
            (
                (used + size(option), total + _cost(option, objective), (*chosen, option))
                for used, total, chosen in frontier
                for option in choices
                if used + size(option) <= room
            ),
            key=lambda state: state[:2],
        )
        frontier = []
        for state in grown:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    return list(frontier[-1][2])
