"""Prints what an application measured: a table, then each guarantee as published and as it is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console, studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.studies.applications.guarantee import Guarantee


def report_rows(
    choices: studies.Choices,
    title: str,
    rows: Sequence[Any],
    draw: Callable[[Any], Figure],
    columns: Sequence[tuple[str, Callable[[Any], str]]],
    guarantees: Sequence[tuple[str, Guarantee]],
    shown: Sequence[Any] | None = None,
) -> None:
    """Write and draw the rows; unless they went to --json, print a table. Then print the guarantees.

    `columns` are headings, each with what it shows of a row; `guarantees` have a heading each.
    The table has all rows, or those that are `shown`.
    """
    is_json = studies.write_measurements(choices, rows, draw)
    if not is_json:
        cells = [[show(row) for _, show in columns] for row in (rows if shown is None else shown)]
        console.print_table(title, [heading for heading, _ in columns], cells)
    print_guarantees(guarantees, is_json)


def print_guarantees(guarantees: Sequence[tuple[str, Guarantee]], is_json: bool = False) -> None:
    """Each guarantee as published and as true, below its heading; beside rows of JSON, on stderr."""
    for heading, guarantee in guarantees:
        click.echo(
            f"{heading}\n" + "\n".join(f"  {line}" for line in str(guarantee).splitlines()), err=is_json
        )
