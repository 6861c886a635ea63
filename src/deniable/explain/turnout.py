"""Counts in that some people will not answer a question, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deniable.choose import Considered, Objective, list_precisions, list_readings
from deniable.errors import InvalidParameter, not_among
from deniable.exact import number
from deniable.plan.attribute import EVERYBODY, Attribute, refuse_answered
from deniable.plan.document import PlanDocument

_HALF = 0.5
_MOST_NAMED = 3


def read_answered(
    answered: object, questions: Sequence[str], attributes: Sequence[Attribute]
) -> dict[str, float]:
    """The share of people who are expected to answer, by question: only of those that some may not."""
    if not isinstance(answered, Mapping):
        raise InvalidParameter(f"answered has shares of people by question, such as 0.4, got {answered!r}")
    shares = {}
    for name, share in answered.items():
        if name not in questions:
            raise InvalidParameter(not_among(str(name), "an attribute", questions))
        what = f"answered of {name!r}, the share of people who are expected to answer,"
        shares[name] = 1.0 if share == 1 else number(what, share, 0.0, 1.0, "above 0 and at most 1")
        rounded = max(1, round(shares[name] * EVERYBODY)) / EVERYBODY
        if shares[name] != rounded:
            raise InvalidParameter(f"{what} is in thousandths, such as {rounded:g}, got {share!r}")
        for attribute in attributes:
            if name in (attribute.several, *attribute.columns):
                refuse_answered(attribute, attribute.missing or "refuse")
    return shares


def infer_answered(stated: Mapping[str, float], attributes: Sequence[Attribute]) -> dict[str, float]:
    """Shares who answer by question; where none is stated, the most of any question with the same condition.

    All of them apply to the same people.
    """
    conditions = {
        question: attribute.only_if
        for attribute in attributes
        for question in attribute.questions
        if attribute.only_if is not None and attribute.only_if.name != f"{attribute.name}: answered"
    }
    shares = dict(stated)
    for question, condition in conditions.items():
        same = [stated[name] for name, other in conditions.items() if other == condition and name in stated]
        if same:
            shares.setdefault(question, max(same))
    return shares


def count_answered(share: float) -> int | None:
    """A share in thousandths, as a plan has it; None for everybody."""
    return None if share == 1.0 else round(share * EVERYBODY)


def may_lack(attribute: Attribute) -> bool:
    """Whether some people may have no answer, and results can be of the others."""
    return attribute.answers is None and (attribute.only_if is not None or attribute.missing == "value")


def explain_turnout(document: PlanDocument, row: Considered) -> str | None:
    """That margins take it that everybody answers, and what they would be if half did; else None."""
    names = [
        attribute.name
        for attribute in document.attributes
        if attribute.answered is None and may_lack(replace(attribute, missing=document.missing_of(attribute)))
    ]
    if not names:
        return None
    precisions = list_precisions(_expect_half(document, row, names))
    halved = {precision.attribute: precision for precision in reversed(list(precisions))}
    margins = [f"{name!r} to within {halved[name].format_margin()}" for name in names[:_MOST_NAMED]]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"These margins take it that everybody answers {', '.join(map(repr, names[:_MOST_NAMED]))}{more}. If "
        f"half of {row.n:,} people did, what they say would be known less well: {', '.join(margins)}. A "
        "study states the share who answer: answered = 0.5"
    )


def _expect_half(document: PlanDocument, row: Considered, names: Sequence[str]) -> Considered:
    readings = [
        list_readings(attribute.domain, part.k, _HALF) if attribute.name in names else reading
        for attribute, part, reading in zip(document.attributes, document.parts, row.readings, strict=True)
    ]
    assert row.mechanism is not None
    return Considered.of(
        row.mechanism, "", row.protocols, row.n, Objective(), names=row.names, readings=readings
    ).with_presence(row.presence)
