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


def format_rounds(document: PlanDocument) -> str:
    """In how many rounds a device answers: "10 rounds", or "4 of 52 rounds" where it draws them."""
    rounds = format_count(document.rounds or 1, "round")
    return rounds if document.turns is None else f"{document.turns:,} of {rounds}"


def summarize_plan(document: PlanDocument) -> str:
    """What it is and what it loses, in a line."""
    title = f" · {document.title}" if document.title else ""
    size = f"{format_count(len(document.names), 'attribute')}, {document.people:,} people"
    stated, losses = document.stated, list[str]()
    for unit in () if stated.metric is None else stated.metric.units:
        losses.append(f"{unit.loss / NANO:g} per {unit.unit} of {unit.name!r}")
    worst = " at worst" if losses else ""
    if stated.metric is not None and stated.metric.rest:
        losses.append(f"{stated.metric.rest / NANO:g} for the rest")
    losses.append(f"{stated.record / NANO:g} per record{worst}")
    if document.rounds is not None:
        bound = "no bound" if stated.counted is None else f"{stated.counted / NANO:g}"
        losses.append(f"{bound} over {format_rounds(document)} of changing answers")
    return f"<Plan {document.id[:12]}{title}: {size}, loss {', '.join(losses)}>"
