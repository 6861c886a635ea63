"""Prints what the attack studies measured: some rows of every figure, with accuracies and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import positive
from deniable.formatting import format_percent

if TYPE_CHECKING:
    from deniable_papers.studies.accuracy import AttackPoint

_SHOWN = 40  # rows of a table; all of them are in --json and -o
_NOBODY = 1e-7  # a share of this or less is shown as 0
QUICK = "Try few epsilons, runs, people and attacks."

budgets = options.numbers_option("--epsilons", positive, "The privacy budgets, such as 1,2,4.")


def select_rows(rows: Sequence[AttackPoint]) -> list[AttackPoint]:
    """As many rows as a table has; where these are not all, some of every figure."""
    ranks: dict[str, int] = {}
    ranked = []
    for number, row in enumerate(rows):
        ranks[row.figure] = ranks.get(row.figure, -1) + 1
        ranked.append((ranks[row.figure], number))
    return [rows[number] for number in sorted(number for _, number in sorted(ranked)[:_SHOWN])]


def format_accuracy(row: AttackPoint) -> list[str]:
    """How often the attack is right, and the interval."""
    if row.accuracy is None:
        return ["refused", ""]
    if row.low is None or row.high is None or not row.stderr:
        return [format_percent(row.accuracy), ""]
    low, high = (0.0 if end < _NOBODY else 100 * end for end in (row.low, row.high))
    return [format_percent(row.accuracy), f"{low:.3g} to {high:.3g} %"]


def print_points(rows: Sequence[AttackPoint], headers: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Say what was measured on whom, and print some of it as a table."""
    from deniable_papers.studies.accuracy import describe_measurement

    parts: dict[str, list[AttackPoint]] = {}
    for row in rows:
        values = "" if row.k is None else f", k = {row.k}"
        parts.setdefault(f"{row.figure}, {row.dataset}{values}", []).append(row)
    kept = [i for i in range(len(headers)) if any(row[i] for row in cells)]
    console.print_table(
        "\n".join(f"{what}: {describe_measurement(part)}" for what, part in parts.items()),
        [headers[i] for i in kept],
        [[row[i] for i in kept] for row in cells],
    )
    if len(rows) > _SHOWN:
        click.echo(f"\u2026 and {len(rows) - _SHOWN:,} more; -o writes all, and --json prints them")
    for note in dict.fromkeys((row.protocol, row.metric, row.note) for row in rows if row.note is not None):
        click.echo("note ({}, {} metric): {}".format(*note))
    console.print_refusals((row.protocol, row.refused) for row in rows)
