"""Explains what a report gives away, and what many reports of a person do, in nats."""

from __future__ import annotations

import math

from deniable.crowd import Shuffled, shuffled
from deniable.domain import Range
from deniable.errors import InvalidParameter
from deniable.explain.device_limit import describe_room
from deniable.explain.summary import format_rounds
from deniable.formatting import format_count, format_nats, format_ratio, format_up
from deniable.plan.document import PlanDocument
from deniable.plan.losses import Loss, Protection

_NO_BOUND = 10.0  # a report that is e^10 times likelier from one than from another tells which
_DELTA = 1e-6  # stated for up to 10,000 people, and less for more


def explain_losses(document: PlanDocument) -> str:
    """Each loss in a line, with what it says about two people."""
    loss = document.loss
    how = "at most" if _is_bound(document) else "exact"
    lines = [f"What one report gives away ({how}, rounded up, in nats):", *_promises(document, loss)]
    another = "another" if document.known is None else f"another of the same {document.known.name}"
    if len(document.attributes) > 1:
        lines += [
            f"  {format_nats(loss.record)} per record: no report is more than {format_ratio(loss.record)} "
            f"likelier from one person than from {another}, whatever all their answers are",
            f"  {format_nats(loss.attribute)} per attribute: the same for two people who differ in one "
            "attribute only",
        ]
        if loss.answer is not None:
            many = max(document.changed.items(), key=lambda change: len(change[1]))
            lines.append(
                f"  {format_nats(loss.answer)} per answer: the same for two people who differ in one answer "
                f"only; one answer can change several attributes, one to {many[0]!r} {len(many[1])}"
            )
    else:
        lines.append(
            f"  {format_nats(loss.record)}: no report is more than {format_ratio(loss.record)} likelier "
            f"from one person than from {another}"
        )
    rating = str(Protection.of(loss))
    lines.append(f"  {rating[0].upper()}{rating[1:]}.")
    lines.append(
        "  This holds against any attacker, if the report is made on the person's own device from secret "
        "random numbers."
    )
    if loss.repeated is not None:
        lines.append(_headline_rounds(document, loss))
        lines.append("What many reports of one person give away together, per record:")
        lines += [f"  {line}" for line in loss.repeated.explain().splitlines()]
        lines.append(
            "  All hold only if every device keeps its first answers, its attribute, its fakes, its hash "
            "function and its line."
        )
        if loss.repeated.changing_values > _NO_BOUND:
            lines.append(
                f"  A bound above {_NO_BOUND:g} promises nothing: whoever sees all reports of a person whose "
                "answers change may learn when they changed, and what they were. Ask rarely about what "
                "changes often."
            )
    if document.turns is not None:
        lines.append(
            f"  A device sends nothing in other rounds, which everybody sees: each of its "
            f"{format_count(document.turns, 'report')} gives away as much as if it answered in every round, "
            "and no figure is smaller for those that it leaves out."
        )
    room = describe_room(document)
    if room is not None and not document.continues:
        lines.append(f"  {room}")
    if document.linked:
        lines.append(
            "  Reports of a person carry one pseudonym, so that the collector sees which reports are one "
            "person's, and in which rounds a person answered. Beyond that, these figures say everything: "
            "they are of all reports of a person together."
        )
    if document.known is not None:
        lines.append(
            f"  All of this compares people of the same {document.known.name}: every report names it, so "
            "that it tells people of different groups apart."
        )
    return "\n".join(lines)


def _is_bound(document: PlanDocument) -> bool:
    """Whether losses are added up that no two people have: who gives no answer has a random value, which is
    nearer to all values than the farthest are to each other.
    """
    if document.mechanism.reported < 2:
        return False
    return any(
        attribute.only_if is not None and not document.extras(attribute) for attribute in document.attributes
    )


def _headline_rounds(document: PlanDocument, loss: Loss) -> str:
    """What consent, survey and devices count of a plan with rounds: answers that change."""
    rounds = format_rounds(document)
    if math.isinf(loss.counted):
        return (
            f"  no bound for {rounds} together, if answers change: nothing is fresh, so that a change shows, "
            "and every device refuses that"
        )
    if loss.chain is not None:
        total = loss.chain.changing_values
        bound = "no bound" if math.isinf(total) else f"{format_nats(total)} ({format_ratio(total)} likelier)"
        return (
            f"  {format_nats(loss.counted)} for {rounds} together, even if answers change, and {bound} with "
            "those of the plans that it continues: consent and survey count all, as devices do that answered "
            "them"
        )
    return (
        f"  {format_nats(loss.counted)} for {rounds} together, even if answers change, which consent, survey "
        f"and devices count: all reports are at most {format_ratio(loss.counted)} likelier from one person "
        "than from another"
    )


def _promises(document: PlanDocument, loss: Loss) -> list[str]:
    """For metric attributes: the promise per unit of each, and of the rest; the worst case comes after."""
    if loss.rest is None:
        return []
    domains = {attribute.name: attribute.domain for attribute in document.attributes}
    lines = []
    for unit in loss.units:
        domain = domains[unit.name]
        if isinstance(domain, Range):
            about = (
                f"per step of {domain.step:g} in {unit.name!r}: two people lose this times the number of "
                "bins between them"
            )
        else:
            about = (
                f"per kilometer in {unit.name!r}: two people lose this times the distance of the middles of "
                "their cells"
            )
        lines.append(f"  {format_nats(unit.loss)} {about}")
    if len(loss.units) < len(document.attributes):
        lines.append(
            f"  {format_nats(loss.rest)} for all other attributes together, between two people who agree "
            "in these"
        )
    lines.append("  In the worst case, however far apart the answers are, and counted by every device's cap:")
    return lines


def shuffle_plan(document: PlanDocument, delta: float, people: int | None) -> Shuffled:
    """The guarantee of all reports once shuffled; a plan that it is not proven for is refused."""
    reason = _explain_refusal(document)
    if reason:
        raise InvalidParameter(f"what a shuffler adds is not stated here: {reason}")
    return shuffled(document.mechanism, document.people if people is None else people, delta)


def explain_crowd(document: PlanDocument) -> str:
    """What a shuffler would add, in a paragraph; nothing where the worst case is not what is promised."""
    if document.linked:
        return f"A shuffler, which strips names and order, adds nothing here: {_explain_refusal(document)}."
    if document.rounds is not None or document.people < 2 or document.loss.units:
        return ""
    if document.known is not None:
        return f"A shuffler, which strips names and order, helps less here: {_explain_refusal(document)}."
    guarantee = shuffle_plan(document, min(_DELTA, 0.01 / document.people), None)
    if guarantee.epsilon >= document.loss.record:
        return (
            "There are too few people for a shuffler, which strips names and order, to improve the guarantee."
        )
    return (
        f"If a shuffler strips names and order from all {format_count(document.people, 'report')}, whoever "
        f"sees the result learns at most epsilon = {format_up(guarantee.epsilon, 3)} about a record, but for "
        f"a chance delta = {guarantee.delta:g} ({guarantee.bound}). It holds only if everyone else is honest "
        "and nobody sees a report before it is shuffled."
    )


def _explain_refusal(document: PlanDocument) -> str:
    if document.linked:
        return "reports name a pseudonym, which links all reports of a person"
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
