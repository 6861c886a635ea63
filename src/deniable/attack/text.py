"""Leaves text and codes out of a plan that is attacked: they are too many to guess among."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from deniable.errors import InvalidParameter
from deniable.formatting import shorten_names
from deniable.mechanisms import ExactMechanism
from deniable.records import RecordMechanism, Sample, Single, Split
from deniable.records.single import as_record_mechanism
from deniable.study import Plan


def name_left_out(questions: Sequence[str]) -> list[str]:
    """That text is not attacked; nothing where there is none."""
    if not questions:
        return []
    return [
        f"Left out: {shorten_names(questions)}, with too many values to guess among; the loss bounds what "
        "any attacker learns. All figures are for reports that hold another question."
    ]


class Attackable(NamedTuple):
    """A plan without its text, the places of its attributes in the whole one, and what is left out."""

    plan: Plan
    places: tuple[int, ...]
    left_out: tuple[str, ...]


def leave_text(plan: Plan) -> Attackable:
    """The plan of the other questions: what is learned from reports that hold one of them.

    Where a sample draws one question, others may be text. Reports that hold text tell nothing of the rest, so
    that whoever sees all reports learns less of it.
    """
    parts, attributes = plan.document.parts, plan.document.attributes
    places = tuple(j for j, part in enumerate(parts) if part.listed)
    left = tuple(dict.fromkeys(attributes[j].columns[0] for j, part in enumerate(parts) if not part.listed))
    if not left:
        return Attackable(plan, places, ())
    if not places:
        raise InvalidParameter(
            f"{left[0]!r} is text or a code that nobody listed, with too many values to guess among; its "
            "loss bounds what any attacker learns, and the plan asks for nothing else"
        )
    members = [remaining for member, _, _ in plan.mechanism.members for remaining in _leave(member)]
    mechanism = as_record_mechanism(members[0] if len(members) == 1 else Split(tuple(members)))
    listed = tuple(attributes[j] for j in places)
    kept = replace(plan.document, attributes=listed, mechanism=mechanism, texts=None, ask="all", claimed=None)
    return Attackable(Plan(kept), places, left)


def _leave(member: RecordMechanism) -> list[RecordMechanism | ExactMechanism]:
    """What remains of a part of a report without text."""
    listed = [j for j, part in enumerate(member.mechanisms) if part.listed]
    if len(listed) == member.d:
        return [member.mechanisms[0] if isinstance(member, Single) else member]
    if not listed:
        return []
    if not isinstance(member, Sample) or member.reported != 1:
        raise InvalidParameter(
            "a report holds text together with other questions in a way that cannot be taken apart; attack "
            "a plan without the text"
        )
    parts = tuple(member.parts[j] for j in listed)
    if len(parts) == 1:
        return [parts[0]]
    weights = None if member.weights is None else tuple(member.weights[j] for j in listed)
    return [Sample(parts, weights=weights)]
