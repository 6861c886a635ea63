"""`deniable cross`: reads a table of two questions from a file of reports, a collector or its store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from deniable.commands.shared import console, options, reading, results, sources, writing
from deniable.commands.shared.options import FILE, earlier_round
from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from deniable.cross import CrossTable, TableChange
    from deniable.cross.table import Asked
    from deniable.study import Plan


@click.command("cross")
@click.argument("plan", type=FILE)
@click.argument("reports", type=FILE, required=False)
@click.option("--of", required=True, metavar="QUESTION", help="The question whose shares are wanted.")
@click.option("--by", required=True, metavar="QUESTION", help="The question whose answers are the rows.")
@options.source
@sources.table
@options.source_round
@options.change_from
@click.option(
    "--people",
    type=click.Choice(["same", "others", "linked"]),
    help="Who answered in both rounds, for a narrower interval of the change; linked: row i of both files is "
    "one person.  [default: others for a plan that asks once, else not known]",
)
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
    source: sources.Source | None,
    table: str | None,
    number: int | None,
    since: str | None,
    people: Asked | None,
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
    questions must have been asked together: together = [["age", "smoker"]] in the study. With
    --change-from it is the change of these shares since an earlier round.
    """
    source = sources.find_source(reports, source)
    if since is None and people is not None:
        raise InvalidParameter("--people is about a change; name the earlier round with --change-from")
    if people == "linked" and source is not None:
        raise InvalidParameter("a collector does not know who sent what; --people linked is for two files")
    before = None if source is None or since is None else earlier_round(since)
    writing.check(out, plot_files, force)
    read = reading.read_plan(plan)
    heading: dict[str, object] = {}
    crossed: CrossTable | TableChange
    file = reports
    if since is None:
        reports, source = sources.choose_reading(read, reports, source, number is not None)
    if reports is not None:
        crossed = _read_files(read, reports, None if since is None else Path(since), of, by, people, level)
    else:
        assert source is not None
        token = reading.find_token(source, token_file)
        number, result = results.fetch_result(read, source, table, number, token)
        crossed, heading = result.cross(of, by, level), {} if file is not None else {"round": number}
        if before is not None:
            earlier = results.fetch_result(read, source, table, before, token)[1]
            crossed = result.change(earlier, level, _plain(people)).cross(of, by)
    heading |= {} if since is None else {"since": since}
    about = crossed.about() | heading
    writing.write_tables(out, crossed.records(), about)
    writing.save_plots(plot_files, crossed.plot)
    if as_json:
        console.print_json(about)
    else:
        click.echo(str(crossed))


def _read_files(
    plan: Plan, reports: Path, since: Path | None, of: str, by: str, people: Asked | None, level: float
) -> CrossTable | TableChange:
    with console.progress("counting") as show:
        if since is None:
            return plan.cross(plan.read_reports(reports, show), of, by, level)
        earlier, later = plan.read_reports(since), plan.read_reports(reports, show)
        if people == "linked":
            return plan.cross_rounds(earlier, later, of, by, level)
        before, after = (plan.cross(blocks, of, by, level) for blocks in (earlier, later))
        return after.change(before, _plain(people))


def _plain(people: Asked | None) -> Literal["same", "others"] | None:
    assert people != "linked"
    return people
