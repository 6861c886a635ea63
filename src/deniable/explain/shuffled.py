"""States what a crowd hides of a plan's reports, or why nothing is stated."""

from __future__ import annotations

from deniable.crowd import Shuffled, shuffled
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, format_up
from deniable.plan.document import PlanDocument

_DELTA = 1e-6  # stated for up to 10,000 people, and less for more


def shuffle_plan(document: PlanDocument, delta: float, people: int | None) -> Shuffled:
    """The guarantee of all reports once shuffled; a plan that it is not proven for is refused."""
    reason = _explain_refusal(document)
    if reason:
        raise InvalidParameter(f"what a shuffler adds is not stated here: {reason}")
    return shuffled(document.mechanism, document.people if people is None else people, delta)


def explain_crowd(document: PlanDocument) -> str:
    """What a shuffler would add, in a paragraph; nothing where the worst case is not what is promised."""
    if document.rounds is not None or document.people < 2 or document.loss.units:
        return ""
    if document.known is not None:
        return f"A shuffler, which strips names and order, helps less here: {_explain_refusal(document)}."
    found = shuffle_plan(document, min(_DELTA, 0.01 / document.people), None)
    if found.epsilon >= document.loss.record:
        return (
            "There are too few people for a shuffler, which strips names and order, to improve the guarantee."
        )
    return (
        f"If a shuffler strips names and order from all {format_count(document.people, 'report')}, "
        "whoever sees the result "
        f"learns at most epsilon = {format_up(found.epsilon, 3)} about a record, but for a chance delta = "
        f"{found.delta:g} ({found.bound}). It holds only if everyone else is honest and nobody sees a report "
        "before it is shuffled."
    )


def _explain_refusal(document: PlanDocument) -> str:
    if document.rounds is not None:
        return "a person reports in several rounds, and the bounds are for one report each"
    if document.loss.units:
        return "the loss of a metric answer grows with the distance, and the bounds need one largest loss"
    if document.known is not None:
        return (
            f"a report hides only among those that name the same {document.known.name}, so that the smallest "
            "group decides"
        )
    return ""
