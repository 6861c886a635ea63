"""Prints numbers beside those that a specification states."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console
from deniable.formatting import format_count
from deniable_papers.studies.stated import UNITS, StatedPoint

_HEADERS = ("figure", "case", "method", "epsilon", "people", "ours", "specification", "unit", "")


def print_stated(title: str, rows: Sequence[StatedPoint]) -> None:
    """A table of all numbers, and how many differ by more than chance and rounding."""
    cells = [
        [
            *(row.figure, row.case, row.method, f"{row.epsilon:g}"),
            "" if row.people is None else f"{row.people:,}",
            console.with_error(row.value, row.stderr) if row.stderr else console.short(row.value),
            "" if row.stated is None else f"{row.stated:,.10g}",
            UNITS.get(row.figure, ""),
            "differs" if row.differs else "",
        ]
        for row in rows
    ]
    console.print_table(title, list(_HEADERS), cells)
    stated = [row for row in rows if row.stated is not None]
    differing = sum(row.differs for row in stated)
    click.echo(
        f"{differing} of {format_count(len(stated), 'number')} differ from the specification by more than "
        "chance and rounding"
    )
