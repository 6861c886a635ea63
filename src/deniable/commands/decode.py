"""`deniable decode`: turns reports as a gateway or a queue holds them into a table of reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import COUNT, FILE, argument, as_request, option, taken
from deniable.engines.parquet import write_reports
from deniable.errors import InvalidParameter, InvalidReport
from deniable.formatting import format_count
from deniable.reports.extra_columns import align_blocks
from deniable.wire.messages import FRAMES, Messages, block_messages
from deniable.wire.received import WINDOW, Received, list_refused

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.reports import Reports

_REMEDIES = {
    "plan": "give the plan that they were made for",
    "round": "give the plan that has their rounds",
    "form": "let a client of this plan make them (deniable conform tests one), and pass on what it sends as "
    "it is: JSON that is written anew is refused",
}
"""What helps, by the reason of most refusals; at other reasons, the bytes have another form."""


@final
@dataclass(frozen=True)
class DecodeRequest:
    """A plan, files of reports as clients send them, and where the table goes."""

    plan: Path = argument("plan", type=FILE)
    files: Sequence[Path] = argument("files", type=FILE, nargs=-1)
    out: Path = option("-o", "--out", type=FILE, required=True, help="Write the table to this Parquet file.")
    refused: Path | None = option(
        "--refused",
        type=FILE,
        help="Keep what is refused in this file: a line of JSON for each, with the reason and the bytes.",
    )
    window: int = option(
        "--window",
        type=COUNT,
        default=str(WINDOW),
        show_default=True,
        help="How many of the last reports are remembered, by which one that comes again is left out.",
    )
    as_json: bool = taken(console.as_json)
    force: bool = taken(console.force)


@click.command("decode")
@as_request(DecodeRequest)
def decode_files(request: DecodeRequest) -> None:
    """Turn the bytes of reports into a table.

    FILES, or standard input without any, have reports as clients send them: each in a line, as hexadecimal
    digits or as JSON; or each after its length in 4 bytes, little-endian, as in a batch. What a collector
    would refuse is left out, and counted by its reason. The table has a column of ids, by which a report that
    lies in two files is counted once. If the plan continues others, their reports are in the table, too, and
    a column says the plan of each. If there are messages, and none is a report of these plans, nothing is
    written.
    """
    console.refuse_ending(request.out, [".parquet"], "a file of reports")
    console.refuse_existing([request.out, *filter(None, [request.refused])], request.force)
    if not request.files and sys.stdin.isatty():
        raise InvalidParameter(
            "name files of reports, or send them to standard input: deniable decode plan.json < reports.bin "
            "-o reports.parquet"
        )
    read = reading.read_plan(request.plan)
    with ExitStack() as stack:
        show = stack.enter_context(console.progress("decoding"))
        keep = None
        if request.refused is not None:
            kept = stack.enter_context(console.writing(request.refused, announced=False))
            lines = stack.enter_context(kept.open("w"))

            def keep(message: bytes, reason: str) -> None:
                lines.write(json.dumps({"reason": reason, "message": message.hex()}) + "\n")

        plans = read.document.plans_in_table
        received = Received(plans, _read_files(request.files, show), keep, request.window)
        forms = [plan.table_form for plan in plans]
        problem = None
        try:
            write_reports(request.out, forms, align_blocks(_refuse_if_none(received), None))
        except InvalidReport as refusal:
            if not received.refused:
                raise
            problem = refusal  # the file of messages that are refused shows what they are
    if problem is not None:
        raise problem
    if request.as_json:
        console.print_json({"n": received.n, "refused": received.refused})
    else:
        click.echo(f"wrote {format_count(received.n, 'report')} to {request.out}")
    for line in list_refused(received.refused):
        console.note(line)
    is_listed = any(part.listed for part in read.document.parts)
    which = ["--by", "round"] if is_listed and read.document.table_form.rounds > 1 else []
    console.say_next("estimate" if is_listed else "discover", request.plan, request.out, *which)


def _read_files(files: Sequence[Path], show: Show) -> Iterator[Messages]:
    """The messages of all files, or of standard input."""
    if not files:
        yield from block_messages(sys.stdin.buffer)
        return
    total, done = sum(file.stat().st_size for file in files if file.exists()), 0
    for file in files:
        for messages in block_messages(file):
            yield messages
            done += int(messages.lengths.sum())
            show(min(done, total), total)


def _refuse_if_none(received: Received) -> Iterator[Reports]:
    """The reports, of which there must be one where there are messages."""
    yield from received
    if received.refused and not received.n:
        reason = max(received.refused, key=received.refused.__getitem__)
        raise InvalidReport(
            f"none of these messages is a report of plan {received.plans[0].id[:12]}: "
            f"{', '.join(list_refused(received.refused))}; {_REMEDIES.get(reason, FRAMES)}"
        )
