"""Describes a plan in a line, in a few lines, and as a table of a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from deniable.formatting import format_count, format_html_table, format_percent
from deniable.plan.losses import NANO
from deniable.plan.metric_losses import describe_unit_loss

if TYPE_CHECKING:
    from deniable.study.plan import Plan


def describe_plan(plan: Plan) -> str:
    """What it is, in a line; then how a record is reported, and a line for each attribute."""
    title = f" · {plan.content.title}" if plan.content.title else ""
    asked = f"{plan.content.people:,} people, {format_count(len(plan.names), 'attribute')}"
    losses = [describe_unit_loss(*one) for one in zip(plan.content.parts, plan.names, strict=True)]
    known = plan.content.known
    groups = "" if known is None else f"Known and sent as it is: {known.describe()}\n"
    return f"Plan {plan.id[:12]}{title}: {asked}\n{groups}{plan.mechanism.describe(plan.names, losses)}"


def write_html(plan: Plan) -> str:
    """For a notebook: a table of attributes, and the losses."""
    headers = ["attribute", "values", "mechanism", "a report is", "best guess", "blind", "bytes"]
    rows = [
        [
            name,
            part.describe_values(),
            part.describe_name(),
            part.phrase,
            format_percent(part.success()),
            format_percent(part.blind),
            f"{part.report_bytes:,}",
        ]
        for name, part in zip(plan.names, plan.mechanism.mechanisms, strict=True)
    ]
    heading = plan.describe().split("\n  ", 1)[0].replace("\n", ". ")
    table = format_html_table(headers, rows, left=["attribute", "mechanism", "a report is"])
    return f"<p>{html.escape(heading)}</p>{table}{plan.loss._repr_html_()}"


def _list_rounds(plan: Plan) -> list[str]:
    """What all rounds give away together, whatever changes; nothing where people are asked once."""
    if plan.content.rounds is None:
        return []
    counted = plan.stated.counted
    bound = "no bound" if counted is None else f"{counted / NANO:g}"
    return [f"{bound} over {format_count(plan.content.rounds, 'round')} of changing answers"]


def summarize_plan(plan: Plan) -> str:
    """What it is and what it loses, in a line."""
    title = f" · {plan.content.title}" if plan.content.title else ""
    asked = f"{format_count(len(plan.names), 'attribute')}, {plan.content.people:,} people"
    metric = plan.stated.metric
    units = (
        []
        if metric is None
        else [f"{one.loss / NANO:g} per {one.unit} of {one.name!r}" for one in metric.units]
    )
    promised = [] if metric is None or not metric.rest else [f"{metric.rest / NANO:g} for the rest"]
    losses = ", ".join(
        [
            *units,
            *promised,
            f"{plan.stated.record / NANO:g} per record{' at worst' if units else ''}",
            *_list_rounds(plan),
        ]
    )
    return f"<Plan {plan.id[:12]}{title}: {asked}, loss {losses}>"
