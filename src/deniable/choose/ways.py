"""Defines a way to ask: which attributes a person reports, at which budgets, with which protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from deniable.choose.candidate import influence_of, one_in
from deniable.choose.caps import Selection, select_options
from deniable.choose.options import AT_ONCE, CAPPED, CLASSICAL, Option, fake, given_name, mechanisms
from deniable.choose.task import BLOCKS, SINGLE, UNEQUAL, Task, count_reported
from deniable.errors import InvalidParameter
from deniable.law.law import ReportLaw
from deniable.mechanisms import ExactMechanism
from deniable.records import Fake, Faked, Prior, RecordMechanism, Sample, Single, Split, equal_part
from deniable.records.named import largest_budget
from deniable.records.sample import MOST_WEIGHT

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
        if self.kind == BLOCKS:
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


def settle_protocols(task: Task, way: Way, among: Sequence[tuple[str, ...]], lean: bool) -> Selection:
    """Each attribute's protocol, at the budget that this one gives its parts."""
    sample_size = way.sample_size

    def at(budgets: Sequence[float]) -> Selection:
        options = [list_options(task, way, j, names, budgets[j]) for j, names in enumerate(among)]
        return select_options(options, task, sample_size, lean)

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
        name: str, mechanism: ExactMechanism | Fake, law: ReportLaw, one_in: float, prior: Prior | None
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
        mechanism = fake(name, k, budget, prior if way.kind == "RS+RFD" else None, task.forever)
        if isinstance(mechanism, str):
            refused.append(mechanism)
        else:
            add(name, mechanism, Faked((mechanism,) * task.d).marginal(0), 1.0, prior)

    if attribute in task.fixed:
        mechanism = task.fixed[attribute]
        known = None if mechanism.numeric else prior  # a number's guess is about halves of its range
        add(given_name(mechanism), mechanism, mechanism.law, one_in(mechanism, often), known)
        return options
    for name in names:
        (offer_fake if way.faked else offer)(name)
    if (
        cap is not None
        and names in (CLASSICAL, AT_ONCE)
        and options
        and min(options, key=lambda option: option.order).success > cap
    ):
        for name in CAPPED:
            offer(name)
    if not options:
        # the positions of a number are not the values of an attribute
        size = f" with {k:,} values" if k <= _MOST_COUNTED else ""
        raise InvalidParameter(f"{task.label(attribute)}{size}: {refused[0]}")
    return options


def _build_faked(chosen: Sequence[Option], epsilon: float) -> Faked:
    return Faked(tuple(option.mechanism for option in chosen if isinstance(option.mechanism, Fake)), epsilon)
