"""`deniable simulate-people`: writes answers of people who do not exist, by the tables of a target."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from deniable.commands.shared import console, options, reading, results, sources, writing
from deniable.commands.shared.options import FILE, SEED, Number, whole
from deniable.errors import DeniableWarning, InvalidParameter
from deniable.formatting import format_count

_MOST_PEOPLE = 10**6  # rows that are in memory at once


@click.command("simulate-people")
@click.argument("plan", type=FILE)
@click.argument("reports", type=FILE, required=False)
@click.option(
    "--target", required=True, metavar="QUESTION", help="The question that people are simulated for."
)
@click.option(
    "--people",
    type=Number(partial(whole, least=1, most=_MOST_PEOPLE)),
    default="10000",
    show_default=True,
    help="How many people to simulate, up to a million.",
)
@click.option("--seed", type=SEED, default="1", show_default=True, help="The seed of the simulation.")
@options.source
@sources.table
@options.source_round
@options.token_file
@writing.out
@console.force
def write_people(
    plan: Path,
    reports: Path | None,
    target: str,
    people: int,
    seed: int,
    source: sources.Source | None,
    table: str | None,
    number: int | None,
    token_file: Path | None,
    out: Sequence[Path],
    force: bool,
) -> None:
    """Write simulated people, to train with.

    The study must have named the target: target = "income". Answers to it are drawn by its shares, and every
    other answer by its share among people with that answer. Simulated people have no error bars: for shares,
    intervals and tests, use deniable cross.
    """
    source = sources.find_source(reports, source)
    if not out:
        raise InvalidParameter("name a file for the people with -o, such as -o people.csv")
    writing.check(out, (), force)
    read = reading.read_plan(plan)
    result = results.read_result(read, reports, source, table, number, token_file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)  # it is said below, as the shell says it
        simulated = result.simulate_people(people, target, seed)
    columns = [column.tolist() for column in simulated.values()]
    rows = [dict(zip(simulated, answers, strict=True)) for answers in zip(*columns, strict=True)]
    writing.write_tables(out, rows, rows)
    click.echo(
        f"warning: these people are simulated by the tables of {format_count(result.n, 'report')}, and have "
        "no error bars: what is counted of them is as uncertain as the tables; for shares, intervals and "
        "tests use deniable cross",
        err=True,
    )
    if len(simulated) > 2:
        click.echo(
            f"warning: these people's other answers depend on {target!r} alone: the file does not show how "
            "any two of them depend on each other, even where they do",
            err=True,
        )
