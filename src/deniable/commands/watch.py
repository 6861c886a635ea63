"""`deniable watch`: says whether a number moved on a day, for a job that runs every day."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import FILE, POSITIVE, REAL, argument, as_request, option, taken
from deniable.errors import DeniableError, InvalidParameter

if TYPE_CHECKING:
    from deniable.rounds.differences import People

MOVED = 3
"""The exit code where a number moved, or a day has a burst of reports."""


@final
@dataclass(frozen=True)
class WatchRequest:
    """A plan, its reports, the day that is watched, and whom to tell."""

    plan: Path = argument("plan", type=FILE)
    source: sources.Source | None = taken(
        options.source_option(
            "The table of reports: a folder, 'reports/*.parquet', the tallies of deniable tally "
            "(tallies.json), or with --table a database: postgresql://…, spark://… or file.duckdb."
        )
    )
    table: str | None = taken(sources.table)
    by: str = option("--by", metavar="NAME", default="day", help="The column or folder of days.")
    number: int | None = taken(options.source_round)
    people: People | None = option(
        "--people",
        type=click.Choice(["population", "others"]),
        help="Whether the same people may report on several days (population), or others do every day.  "
        "[default: others for a plan that asks each person once, else population]",
    )
    day: str | None = option(
        "--day",
        metavar="DAY",
        help="The day that is watched, such as 2026-11-17; later ones are left out.  [default: yesterday, by "
        "UTC]",
    )
    alarm: float = option(
        "--alarm",
        type=POSITIVE,
        default="0.001",
        help="The chance of a false alarm on a day, over all numbers together.",
    )
    least: float = option(
        "--least",
        type=REAL,
        default="0.1",
        help="The least change, as a part of the share before; of one over a half, of the rest.",
    )
    webhook: str | None = option(
        "--webhook",
        metavar="ADDRESS",
        help="Tell this address of alarms, by a POST of JSON; each run for a day tells it again.",
    )
    metrics: Path | None = option(
        "--metrics",
        type=FILE,
        help="Write the day's numbers and alarms for Prometheus, such as to a file.prom that its node "
        "exporter reads; the file is replaced.",
    )
    plot_files: Sequence[Path] = taken(writing.plot("the numbers by day"))
    as_json: bool = taken(console.as_json)
    force: bool = taken(console.force)


@click.command("watch")
@as_request(WatchRequest)
def watch_series(request: WatchRequest) -> None:
    """Say whether a number moved on a day.

    This is for a job that runs every day. Shares and means of the last 1, 2, 4, 7 and 14 days are compared
    with the same weekdays of eight weeks before. No number is compared in its first five weeks.

    The exit code is 3 if a number moved, or if the day has a burst of reports, and 0 if none did. It is 2 if
    something is wrong with the command, and 1 if anything else failed: the day has no reports, or the webhook
    did not acknowledge.
    """
    from deniable.results.windows import read_day
    from deniable.series import Series
    from deniable.series.exposition import write_metrics
    from deniable.series.rule import FIRST
    from deniable.series.webhook import check_webhook, post

    if not request.alarm < 1:
        raise InvalidParameter(
            f"--alarm is the chance of a false alarm on a day, above 0 and below 1, got {request.alarm:g}"
        )
    if request.webhook is not None:
        check_webhook(request.webhook)
    if request.metrics is not None and not request.metrics.absolute().parent.is_dir():
        raise InvalidParameter(
            f"there is no folder {request.metrics.parent} for the file of --metrics; name the folder that "
            "the node exporter reads, or make it first"
        )
    day = _find_yesterday() if request.day is None else read_day(request.day)
    if day is None:
        raise InvalidParameter(f"--day is a day such as 2026-11-17, got {request.day!r}")
    writing.check((), request.plot_files, request.force)
    if not (request.source or os.environ.get(sources.VARIABLE)):
        raise InvalidParameter(
            "name the table of reports, or the tallies that deniable tally keeps of it: "
            "deniable watch plan.json --from lake"
        )
    source = sources.find_source(None, request.source)
    assert source is not None
    if not sources.is_table(source, request.table):
        raise InvalidParameter(
            "days are those of a table of reports or of kept tallies, and this is a collector or its store"
        )
    plan = reading.read_plan(request.plan)
    windows = sources.tally_chain(plan, source, request.table, request.number, request.by)
    series = Series.of(plan.document, windows, request.people, day)
    for begun in series.breaks:
        if (day - begun.day).days < FIRST:  # it has no alarms yet
            console.note(str(begun))
    for name, why in series.left_out.items():
        console.note(f"not followed: {name}, {why}")
    if series.dates[-1] != day:
        raise DeniableError(
            f"there are no reports of {day}, the day that is watched; the last ones are of "
            f"{series.dates[-1]}. Run this once that day is written, or name another one with --day"
        )
    history = series.alarms(1 / request.alarm, least=request.least)
    alarms = history.since(day)
    for alarm in history:
        for mirrored in alarm.mirrored:
            if alarm.day < day <= mirrored.day:
                console.note(f"part of the change that began on {alarm.day}: {mirrored}")
    about = {
        "plan": plan.id,
        "title": plan.document.title,
        "day": str(day),
        "reports": int(series.reports[-1]),
    }
    about |= alarms.about() | {"text": str(alarms)}
    if request.metrics is not None:
        with console.writing(request.metrics) as temporary:
            temporary.write_text(write_metrics(series, history, day), encoding="utf-8")
    writing.save_plots(request.plot_files, partial(series.plot, days=1 / request.alarm))
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(f"{day}: {alarms}")
    if alarms or alarms.bursts:
        if request.webhook is not None:
            post(request.webhook, about)
        sys.exit(MOVED)


def _find_yesterday() -> date:
    """The last day that is over everywhere in UTC."""
    return datetime.now(UTC).date() - timedelta(days=1)
