"""Counts in that some people will not answer a question, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deniable.choose import Considered, Objective, Precision, list_precisions, list_readings
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number
from deniable.plan.attribute import EVERYBODY, Attribute, refuse_answered
from deniable.plan.document import PlanDocument

_HALF = 0.5
_MOST_NAMED = 3


def read_answered(
    given: object, questions: Sequence[str], attributes: Sequence[Attribute]
) -> dict[str, float]:
    """The share of people who are expected to answer, by question: only of those that some may not."""
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"answered has shares of people by question, such as 0.4, got {given!r}")
    found = {}
    for name, share in given.items():
        if name not in questions:
            raise InvalidParameter(not_among(str(name), "an attribute", questions))
        what = f"answered of {name!r}, the share of people who are expected to answer,"
        found[name] = 1.0 if share == 1 else number(what, share, 0.0, 1.0, "above 0 and at most 1")
        near = max(1, round(found[name] * EVERYBODY)) / EVERYBODY
        if found[name] != near:
            raise InvalidParameter(f"{what} is in thousandths, such as {near:g}, got {share!r}")
        for one in attributes:
            if name in (one.several, *one.columns):
                refuse_answered(one, one.missing or "refuse")
    return found


def infer_answered(stated: Mapping[str, float], attributes: Sequence[Attribute]) -> dict[str, float]:
    """The same, and for a question that states none, the most of any question with the same condition.

    All of them apply to the same people.
    """
    conditions = {
        question: one.only_if
        for one in attributes
        for question in one.questions
        if one.only_if is not None and one.only_if.name != f"{one.name}: answered"
    }
    found = dict(stated)
    for question, condition in conditions.items():
        same = [stated[name] for name, one in conditions.items() if one == condition and name in stated]
        if same:
            found.setdefault(question, max(same))
    return found


def count_answered(share: float) -> int | None:
    """A share in thousandths, as a plan has it; None for everybody."""
    return None if share == 1.0 else round(share * EVERYBODY)


def may_lack(one: Attribute) -> bool:
    """Whether some people may have no answer, and results can be of the others."""
    return one.answers is None and (one.only_if is not None or one.missing == "value")


def explain_turnout(document: PlanDocument, here: Considered) -> str | None:
    """That margins take it that everybody answers, and what they would be if half did; else None."""
    names = [
        one.name
        for one in document.attributes
        if one.answered is None and may_lack(replace(one, missing=document.missing_of(one)))
    ]
    if not names:
        return None
    halved = _first_precisions(_expect_half(document, here, names))
    told = [f"{name!r} to within {halved[name].format_margin()}" for name in names[:_MOST_NAMED]]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"These margins take it that everybody answers {', '.join(map(repr, names[:_MOST_NAMED]))}{more}. If "
        f"half of {here.n:,} people did, what they say would be known less well: {', '.join(told)}. A study "
        "states the share who answer: answered = 0.5"
    )


def _expect_half(document: PlanDocument, here: Considered, names: Sequence[str]) -> Considered:
    readings = [
        list_readings(one.domain, part.k, _HALF) if one.name in names else some
        for one, part, some in zip(document.attributes, document.parts, here.readings, strict=True)
    ]
    made = here.mechanism
    assert made is not None
    fresh = Considered.of(made, "", here.protocols, here.n, Objective(), names=here.names, readings=readings)
    return replace(fresh, name=here.name, per=here.per)


def _first_precisions(here: Considered) -> dict[str, Precision]:
    found: dict[str, Precision] = {}
    for one in list_precisions(here):
        found.setdefault(one.attribute, one)
    return found
