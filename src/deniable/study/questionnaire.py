"""Makes the attributes of a study from its questions: options, conditions, and missing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from deniable.domain import Domain
from deniable.domain.answer import label_of
from deniable.domain.categories import Several
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, InvalidValue, find_nearest, not_among, suggest_name
from deniable.plan.attribute import (
    NO_ANSWER_LABEL,
    NOT_APPLICABLE,
    POLICIES,
    YES_NO,
    Attribute,
    Condition,
    Missing,
    check_questions,
)

Question = Domain | Several
_PAGE = 6
"""Questions of a page, unless a study names its pages."""


def is_filled(domain: Domain) -> bool:
    """Whether all values have a place, so that there is none for "no answer": metric values and numbers."""
    return isinstance(domain, Number) or domain.privacy == "metric"


def read_policies(missing: object, names: Sequence[str]) -> dict[str, Missing]:
    """What a missing answer means, by question; true is a value of its own, false is refused."""
    if not isinstance(missing, Mapping):
        return dict.fromkeys(names, _read_policy(missing, "missing"))
    for name in missing:
        if name not in names:
            raise InvalidParameter(not_among(str(name), "an attribute", names))
    return {name: _read_policy(missing.get(name, "refuse"), f"missing of {name!r}") for name in names}


def _read_policy(missing: object, what: str) -> Missing:
    if isinstance(missing, bool):
        return "value" if missing else "refuse"
    for policy in POLICIES:
        if missing == policy:
            return policy
    allowed = not_among(str(missing), "a policy for missing answers", POLICIES)
    raise InvalidParameter(allowed if what == "missing" else f"{what}: {allowed}")


def read_conditions(only_if: object, names: Sequence[str]) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """To whom questions apply, by name: {"hours": {"works": ("yes",)}}, from values or lists of them."""
    if not isinstance(only_if, Mapping):
        raise InvalidParameter(f"only_if is a dictionary by attribute, got {only_if!r}")
    conditions: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, condition in only_if.items():
        if name not in names:
            raise InvalidParameter(not_among(str(name), "an attribute", names))
        if not isinstance(condition, Mapping) or len(condition) != 1:
            raise InvalidParameter(
                f"only_if of {name!r} names one attribute and its values, such as "
                f'{{ works = "yes" }}, got {condition!r}'
            )
        (parent, values), *_ = condition.items()
        listed = values if isinstance(values, list | tuple) else [values]
        try:
            labels = [
                ("yes" if value else "no") if isinstance(value, bool) else label_of(value) for value in listed
            ]
            conditions[name] = MappingProxyType({str(parent): tuple(labels)})
        except InvalidValue as problem:
            raise InvalidParameter(f"only_if of {name!r}: {problem}") from None
    return conditions


def _find_condition(
    name: str, condition: Mapping[str, tuple[str, ...]], questions: Mapping[str, Question]
) -> Condition:
    (parent, labels), *_ = condition.items()
    order = list(questions)
    if parent not in order[: order.index(name)]:
        if parent in order:
            raise InvalidParameter(
                f"{name!r} is asked only if {parent!r} has some values, so {parent!r} must stand before it"
            )
        before = order[: order.index(name)]
        listed = f" ({', '.join(before)}){suggest_name(find_nearest(parent, before))}" if before else ""
        raise InvalidParameter(f"only_if of {name!r}: there is no question {parent!r} before it{listed}")
    about = questions[parent]
    if not isinstance(about, Several):
        return Condition(parent, labels)
    if len(labels) != 1 or labels[0] not in about.options:
        raise InvalidParameter(
            f"{name!r} can depend on one option of {parent!r} ({', '.join(about.options)}), got "
            f"{', '.join(labels)}"
        )
    return Condition(f"{parent}: {labels[0]}", ("yes",))


def list_attributes(
    questions: Mapping[str, Question],
    policies: Mapping[str, Missing],
    only_if: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> dict[str, Attribute]:
    """The attributes by name, with the privacy of their domains.

    An option is an attribute with yes and no. Where "no answer" cannot be one of the values, whether there is
    an answer is an attribute of its own, and a value is drawn for people without one.
    """
    attributes: dict[str, Attribute] = {}

    def add(attribute: Attribute) -> None:
        if attribute.name in attributes or (attribute.several is not None and attribute.name in questions):
            raise InvalidParameter(f"two attributes would be called {attribute.name!r}; rename one of them")
        attributes[attribute.name] = attribute

    for name, question in questions.items():
        policy = policies[name]
        condition = _find_condition(name, only_if[name], questions) if name in only_if else None
        if condition is not None:
            _refuse_random(name, policy, attributes.get(condition.name))
        if isinstance(question, Several):
            for option in question.options:
                attribute = Attribute(f"{name}: {option}", YES_NO, policy, condition, several=name)
                add(replace(attribute, exactly=question.exactly, at_most=question.at_most))
        elif policy == "value" and is_filled(question):
            answered = f"{name}: answered"
            if answered in questions:
                raise InvalidParameter(f"two attributes would be called {answered!r}; rename one of them")
            add(Attribute(answered, YES_NO, "refuse", condition, answers=name))
            add(Attribute(name, question, "refuse", Condition(answered, ("yes",))))
        else:
            add(Attribute(name, question, policy, condition))
    extras = {name: list_extras(attribute) for name, attribute in attributes.items()}
    check_questions(list(attributes.values()), extras)
    return attributes


def _refuse_random(name: str, policy: Missing, parent: Attribute | None) -> None:
    """Refuse random values where results are of those who answered: nobody can tell them from answers."""
    policies = {name: policy}
    if parent is not None and parent.missing is not None:
        policies[parent.several or parent.name] = parent.missing
    for question, missing in policies.items():
        if missing == "random":
            raise InvalidParameter(
                f'missing = "random" of {question!r} does not go with only_if of {name!r}: random values '
                "look like answers, so that nobody knows whom the question applies to, or who answered; "
                'use missing = "value" (or true), or "refuse"'
            )


def list_extras(attribute: Attribute) -> tuple[str, ...]:
    """The values beside those of the domain."""
    if is_filled(attribute.domain):
        return ()
    skipped = () if attribute.only_if is None else (NOT_APPLICABLE,)
    return skipped + ((NO_ANSWER_LABEL,) if attribute.missing == "value" else ())


def usual_policy(attributes: Mapping[str, Attribute]) -> Missing:
    """What a missing answer means for the plan: what it means for all, or else it is refused."""
    policies = {attribute.missing for attribute in attributes.values()}
    [only] = policies if len(policies) == 1 else {None}
    return only or "refuse"


def divide_pages(names: Sequence[str]) -> list[list[str]]:
    """Pages of about the same length, where there are more questions than a page holds."""
    pages = -(-len(names) // _PAGE)
    ends = [len(names) * page // pages for page in range(pages + 1)]
    return [list(names[start:end]) for start, end in pairwise(ends)]
