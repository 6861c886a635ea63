"""`deniable privatize`: turns a file of answers into a file of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, options, reading
from deniable.commands.shared.answers import Answers
from deniable.commands.shared.options import FILE, ROUND, SEED, argument, as_request, option, taken
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, shorten_names
from deniable.reports.privatize import find_turns, list_unread, make_reports

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.frames import Show
    from deniable.reports import Reports
    from deniable.study import Plan

    Block = tuple[Reports, pa.Table | None]
    Groups = Counter[tuple[object, ...]]

_GROUPS = 100_000  # combinations that are told apart


@final
@dataclass(frozen=True)
class PrivatizeRequest:
    """A plan, a file of answers, and how to make reports of them."""

    plan: Path = argument("plan", type=FILE)
    data: Path = argument("data", type=FILE)
    out: Path = option(
        "-o",
        "--out",
        type=FILE,
        required=True,
        help="Write the reports to this Parquet file; with --engine spark, to this folder.",
    )
    seed: int | None = option(
        "--seed", type=SEED, help="Simulate with reproducible random numbers; this protects nobody."
    )
    number: int | None = option(
        "--round", "number", type=ROUND, help="The round, for a plan that asks again."
    )
    person: str | None = option(
        "--person",
        metavar="COLUMN",
        help="The column that says who answers, for a plan that asks again.  [default: row 1 is person 1]",
    )
    beside: Sequence[str] = taken(
        options.name_option(
            "--beside",
            "Columns of DATA, such as day,region, that are copied beside each report as they are: nothing "
            "protects them.",
        )
    )
    engine: str | None = option(
        "--engine",
        type=click.Choice(["spark"]),
        help="Let a cluster do it, where DATA is a table of Parquet.",
    )
    master: str | None = option(
        "--master", metavar="ADDRESS", help="The cluster: spark://host:7077.  [default: this machine]"
    )
    separator: str | None = taken(options.separator)
    force: bool = taken(console.force)


@click.command("privatize")
@as_request(PrivatizeRequest)
def privatize_file(request: PrivatizeRequest) -> None:
    """Turn a file of answers into reports.

    DATA is a CSV or Parquet file with a row per person. Use this for data that you already hold, and for
    simulations; devices make their own reports, with a client. Random numbers come from the operating system.
    If any answer is refused, nothing is written. With --beside day, deniable estimate --by day shows each day
    by itself.
    """
    if request.engine is not None:
        beside_cluster = (request.seed, request.number, request.person, request.separator, request.force)
        if beside_cluster != (None, None, None, None, False):
            raise InvalidParameter(
                "on a cluster, random numbers come from the operating systems of its tasks, and folders are "
                "not replaced; leave out --seed, --round, --person, --separator and --force"
            )
        _privatize_on_spark(request)
        return
    if request.master is not None:
        raise InvalidParameter("--master names a cluster, with --engine spark")
    from deniable.reports.extra_columns import write_blocks

    console.refuse_ending(request.out, [".parquet"], "a file of reports")
    console.refuse_existing([request.out], request.force)
    read = reading.read_plan(request.plan)
    again = read.document.rounds is not None
    if not again and (request.number, request.person) != (None, None):
        raise InvalidParameter("--round and --person are for plans that ask again; this one asks once")
    answers = Answers(read, request.data, request.separator, request.person, beside=tuple(request.beside))
    answers.refuse_beside()
    groups: Groups = Counter()
    silent = 0  # rows without a turn
    with console.progress("privatizing") as show:
        if again:
            block, silent = _privatize_again(answers, request, show)
            blocks = iter([block])
        else:
            blocks = _privatize_once(answers, request.seed, show)
        n = write_blocks(request.out, read.document, _count_groups(blocks, groups), overwrite=request.force)
    _say_written(read, request, n, answers.header(), groups)
    if silent:
        from deniable.explain.summary import format_rounds

        console.note(
            f"{format_count(silent, 'row')} of {silent + n:,} made no report: each person answers in "
            f"{format_rounds(read.document)}, and round {request.number} is not among theirs"
        )
    if answers.absent.total():
        where = ", ".join(f"{name} {absent:,}" for name, absent in answers.absent.items() if absent)
        missing = format_count(answers.absent.total(), "missing answer")
        console.note(
            f"{missing} drawn at random, as the plan says ({where}); estimates count them like answers"
        )
    if request.seed is not None:
        console.note("these reports were simulated: whoever knows the seed knows the answers")
    _say_next(read, request.plan, request.out)


def _say_written(
    read: Plan, request: PrivatizeRequest, n: int, header: Sequence[str], groups: Groups
) -> None:
    """Says how many reports were written, which columns were left out, and which stand beside reports as they
    are, with how few reports share their values.
    """
    console.note(f"wrote {format_count(n, 'report')} to {request.out}")
    if unread := list_unread(read.document, header, [request.person, *request.beside]):
        console.note(f"columns that the plan does not ask for were left out: {shorten_names(unread)}")
    if request.beside:
        text = f"not protected, beside each report as in the file: {', '.join(request.beside)}"
        if len(groups) > _GROUPS:
            text += f"; more than {_GROUPS:,} combinations may point to single people"
        elif groups:
            smallest = format_count(min(groups.values()), "report")
            text += f"; {format_count(len(groups), 'combination')}, the smallest of {smallest}"
        console.note(text)


def _say_next(read: Plan, *files: object) -> None:
    is_listed = any(part.listed for part in read.document.parts)
    console.say_next("estimate" if is_listed else "discover", *files)


def _count_groups(blocks: Iterator[Block], groups: Groups) -> Iterator[Block]:
    """Passes blocks on, and counts the reports of each combination of values in the columns beside them."""
    for reports, beside in blocks:
        if beside is not None and len(groups) <= _GROUPS:
            groups.update(zip(*(column.to_pylist() for column in beside.columns), strict=True))
        yield reports, beside


def _privatize_on_spark(request: PrivatizeRequest) -> None:
    """Reports of a table of Parquet, made by the tasks of a cluster."""
    from deniable.engines.databases import plain_spark_errors
    from deniable.engines.spark import open_session

    read = reading.read_plan(request.plan)
    with open_session(request.master or "local[*]") as session:
        with plain_spark_errors():
            people = session.read.parquet(str(request.data))
        reports = read.privatize(people, into=str(request.out), beside=request.beside)
        _say_written(read, request, reports.count(), people.columns, Counter())
    _say_next(read, request.plan, "--from", request.out)


def _privatize_once(answers: Answers, seed: int | None, show: Show) -> Iterator[Block]:
    """Reports block by block."""
    from deniable.randomness import simulated

    source = None if seed is None else simulated.seeded(seed)
    for codes, beside in answers.blocks(show):
        yield answers.plan.privatize_codes(codes, source), answers.to_arrow([beside])


def _privatize_again(answers: Answers, request: PrivatizeRequest, show: Show) -> tuple[Block, int]:
    """Reports of people who keep their first answers, all at once, and how many rows have no turn."""
    import numpy as np

    from deniable.randomness import simulated

    rounds = answers.plan.document.rounds
    if request.seed is None:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept on their own "
            "device; a file of people can only be simulated, with --seed"
        )
    if request.number is None or request.number > (rounds or 0):
        given = "" if request.number is None else f", got {request.number}"
        raise InvalidParameter(
            f"this plan asks again and again: say with --round which round this is, from 1 to {rounds}{given}"
        )
    blocks = list(answers.blocks(show))
    codes = np.concatenate([encoded for encoded, _ in blocks], axis=1)
    words, people = simulated.remembering(request.seed, round=request.number), answers.people()
    turns = find_turns(answers.plan.document, codes.shape[1], words, people)
    beside = answers.to_arrow([columns for _, columns in blocks])
    if beside is not None and turns is not None:
        beside = beside.take(turns)
    reports = make_reports(answers.plan.document, codes, words, people, turns)
    return (reports, beside), codes.shape[1] - reports.n
