"""Divides the questions of a study into attributes, as the choice of mechanisms takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

from deniable.choose import Question, Wanted, list_readings
from deniable.domain import Product
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon
from deniable.explain.turnout import count_answered, infer_answered
from deniable.mechanisms import ExactMechanism
from deniable.plan.attribute import Attribute
from deniable.plan.levels import Leveled, divide_levels, find_leveled
from deniable.plan.metric_losses import metric_mechanism
from deniable.study.checks import MECHANISMS
from deniable.study.importance import weigh_attribute, weigh_pairs, weigh_readings
from deniable.study.level_choice import find_obstacle
from deniable.study.questionnaire import list_attributes, list_extras, read_policies
from deniable.study.together import join_attributes, read_target

if TYPE_CHECKING:
    from deniable.study.study import Study


@final
@dataclass(frozen=True, eq=False)
class Inquiry:
    """The attributes of a study, of which one question may have many, and what is known of each."""

    study: Study

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes, which questions with several options or in levels have many of."""
        return divide_levels(self.whole, self.leveled)

    @cached_property
    def leveled(self) -> Mapping[str, Leveled]:
        """How the questions are reported that have levels, by name."""
        found = {}
        for name, domain in self.study.attributes.items():
            own = find_leveled(domain, name, find_obstacle(self.study, name))
            if own is not None:
                found[name] = own
        return found

    @cached_property
    def whole(self) -> Mapping[str, Attribute]:
        """The attributes before they are divided into levels."""
        study = self.study
        policies = read_policies(study.missing, list(study.attributes))
        secret = {name: one for name, one in study.attributes.items() if name not in study.known}
        found = list_attributes(secret, policies, study.only_if)
        if not self.together:
            return found
        epsilon = study.epsilon_first if study.epsilon is None else study.epsilon
        kind = "SMP" if study.mechanism is None else MECHANISMS.get(str(study.mechanism), "SMP")
        if kind == "SPL" and study.per == "attribute":
            kind = "SMP"  # each table has the whole epsilon
        # a study without an epsilon, or with a wrong objective, is refused later
        budget = positive_epsilon(1.0 if epsilon is None else epsilon)
        wanted = Wanted((), (), budget, objective=study.objective, kind=kind)
        return join_attributes(found, self.together, wanted, study.importance)

    @cached_property
    def together(self) -> Sequence[Sequence[str]]:
        """The questions that are wanted together, those of a target included."""
        study = self.study
        return read_target(study.target, study.together, study.known, list(study.attributes))

    @cached_property
    def metric_mechanisms(self) -> Mapping[str, ExactMechanism]:
        """The mechanisms of metric attributes, by name."""
        found: dict[str, ExactMechanism] = {}
        for name, one in self.attributes.items():
            try:
                made = metric_mechanism(one.domain, name)
            except InvalidParameter as problem:
                raise InvalidParameter(
                    str(problem) if repr(name) in str(problem) else f"{name!r}: {problem}"
                ) from None
            if made is not None:
                found[name] = replace(made, kept=True) if self.study.repeated else made
        return found

    @property
    def sharing(self) -> bool:
        """Whether any attribute has a part of epsilon."""
        return any(one.domain.privacy != "metric" for one in self.attributes.values())

    def compile(self, one: Attribute) -> Attribute:
        """An attribute as a plan has it: without its privacy, which the mechanism has."""
        return replace(one, domain=one.domain.plain, answered=count_answered(self.turnout(one)))

    def turnout(self, one: Attribute) -> float:
        """The share of people who are expected to answer it."""
        names = one.columns if one.several is None else (one.several,)
        return min(self.expected.get(name, 1.0) for name in names)

    @cached_property
    def expected(self) -> dict[str, float]:
        """The same, of attributes that not everybody answers."""
        return infer_answered(self.study.answered, list(self.attributes.values()))

    @property
    def budget(self) -> float:
        """The epsilon that is shared; where nobody shares it, any."""
        return 1.0 if self.study.epsilon is None else float(self.study.epsilon)

    def build_task(
        self,
    ) -> tuple[dict[str, Question], str | Sequence[str] | dict[int, str | Sequence[str]] | None, str | None]:
        """Questions, protocols and record mechanism, as the choice takes them."""
        study = self.study
        ks = {name: self.question(one) for name, one in self.attributes.items()}
        protocols: str | Sequence[str] | dict[int, str | Sequence[str]] | None
        if isinstance(study.protocol, Mapping):
            named = [
                next((key for key in (one.name, one.several) if key in study.protocol), None)
                for one in self.attributes.values()
            ]
            protocols = {j: study.protocol[name] for j, name in enumerate(named) if name is not None}
        else:
            protocols = study.protocol
        return ks, protocols, None if study.mechanism is None else MECHANISMS[study.mechanism]

    def question(self, one: Attribute) -> Question:
        """An attribute as the choice takes it."""
        domain = one.domain
        k = domain.k + len(list_extras(one))  # a number's is not used
        readings = list_readings(domain, k, self.turnout(one))
        importance = weigh_attribute(one, self.study.importance)
        if isinstance(domain, Product):
            weights = weigh_pairs(self.together, self.study.importance)
            readings, importance = weigh_readings(domain, readings, weights)
        return Question(
            k,
            readings,
            importance,
            self.metric_mechanisms.get(one.name),
            isinstance(domain, Number),
        )
