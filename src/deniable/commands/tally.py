"""`deniable tally`: keeps the tallies of a table of reports, and counts only what is new."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import click

from deniable.commands.shared import console, options, reading, sources
from deniable.commands.shared.options import COUNT, FILE, ROUND, argument, as_request, option, taken
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, shorten_names


@final
@dataclass(frozen=True)
class TallyRequest:
    """A plan, its reports, and the file that keeps their tallies."""

    plan: Path = argument("plan", type=FILE)
    source: sources.Source | None = taken(
        options.source_option(
            "The table of reports: a folder, 'reports/*.parquet', or with --table a database: "
            "postgresql://…, spark://… or file.duckdb."
        )
    )
    table: str | None = taken(sources.table)
    by: Sequence[str] = taken(
        sources.by_option(
            "Keep each window by itself, such as each day, so that it can be estimated by itself"
        )
    )
    number: int | None = option("--round", "number", type=ROUND, help="The one round that is counted.")
    keep: Path = option(
        "--keep", type=FILE, required=True, help="The JSON file of tallies, which is made or updated."
    )
    again: int = option(
        "--again",
        type=COUNT,
        default="1",
        help="How many of the last windows of a database are counted again, for rows that come late.",
    )
    gone: str | None = option(
        "--gone",
        type=click.Choice(["keep", "drop"]),
        help="What becomes of tallies of files that are not there any more.",
    )
    as_json: bool = taken(console.as_json)


@click.command("tally")
@as_request(TallyRequest)
def keep_tallies(request: TallyRequest) -> None:
    """Count new reports, and keep the tallies.

    This is for a job that runs every day: it counts only what is not in the file of --keep yet, and adds it
    there. Files of reports are counted if they are new or changed. A database is counted from the last window
    that is kept on, by the first --by, which must grow with time. The job may be repeated or killed at any
    time: the file is replaced at once. For estimates, give it to deniable estimate: --from tallies.json.
    """
    from deniable.results.kept_tallies import KeptTallies
    from deniable.results.windows import describe_refused

    address = request.source or os.environ.get(sources.VARIABLE) or None
    if isinstance(address, tuple):
        raise InvalidParameter(
            "tallies are kept of one folder, pattern or table; keep those of each --from in a file of its own"
        )
    if address is None or not sources.is_table(address, request.table):
        raise InvalidParameter(
            "name a table of reports, such as --from 'reports/*.parquet'; a collector keeps its own tallies"
        )
    console.refuse_ending(request.keep, [".json"], "a file of tallies")
    read = reading.read_plan(request.plan)
    with console.progress("counting") as show:
        changes = KeptTallies.update(
            request.keep,
            read.document,
            address,
            request.table,
            by=request.by,
            number=request.number,
            again=request.again,
            gone=request.gone,
            show=show,
        )
    total = KeptTallies.read(request.keep, read.document)
    if total.refused:
        console.note(describe_refused(total.refused))
    if changes.foreign:
        rows = format_count(sum(changes.foreign.values()), "row")
        partitions = format_count(len(changes.foreign), "new or changed partition")
        console.note(f"of another plan, and not counted: {rows} of {partitions}")
    if changes.damaged:
        console.warn(f"damaged, and set aside until mended: {shorten_names(changes.damaged)}")
    if changes.late:
        late = format_count(changes.late, "row")
        console.warn(f"{late} of earlier windows came late, and are not counted; see --again")
    if request.as_json:
        facts = {"new": changes.new, "changed": changes.changed, "gone": changes.gone, "late": changes.late}
        facts |= {"foreign": dict(changes.foreign), "damaged": changes.damaged}
        console.print_json({"n": total.n, "not_counted": total.refused} | facts)
        return
    counted = f"{format_count(len(changes.new), 'new partition')}, {len(changes.changed):,} changed"
    click.echo(f"counted {counted}; {request.keep} has {format_count(total.n, 'record')}")
    if changes.gone:
        done = "dropped" if request.gone == "drop" else "kept, though not there any more"
        console.note(f"{done}: {shorten_names(changes.gone)}")
