"""Says what reports gain that were made by the mechanism and picked: sent only if they support a value.

Such reports have all the noise that honest ones have, so that nothing in them tells. They gain as much as any
report can: the estimate multiplies each by (1 - q) / (p - q), and by the number of attributes among which one
is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from deniable.choose.candidate import influence_of, one_in
from deniable.formatting import format_digits
from deniable.plan.document import PlanDocument


@final
@dataclass(frozen=True)
class Picked:
    """The attribute in which one picked report gains most, and how many people it counts for."""

    attribute: str
    people: float


def find_picked(document: PlanDocument) -> Picked | None:
    """The most that one picked report counts for, by the law; None where no value is listed."""
    mechanism = document.mechanism
    found = [
        Picked(attribute.name, influence_of(mechanism.marginal(j), one_in(part, mechanism.chance(j))))
        for j, (attribute, part) in enumerate(zip(document.attributes, document.parts, strict=True))
        if part.listed and not part.numeric and not part.metric and not attribute.domain.is_level
    ]
    return max(found, key=lambda picked: picked.people, default=None)


def explain_picked(document: PlanDocument) -> str:
    """What no check of the reports notices, in plain words; empty where no value is listed."""
    picked = find_picked(document)
    if picked is None:
        return ""
    who = (
        "Anybody can send them; invitations bound them to one for each person and round."
        if document.ticket_key is None
        else "Only invited people can send reports, and each of them one such report a round: that remains."
    )
    return (
        "No check notices picked reports: made by the mechanism, and sent only if they support a value. Each "
        f"counts for up to {format_digits(picked.people, 3)} people in {picked.attribute!r}, the most that "
        f"any report can. --fakes 0.01 shows where shares are if 1 % of the reports was picked. {who}"
    )
