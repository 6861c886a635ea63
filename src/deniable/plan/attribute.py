"""Holds what is asked under one name: its values, what a missing answer means, and to whom it applies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final, get_args

import numpy as np

from deniable.arrays import Array
from deniable.domain import NO_ANSWER, Categories, Coarse, Domain, View, checked_text, refuse_missing
from deniable.domain.categories import list_allowed
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, MeanEstimate
from deniable.exact import whole_number
from deniable.mechanisms import Mechanism, Tally
from deniable.plan.metric_losses import describe_unit_loss
from deniable.plan.strict_json import Json, checked_fields, checked_integer, checked_list, checked_string
from deniable.randomness import Words

NO_ANSWER_LABEL = "no answer"
NOT_APPLICABLE = "not applicable"
YES_NO = Categories(["yes", "no"])
"""The values of an option that people tick, and of whether a question is answered."""
EVERYBODY = 1000
"""Shares of people who answer are in thousandths, since a plan has integers only."""

_TEXTS, _NUMBERS = ("missing", "several", "answers"), ("answered", "exactly", "at_most")
"""The fields of an attribute in a plan that it may lack."""

Missing = Literal["refuse", "value", "random"]
POLICIES: tuple[Missing, ...] = get_args(Missing)


@final
@dataclass(frozen=True)
class Condition:
    """An attribute is asked only of people who gave one of these answers to another one."""

    name: str
    values: tuple[str, ...]

    def describe(self) -> str:
        """In words.

        >>> Condition("works", ("full", "part")).describe()
        "'works' is full or part"
        """
        return f"{self.name!r} is {' or '.join(self.values)}"


@final
@dataclass(frozen=True)
class Attribute:
    """What is asked under one name."""

    name: str
    domain: Domain
    missing: Missing | None = None
    """What a missing answer means, where that is not what the plan says of the others."""
    only_if: Condition | None = None
    several: str | None = None
    """The question of which this is one option: people choose all that apply."""
    answers: str | None = None
    """The attribute of which this says whether it is answered, where no answer is none of its values."""
    answered: int | None = None
    """How many people in a thousand are expected to answer, where that is not all of them."""
    exactly: int | None = None
    """How many options of its question everybody chooses, where that is known."""
    at_most: int | None = None
    """How many options of its question people choose at most."""

    def __post_init__(self) -> None:
        checked_text(self.name, "an attribute's name")
        if self.missing is not None and self.missing not in POLICIES:
            text = not_among(str(self.missing), "a policy for missing answers", POLICIES)
            raise InvalidParameter(text, "missing")
        if self.several is not None:
            checked_text(self.several, "a question's name")
            if not self.option or self.domain != YES_NO:
                raise InvalidParameter(
                    f"{self.name!r} is an option of {self.several!r}: it is called '{self.several}: ...', "
                    "and its values are yes and no",
                    "questions",
                )
        if self.answers is not None and (self.several is not None or self.domain != YES_NO):
            raise InvalidParameter(
                f"{self.name!r} says whether {self.answers!r} is answered: its values are yes and no",
                "questions",
            )
        if self.several is None and (self.exactly, self.at_most) != (None, None):
            text = f"{self.name!r} is no option of a question, so that nobody chooses some of its options"
            raise InvalidParameter(text, "questions")
        if self.answered is not None:
            what = f"answered of {self.name!r}, people in a thousand who are expected to answer,"
            whole_number(what, self.answered, 1, EVERYBODY - 1, reason="answered")

    @property
    def columns(self) -> tuple[str, ...]:
        """Under which names answers are given: its own, or those of the questions that it is a view of."""
        return self.domain.names if isinstance(self.domain, View) else (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each of its columns has."""
        return self.domain.shape if isinstance(self.domain, View) else (self.domain.k,)

    @property
    def is_plain(self) -> bool:
        """Whether everybody has one answer, so that it can be made to agree with tables."""
        return not (self.only_if or self.several or self.answers)

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of what people are asked for it."""
        question = self.several or self.answers
        return self.columns if question is None else (question,)

    @property
    def option(self) -> str:
        """What this option is called in its question; empty where it is none."""
        start = f"{self.several}: "
        return self.name[len(start) :] if self.name.startswith(start) else ""

    @property
    def turnout(self) -> float:
        return 1.0 if self.answered is None else self.answered / EVERYBODY

    def to_dict(self, domain: Json) -> Json:
        fields: Json = {"name": self.name, "domain": domain}
        if self.only_if is not None:
            fields["only_if"] = {"name": self.only_if.name, "values": list(self.only_if.values)}
        optional = {name: getattr(self, name) for name in (*_TEXTS, *_NUMBERS)}
        return fields | {name: value for name, value in optional.items() if value is not None}

    @staticmethod
    def read_fields(data: object) -> Json:
        """The fields of an attribute but for its domain, from `to_dict`."""
        optional = ("only_if", *_TEXTS, *_NUMBERS)
        there = [name for name in optional if isinstance(data, dict) and name in data]
        fields = dict(checked_fields(data, "an attribute", ("name", "domain", *there)))
        for names, check in ((("name", *_TEXTS), checked_string), (_NUMBERS, checked_integer)):
            fields |= {name: check(fields[name], name) for name in names if name in fields}
        if "only_if" in fields:
            condition = checked_fields(fields["only_if"], "a condition", ("name", "values"))
            values = [
                checked_string(value, "a value") for value in checked_list(condition["values"], "values")
            ]
            fields["only_if"] = Condition(checked_string(condition["name"], "name"), tuple(values))
        return fields


def list_several(attributes: Sequence[Attribute]) -> dict[str, tuple[Attribute, ...]]:
    """The options of every question to which all answers that apply are given, by its name."""
    several: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        if attribute.several is not None:
            several.setdefault(attribute.several, []).append(attribute)
    return {name: tuple(options) for name, options in several.items()}


def find_allowed(options: Sequence[Attribute]) -> range | None:
    """How many of the options of a question people may choose; None where any number is."""
    return list_allowed(options[0].exactly, options[0].at_most, len(options))


def list_questions(attributes: Sequence[Attribute]) -> list[str]:
    """What people are asked, in order: attributes, but for options and for whether one is answered."""
    questions = (attribute for attribute in attributes if attribute.answers is None)
    return list(dict.fromkeys(name for attribute in questions for name in attribute.questions))


def list_changed(attributes: Sequence[Attribute]) -> dict[str, tuple[str, ...]]:
    """The attributes that an answer to each question can change: its own, and all that depend on these."""
    names_of: dict[str, list[str]] = {}
    depending: dict[str, list[str]] = {}
    for attribute in attributes:
        for question in attribute.questions:
            names_of.setdefault(question, []).append(attribute.name)
        if attribute.only_if is not None:
            depending.setdefault(attribute.only_if.name, []).append(attribute.name)
    changes = {}
    for question, names in names_of.items():
        changed = dict.fromkeys(names)
        rest = list(names)
        while rest:
            new = [name for name in depending.get(rest.pop(), ()) if name not in changed]
            changed |= dict.fromkeys(new)
            rest += new
        changes[question] = tuple(changed)
    return changes


def list_related(attributes: Sequence[Attribute]) -> list[tuple[str, ...]]:
    """The attributes that depend on each other, those on which others depend first."""
    by_name = {attribute.name: attribute for attribute in attributes}
    related: dict[str, list[str]] = {}
    for attribute in attributes:
        first = attribute
        while first.only_if is not None:
            first = by_name[first.only_if.name]
        related.setdefault(first.name, [first.name])
        if attribute is not first:
            related[first.name].append(attribute.name)
    return [tuple(names) for names in related.values() if len(names) > 1]


def list_domains(attributes: Sequence[Attribute]) -> dict[str, Domain]:
    """The values of every question that is neither one of several options nor asked with another one."""
    domains: dict[str, Domain] = {}
    for attribute in attributes:
        if isinstance(attribute.domain, View):
            domains |= attribute.domain.factors
        elif attribute.several is None and attribute.answers is None:
            domains[attribute.name] = attribute.domain
    return domains


def check_questions(
    attributes: Sequence[Attribute], extras: Mapping[str, Sequence[str]], usual: Missing = "refuse"
) -> None:
    """Refuse questions that do not fit together; `extras` are the values beside those of a domain, and
    `usual` is the policy of attributes that have none of their own.
    """
    by_name = {attribute.name: attribute for attribute in attributes}
    policies = {attribute.name: attribute.missing or usual for attribute in attributes}
    for name, options in list_several(attributes).items():
        if name in by_name or len(options) < 2:
            text = f"{name!r} has two options or more, and is not an attribute itself"
            raise InvalidParameter(text, "questions")
        limits = {(attribute.exactly, attribute.at_most) for attribute in options}
        applying = {(attribute.missing, attribute.only_if, attribute.answered) for attribute in options}
        if len(limits) > 1 or len(applying) > 1:
            text = (
                f"the options of {name!r} apply to the same people, who answer or not, and have one policy "
                "for missing answers and one limit on how many are chosen"
            )
            raise InvalidParameter(text, "questions")
        find_allowed(options)
    _check_tables(attributes)
    _check_levels(attributes, policies)
    for attribute in attributes:
        for label in extras[attribute.name]:
            if isinstance(attribute.domain, Categories) and label in attribute.domain.labels:
                raise InvalidParameter(
                    f"{attribute.name!r} has a value {label!r} already; call it otherwise", "no-answer"
                )
        if attribute.answers is not None:
            about = by_name.get(attribute.answers)
            if about is None or about.only_if != Condition(attribute.name, ("yes",)):
                raise InvalidParameter(
                    f"{attribute.name!r} says whether {attribute.answers!r} is answered, which is asked only "
                    "if it is",
                    "questions",
                )
        if attribute.only_if is not None:
            _check_condition(attribute, by_name)
        if attribute.answered is not None:
            refuse_answered(attribute, policies[attribute.name])


def refuse_answered(attribute: Attribute, policy: Missing) -> None:
    """Refuse a share of people who answer where all do, or where nobody knows who did."""
    question = attribute.several or attribute.name
    if policy == "random":
        raise InvalidParameter(
            f"answered of {question!r}: a missing answer is a random value, so nobody knows who answered; "
            'use missing = "value"',
            "answered",
        )
    if attribute.answers is not None or (attribute.only_if is None and policy != "value"):
        raise InvalidParameter(
            f"answered of {question!r}: everybody answers it; it is for questions with only_if, or with "
            'missing = "value"',
            "answered",
        )


def _check_tables(attributes: Sequence[Attribute]) -> None:
    """Refuse tables and levels of questions that are not the same wherever they are asked."""
    several = list_several(attributes)
    kinds: dict[str, tuple[Domain, Missing | None]] = {}
    for attribute in attributes:
        factors: tuple[tuple[str, Domain], ...] = ((attribute.name, attribute.domain),)
        if isinstance(attribute.domain, View):
            factors = attribute.domain.factors
            if attribute.name != attribute.domain.name or not attribute.is_plain:
                names = " and ".join(map(repr, attribute.domain.names))
                raise InvalidParameter(
                    f"{attribute.name!r} is a view of {names}, which everybody is asked: it is called "
                    f"{attribute.domain.name!r}",
                    "tables",
                )
        for name, domain in factors:
            kind = domain, attribute.missing
            if name in several or kinds.setdefault(name, kind) != kind:
                raise InvalidParameter(
                    f"{name!r} is asked in two ways; its values and what a missing answer means must be the "
                    "same in every table",
                    "tables",
                )


def list_levels(attributes: Sequence[Attribute]) -> dict[str, tuple[Attribute, ...]]:
    """The attributes that are levels of each question which has several, the coarsest first."""
    coarse = {attribute.domain.question for attribute in attributes if isinstance(attribute.domain, Coarse)}
    levels_of: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        if attribute.name in coarse or attribute.domain.is_level:
            levels_of.setdefault(attribute.columns[0], []).append(attribute)
    return {
        name: tuple(sorted(levels, key=lambda attribute: attribute.domain.k))
        for name, levels in levels_of.items()
    }


def _check_levels(attributes: Sequence[Attribute], policies: Mapping[str, Missing]) -> None:
    """Refuse levels of a question that is not an attribute itself, or that some do not answer."""
    for name, levels in list_levels(attributes).items():
        finest = next((level for level in levels if level.name == name), None)
        if finest is None:
            raise InvalidParameter(
                f"{levels[0].name!r} is a level of {name!r}, which must be an attribute itself", "tables"
            )
        if finest.only_if is not None or policies[name] == "value":
            raise InvalidParameter(
                f"{name!r} is reported in levels, so that everybody must have one of its values; "
                "ask a yes/no question beside it, or ask for it without levels",
                "tables",
            )


def _check_condition(attribute: Attribute, by_name: Mapping[str, Attribute]) -> None:
    assert attribute.only_if is not None
    parent = by_name.get(attribute.only_if.name)
    if parent is None:
        text = not_among(
            attribute.only_if.name, f"an attribute that {attribute.name!r} may depend on", by_name
        )
        raise InvalidParameter(text, "only-if")
    if not isinstance(parent.domain, Categories):
        raise InvalidParameter(
            f"{attribute.name!r} can depend on a list of values, and {parent.name!r} is none; ask a yes/no "
            "question beside it",
            "only-if",
        )
    values = attribute.only_if.values
    for value in values:
        if value not in parent.domain.labels:
            text = not_among(value, f"a value of {parent.name!r}", parent.domain.labels)
            raise InvalidParameter(text, "only-if")
    if not values or len(set(values)) < len(values) or len(values) == parent.domain.k:
        raise InvalidParameter(
            f"{attribute.name!r} is asked only if {parent.name!r} has some of its values, each named once",
            "only-if",
        )
    seen = {attribute.name}
    while parent is not None and parent.only_if is not None:
        if parent.name in seen:
            raise InvalidParameter(f"{attribute.name!r} depends on itself", "only-if")
        seen.add(parent.name)
        parent = by_name.get(parent.only_if.name)


@final
@dataclass(frozen=True)
class LabeledMechanism:
    """The mechanism of one attribute of a plan, for answers as people give them."""

    name: str
    domain: Domain
    mechanism: Mechanism
    labels: tuple[str, ...]
    """The values' names; the last one is "no answer", where that is a value."""

    @property
    def has_no_answer(self) -> bool:
        return self.labels[-1:] == (NO_ANSWER_LABEL,)

    def privatize(self, answers: object, words: Words | None = None) -> Array:
        """One report per answer; without words, from the operating system's."""
        codes = self.domain.codes(answers, self.name)
        if self.has_no_answer:
            codes = np.where(codes == NO_ANSWER, self.mechanism.k - 1, codes)
        refuse_missing(codes, self.name, self.domain.has_no_answer)
        return self.mechanism.privatize(codes, words)

    def tally(self, reports: Array) -> Tally:
        return self.mechanism.tally(reports)

    def estimate(self, tally: Tally) -> Estimate | MeanEstimate:
        """Unbiased shares with error bars, by label; of a number, its mean, from -1 to 1."""
        return self.mechanism.estimated(tally, None, self.labels)

    def describe(self) -> str:
        return f"{self.name}: {self.mechanism.describe(describe_unit_loss(self.mechanism, self.name))}"

    def __str__(self) -> str:
        return self.describe()
