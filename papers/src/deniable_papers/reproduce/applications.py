"""Prints what an application measured: a table, then each guarantee as published and as it is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable_papers.studies.applications.guarantee import Guarantee

DIFFERS = "differs"
"""The mark of a row that is farther from what is stated than it may be."""


def report_rows(
    choices: studies.Choices,
    title: str,
    rows: Sequence[Any],
    draw: Callable[[Any], Figure],
    columns: Sequence[tuple[str, Callable[[Any], str]]],
    guarantees: Sequence[tuple[str, Guarantee]],
    shown: Sequence[Any] | None = None,
    margin: str = "",
) -> None:
    """Write and draw the rows; unless they went to --json, print a table. Then print the guarantees.

    `columns` are headings, each with what it shows of a row; `guarantees` have a heading each.
    The table has all rows, or those that are `shown`. `margin` says what a row that "differs" is off by.
    """
    is_json = studies.write_measurements(choices, rows, draw)
    if not is_json:
        print_rows(title, rows if shown is None else shown, columns, margin)
    print_guarantees(guarantees, is_json)


def print_rows(
    title: str, rows: Sequence[Any], columns: Sequence[tuple[str, Callable[[Any], str]]], margin: str
) -> None:
    """A table of rows; where some numbers are stated, how many rows differ from them, and by how much."""
    cells = [[show(row) for _, show in columns] for row in rows]
    console.print_table(title, [heading for heading, _ in columns], cells)
    stated = sum(getattr(row, "stated", None) is not None for row in rows)
    if margin and stated:
        marked = sum(DIFFERS in line for line in cells)
        of = format_count(stated, "stated number")
        click.echo(f"{marked} of {of} marked as different: farther off than {margin}")


def print_guarantees(guarantees: Sequence[tuple[str, Guarantee]], is_json: bool = False) -> None:
    """Each guarantee as published and as true, below its heading; beside rows of JSON, on stderr."""
    for heading, guarantee in guarantees:
        click.echo(
            f"{heading}\n" + "\n".join(f"  {line}" for line in str(guarantee).splitlines()), err=is_json
        )
