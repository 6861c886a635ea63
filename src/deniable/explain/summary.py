"""Describes a plan in a line, and in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.formatting import format_count
from deniable.plan.losses import NANO
from deniable.plan.metric_losses import describe_unit_loss

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument


def describe_plan(document: PlanDocument) -> str:
    """What it is, in a line; then how a record is reported, and a line for each attribute."""
    title = f" · {document.title}" if document.title else ""
    size = f"{document.people:,} people, {format_count(len(document.names), 'attribute')}"
    losses = [describe_unit_loss(*pair) for pair in zip(document.parts, document.names, strict=True)]
    known = document.known
    groups = "" if known is None else f"Known and sent as it is: {known.describe()}\n"
    described = document.mechanism.describe(document.names, losses)
    return f"Plan {document.id[:12]}{title}: {size}\n{groups}{described}"


def _list_rounds(document: PlanDocument) -> list[str]:
    """What all rounds give away together, whatever changes; nothing where people are asked once."""
    if document.rounds is None:
        return []
    counted = document.stated.counted
    bound = "no bound" if counted is None else f"{counted / NANO:g}"
    return [f"{bound} over {format_count(document.rounds, 'round')} of changing answers"]


def summarize_plan(document: PlanDocument) -> str:
    """What it is and what it loses, in a line."""
    title = f" · {document.title}" if document.title else ""
    size = f"{format_count(len(document.names), 'attribute')}, {document.people:,} people"
    metric = document.stated.metric
    units = (
        []
        if metric is None
        else [f"{unit.loss / NANO:g} per {unit.unit} of {unit.name!r}" for unit in metric.units]
    )
    promised = [] if metric is None or not metric.rest else [f"{metric.rest / NANO:g} for the rest"]
    losses = ", ".join(
        [
            *units,
            *promised,
            f"{document.stated.record / NANO:g} per record{' at worst' if units else ''}",
            *_list_rounds(document),
        ]
    )
    return f"<Plan {document.id[:12]}{title}: {size}, loss {losses}>"
