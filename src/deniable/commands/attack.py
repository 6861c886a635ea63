"""`deniable attack`: shows what an attacker learns from a plan's reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import click
from click.core import ParameterSource

from deniable.commands.shared import console, options, reading, writing
from deniable.commands.shared.answers import Answers
from deniable.commands.shared.options import (
    COUNT,
    FILE,
    SEED,
    argument,
    as_request,
    option,
    taken,
    whole_from,
)


@final
@dataclass(frozen=True)
class AttackRequest:
    """A plan to attack, the attacker's data, and how to show what is learned."""

    plan: Path = argument("plan", type=FILE)
    data: Path | None = option(
        "--data", type=FILE, help="A CSV or Parquet file of people: the attacker's background and targets."
    )
    separator: str | None = taken(options.separator)
    collections: int = option(
        "--collections", type=whole_from(1, 100), default="5", help="How often everybody answers."
    )
    top: int = option("--top", type=COUNT, default="10", help="The number of candidates that count as found.")
    users: int = option("--users", type=COUNT, default="2,000", help="The number of people to look for.")
    seed: int = option("--seed", type=SEED, default="1", help="The seed of the simulation.")
    as_json: bool = taken(console.as_json)
    plot_files: Sequence[Path] = taken(writing.plot("the page"))
    force: bool = taken(console.force)


@click.command("attack")
@as_request(AttackRequest)
def attack_plan(request: AttackRequest) -> None:
    """Show what an attacker learns from reports.

    PLAN is attacked as well as possible, and compared with blind guessing. Without data, you see how often
    answers and whole records are guessed, exactly or with an error. With the answers of people, which never
    leave this machine, you also see what background data adds: how frequent the answers are, and records to
    find a person among. The file may lack some attributes and answers; what is left out is counted.
    """
    import numpy as np

    from deniable.attack.examination import examine
    from deniable.attack.inputs import misspelt
    from deniable.frames import header_of, separator_of

    source_of = click.get_current_context().get_parameter_source
    for name in ("separator", "top", "users"):
        if request.data is None and source_of(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is about people: name a file of them, too (--data)")
    writing.check((), request.plot_files, request.force)
    read = reading.read_plan(request.plan)
    codes = None
    if request.data is not None:
        reading.refuse_groups(
            read,
            "and whoever reads it looks only among people of that group",
            "attack that one with --data of one group's people",
        )
        with console.progress("reading") as show:
            codes = np.concatenate(
                list(Answers(read, request.data, request.separator, analyzed=True).codes(show)), axis=1
            )
        for slip in misspelt(
            read.names,
            header_of(request.data, separator_of(request.data, request.separator)),
            read.locations,
            request.data.name,
        ):
            console.warn(slip)
    with console.progress("attacking") as show:
        examination = examine(
            read, codes, request.collections, request.top, request.users, request.seed, show
        )
    if request.plot_files:
        writing.save_plots(request.plot_files, examination.plot)
    if request.as_json:
        console.print_json(asdict(examination))
    else:
        click.echo(examination.text())
