"""`deniable cross`: reads a table of two questions from a file of reports, a collector or its store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from deniable.commands.shared import console, options, reading, writing
from deniable.commands.shared.options import FILE
from deniable.errors import DeniableError, InvalidParameter


@click.command("cross")
@click.argument("plan", type=FILE)
@click.argument("reports", type=FILE, required=False)
@click.option("--of", required=True, metavar="QUESTION", help="The question whose shares are wanted.")
@click.option("--by", required=True, metavar="QUESTION", help="The question whose answers are the rows.")
@options.source
@options.source_round
@options.token_file
@writing.out
@writing.plot("the shares of every row")
@options.level
@console.as_json
@console.force
def read_cross(
    plan: Path,
    reports: Path | None,
    of: str,
    by: str,
    source: str | None,
    number: int | None,
    token_file: Path | None,
    out: Sequence[Path],
    plot_files: Sequence[Path],
    level: float,
    as_json: bool,
    force: bool,
) -> None:
    """Show how one answer depends on another.

    The table has the share of each answer to --of among the people with each answer to --by, with intervals
    that hold even where few people are in a row, and a test whether the two depend on each other. Both
    questions must have been asked together: together = [["age", "smoker"]] in the study.
    """
    if (reports is None) == (source is None):
        raise InvalidParameter(
            "reports come from a file, or with --from from a collector or its store; give one of both"
        )
    writing.check(out, plot_files, force)
    read = reading.read_plan(plan)
    if reports is not None:
        with console.progress("counting") as show:
            table = read.cross(read.read_reports(reports, show), of, by, level)
    else:
        from deniable.collect.reading import fetch_tallies

        token = reading.find_token(str(source), token_file)
        number, tallies = fetch_tallies(read, str(source), number, token)
        if not tallies.n:
            raise DeniableError(f"there are no reports of plan {read.id[:12]} yet at {source}")
        table = read.estimate(tallies).cross(of, by, level)
    about = table.about() | ({} if source is None else {"round": number})
    writing.write_tables(out, table.records(), about)
    writing.save_plots(plot_files, table.plot)
    if as_json:
        console.print_json(about)
    else:
        click.echo(str(table))
