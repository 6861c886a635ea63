"""`deniable simulate-people`: writes answers of people who do not exist, by the tables of a target."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import FILE, SEED, Number, argument, as_request, option, taken, whole
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.formatting import format_count
from deniable_papers.people import simulate_people

_MOST_PEOPLE = 10**6  # rows that are in memory at once


@final
@dataclass(frozen=True)
class PeopleRequest:
    """A plan, its reports, and how many people to simulate from them."""

    plan: Path = argument("plan", type=FILE)
    reports: Path | None = argument("reports", type=FILE, required=False)
    target: str | None = option(
        "--target",
        metavar="QUESTION",
        help="The question that people are simulated for; without it, no answer depends on another.",
    )
    people: int = option(
        "--people",
        type=Number(partial(whole, least=1, most=_MOST_PEOPLE)),
        default="10000",
        help="How many people to simulate, up to a million.",
    )
    seed: int = option("--seed", type=SEED, default="1", help="The seed of the simulation.")
    source: sources.Source | None = taken(options.source)
    table: str | None = taken(sources.table)
    number: int | None = taken(options.source_round)
    token_file: Path | None = taken(options.token_file)
    out: Sequence[Path] = taken(writing.out)
    force: bool = taken(console.force)


@click.command("simulate-people")
@as_request(PeopleRequest)
def write_people(request: PeopleRequest) -> None:
    """Write simulated people, to train with.

    The study must have named the target: target = "income". Answers to it are drawn by its shares, and every
    other answer by its share among people with that answer. Without a target, every answer is drawn by its
    own share, from any plan: reports of RS+FD or of ALLOMFREE tell no more. Simulated people have no error
    bars: for shares, intervals and tests, use deniable cross.
    """
    source = sources.find_source(request.reports, request.source)
    if not request.out:
        raise InvalidParameter("name a file for the people with -o, such as -o people.csv")
    writing.check(request.out, (), request.force)
    read = reading.read_plan(request.plan)
    reports, source = sources.choose_reading(read, request.reports, source, request.number is not None)
    if reports is None:
        assert source is not None
        token = reading.find_token(source, request.token_file)
        _, tallies = sources.fetch_tallies(read, source, request.table, request.number, token)
    else:
        with console.progress("counting") as show:
            tallies = reading.read_tallies(read, reports, show)
    result = read.estimate(tallies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # it is said below, as the shell says it
        simulated = simulate_people(result, request.people, request.target, request.seed)
    columns = [column.tolist() for column in simulated.values()]
    rows = [dict(zip(simulated, answers, strict=True)) for answers in zip(*columns, strict=True)]
    writing.write_tables(request.out, rows, rows)
    known = "shares" if request.target is None else "tables"
    click.echo(
        f"warning: these people are simulated by the {known} of {format_count(result.n, 'report')}, and have "
        f"no error bars: what is counted of them is as uncertain as the {known}; for shares, intervals and "
        "tests use deniable cross",
        err=True,
    )
    if request.target is None:
        click.echo(
            "warning: the answers of these people do not depend on each other, even where those of real "
            "people do",
            err=True,
        )
    elif len(simulated) > 2:
        click.echo(
            f"warning: these people's other answers depend on {request.target!r} alone: the file does not "
            "show how any two of them depend on each other, even where they do",
            err=True,
        )
