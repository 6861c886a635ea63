"""Holds what a plan says (attributes, mechanism, policies) and what that gives away, and writes both.

Losses are stated in billionths of a nat, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final, get_args

from deniable.domain import Domain, checked_text
from deniable.errors import InvalidParameter, not_among
from deniable.exact import whole_number
from deniable.mechanisms import ExactMechanism
from deniable.metric import Averaged, MetricMechanism
from deniable.plan.losses import Loss
from deniable.plan.notation import domain_from_dict, domain_to_dict, record_from_dict, record_to_dict
from deniable.plan.strict import (
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_list,
    checked_string,
)
from deniable.plan.units import check_fit, refuse_together, rest_loss, unit_loss
from deniable.records import RecordMechanism, as_record_mechanism
from deniable.rounds import Losses, Repeated

VERSION = 2
NO_ANSWER_LABEL = "no answer"
MOST_ROUNDS = 1000

Missing = Literal["refuse", "value", "random"]
POLICIES: tuple[Missing, ...] = get_args(Missing)


@final
@dataclass(frozen=True)
class Attribute:
    """What is asked under one name."""

    name: str
    domain: Domain

    def __post_init__(self) -> None:
        checked_text(self.name, "an attribute's name")


@final
@dataclass(frozen=True)
class Content:
    """All that a plan says but for its losses and its id, which follow from it."""

    attributes: tuple[Attribute, ...]
    mechanism: RecordMechanism
    """How a record becomes a report."""
    people: int
    title: str = ""
    missing: Missing = "refuse"
    rounds: int | None = None
    """How many collections the losses are stated for, where the study asks again."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", checked_people(self.people))
        if self.title:
            checked_text(self.title, "a title")
        if self.missing not in POLICIES:
            raise InvalidParameter(not_among(str(self.missing), "a policy for missing answers", POLICIES))
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InvalidParameter(f"the attribute {twice!r} is there twice")
        object.__setattr__(self, "mechanism", as_record_mechanism(self.mechanism).drop_claim())
        self._check_sizes()
        self._check_rounds()
        refuse_together(names, self.mechanism, self.missing, self.rounds is not None)

    def _check_sizes(self) -> None:
        if len(self.parts) != len(self.attributes):
            raise InvalidParameter(
                f"there are {len(self.attributes)} attributes, but mechanisms for {len(self.parts)}"
            )
        for attribute, part in zip(self.attributes, self.parts, strict=True):
            if self.missing == "value" and NO_ANSWER_LABEL in attribute.domain.labels:
                raise InvalidParameter(
                    f"{attribute.name!r} has a value {NO_ANSWER_LABEL!r} already; refuse missing answers"
                )
            check_fit(attribute.name, attribute.domain, part)
            if part.k != self.size(attribute):
                raise InvalidParameter(
                    f"{attribute.name!r} has {self.size(attribute)} values, its mechanism {part.k}"
                )

    def _check_rounds(self) -> None:
        repeated = [isinstance(part, Repeated) for part in self.parts]
        if any(repeated) != all(repeated):
            raise InvalidParameter("either all attributes are asked again and again, or none is")
        if any(repeated):
            rounds = whole_number("rounds, the number of collections,", self.rounds, 1, MOST_ROUNDS)
            object.__setattr__(self, "rounds", rounds)
        elif self.rounds is not None:
            raise InvalidParameter("rounds are for studies that ask again; these mechanisms answer once")

    @property
    def parts(self) -> tuple[ExactMechanism, ...]:
        """One mechanism per attribute."""
        return self.mechanism.mechanisms

    @property
    def has_no_answer(self) -> bool:
        """Whether no answer could be a value of every attribute: beside distances, and numbers, there is no
        place for it.
        """
        return not any(isinstance(part, MetricMechanism | Averaged) for part in self.parts)

    def size(self, attribute: Attribute) -> int:
        """How many values the mechanism of an attribute has: no answer may be one of them."""
        return attribute.domain.k + (self.missing == "value")

    def labels(self, attribute: Attribute) -> tuple[str, ...]:
        """The values' names, no answer among them where it is a value."""
        return attribute.domain.labels + ((NO_ANSWER_LABEL,) if self.missing == "value" else ())

    def loss(self) -> Loss:
        """Recomputed from the integers alone."""
        record, attribute = self.mechanism.loss("record"), self.mechanism.loss("attribute")
        pairs = zip(self.attributes, self.parts, strict=True)
        units = tuple(found for one, part in pairs if (found := unit_loss(one.name, part)) is not None)
        return Loss(record, attribute, self._repeated(), rest_loss(self.mechanism) if units else None, units)

    def _repeated(self) -> Losses | None:
        """All attributes that one person reports, together; which ones is drawn once and kept."""
        if self.rounds is None:
            return None
        each = [part.losses(self.rounds, self.rounds) for part in self.parts if isinstance(part, Repeated)]

        def together(figure: Callable[[Losses], float]) -> float:
            worst = self.mechanism.select_largest(list(map(figure, each)))
            return math.inf if math.inf in worst else _up(sum(map(Fraction, worst), Fraction(0)))

        return Losses(
            one_report=together(lambda losses: losses.one_report),
            same_value=together(lambda losses: losses.same_value),
            one_value_forever=together(lambda losses: losses.one_value_forever),
            changing_values=together(lambda losses: losses.changing_values),
            changing_values_usual=together(lambda losses: losses.changing_values_usual),
            reports=self.rounds,
            rounds=self.rounds,
        )

    def to_dict(self) -> Json:
        """The document, without losses and id."""
        return {
            "attributes": [
                {"name": attribute.name, "domain": domain_to_dict(attribute.domain)}
                for attribute in self.attributes
            ],
            "missing": self.missing,
            "people": self.people,
            "rounds": self.rounds,
            "mechanism": record_to_dict(self.mechanism),
            "title": self.title,
            "version": VERSION,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Content:
        """Back from `to_dict`; whatever is not just as it would have been written is refused."""
        checked_fields(
            data, "the plan", ("attributes", "mechanism", "missing", "people", "rounds", "title", "version")
        )
        attributes = []
        for given in checked_list(data["attributes"], "attributes"):
            one = checked_fields(given, "an attribute", ("name", "domain"))
            attributes.append(Attribute(checked_string(one["name"], "name"), domain_from_dict(one["domain"])))
        content = Content(
            attributes=tuple(attributes),
            mechanism=record_from_dict(data["mechanism"], [attribute.domain.k for attribute in attributes]),
            people=checked_integer(data["people"], "people"),
            title=checked_string(data["title"], "title"),
            missing=data["missing"],
            rounds=None if data["rounds"] is None else checked_integer(data["rounds"], "rounds"),
        )
        if content.to_dict() != data:
            raise InvalidPlan(
                "the plan is not in its canonical form: it says the same thing otherwise than it is written"
            )
        return content


def checked_people(people: object) -> int:
    """How many people are asked: a whole number, which may be written as 1e5."""
    return whole_number(
        "people", int(people) if isinstance(people, float) and people.is_integer() else people, 1, 1 << 53
    )


def _up(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
