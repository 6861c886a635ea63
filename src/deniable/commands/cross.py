"""`deniable cross`: reads a table of two questions from a file of reports, a collector or its store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import FILE, argument, as_request, earlier_round, option, taken
from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from deniable.cross import CrossTable, TableChange
    from deniable.reports import Reports
    from deniable.rounds.differences import People
    from deniable.study import Plan


@final
@dataclass(frozen=True)
class CrossRequest:
    """A plan, its reports, two questions, and how to show their table."""

    plan: Path = argument("plan", type=FILE)
    reports: Path | None = argument("reports", type=FILE, required=False)
    of: str = option("--of", required=True, metavar="QUESTION", help="The question whose shares are wanted.")
    by: str = option(
        "--by", required=True, metavar="QUESTION", help="The question whose answers are the rows."
    )
    source: sources.Source | None = taken(options.source)
    table: str | None = taken(sources.table)
    number: int | None = taken(options.source_round)
    since: str | None = taken(options.change_from)
    people: People | None = option(
        "--people",
        type=click.Choice(["same", "population", "others", "linked"]),
        help="Whose change is meant: that of the population that people are drawn from, or of the very "
        "people who reported (same). If other people answered each time: others. If row i of both files is "
        "one person: linked.  [default: others for a plan that asks once, else population]",
    )
    token_file: Path | None = taken(options.token_file)
    out: Sequence[Path] = taken(writing.out)
    plot_files: Sequence[Path] = taken(writing.plot("the shares of every row"))
    level: float = taken(options.level)
    weights: Path | None = taken(options.weights)
    as_json: bool = taken(console.as_json)
    force: bool = taken(console.force)


@click.command("cross")
@as_request(CrossRequest)
def read_cross(request: CrossRequest) -> None:
    """Show how one answer depends on another.

    The table has the share of each answer to --of among the people with each answer to --by, with intervals
    that hold even where few people are in a row, and a test whether the two depend on each other. Both
    questions must have been asked together: together = [["age", "smoker"]] in the study. With
    --change-from it is the change of these shares since an earlier round.
    """
    source = sources.find_source(request.reports, request.source)
    if request.since is None and request.people is not None:
        raise InvalidParameter("--people is about a change; name the earlier round with --change-from")
    if request.people == "linked" and source is not None:
        raise InvalidParameter("a collector does not know who sent what; --people linked is for two files")
    before = None if source is None or request.since is None else earlier_round(request.since)
    writing.check(request.out, request.plot_files, request.force)
    read = reading.read_plan(request.plan)
    heading: dict[str, object] = {}
    crossed: CrossTable | TableChange
    reports = request.reports
    if request.since is None:
        reports, source = sources.choose_reading(read, reports, source, request.number is not None)
    if reports is not None:
        crossed = _read_files(read, reports, request)
    else:
        assert source is not None
        token = reading.find_token(source, request.token_file)
        number, tallies = sources.fetch_tallies(read, source, request.table, request.number, token)
        sizes = reading.read_sizes(request.weights)
        result = reading.weigh(read.estimate(tallies), sizes)
        crossed = result.cross(request.of, request.by, request.level)
        heading = {"round": number} if request.reports is None else {}
        if before is not None:
            _, earlier_tallies = sources.fetch_tallies(read, source, request.table, before, token)
            earlier = reading.weigh(read.estimate(earlier_tallies), sizes)
            crossed = result.change(earlier, request.level, request.people).cross(request.of, request.by)
    heading |= {} if request.since is None else {"since": request.since}
    about = crossed.about() | heading
    writing.write_tables(request.out, crossed.records(), about)
    writing.save_plots(request.plot_files, crossed.plot)
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(str(crossed))


def _read_files(plan: Plan, reports: Path, request: CrossRequest) -> CrossTable | TableChange:
    of, by, level = request.of, request.by, request.level
    sizes = reading.read_sizes(request.weights)

    def cross(blocks: Iterable[Reports]) -> CrossTable:
        if sizes is None:
            return plan.cross(blocks, of, by, level)
        return plan.estimate(plan.tally(blocks)).weighted(sizes).cross(of, by, level)

    with console.progress("counting") as show:
        if request.since is None:
            return cross(plan.read_reports(reports, show))
        earlier, later = plan.read_reports(Path(request.since)), plan.read_reports(reports, show)
        if request.people == "linked":
            if sizes is not None:
                raise InvalidParameter(
                    "--people linked is about the people of both files, and --weights about a population; "
                    "leave one of them out"
                )
            return plan.compare_rounds(earlier, later, level).cross(of, by)
        before, after = map(cross, (earlier, later))
        return after.change(before, request.people)
