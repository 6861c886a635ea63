"""`deniable plan`, `verify`, `privatize`: from a study to its reports, file by file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands import console, reading
from deniable.commands.answers import Answers
from deniable.commands.console import FILE, one, positive, round_number, whole
from deniable.commands.example import write_example
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, format_nanos

if TYPE_CHECKING:
    from deniable.plan import Reports
    from deniable.tables import Show


@click.command("plan")
@click.argument("study", type=FILE)
@click.option(
    "--people",
    callback=one(partial(whole, least=1, most=10**15)),
    required=True,
    help="How many are expected to answer, such as 50000, 50,000 or 5e4.",
)
@click.option("-o", "--out", type=FILE, help="Where to write the plan, a JSON file.")
@click.option("--cite", is_flag=True, help="Print BibTeX of what the plan uses, too.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the plan itself, which is JSON, in place of the explanation.",
)
@console.force
def make_plan(study: Path, people: int, out: Path | None, cite: bool, as_json: bool, force: bool) -> None:
    """Make a plan of a study and explain it.

    Protocols and share are chosen by exact expected error, unless the study names them.
    """
    if cite and as_json:
        raise InvalidParameter("--cite and --json do not go together: BibTeX is not JSON")
    if out is not None:
        console.refuse_ending(out, [".json"], "a plan")
        console.refuse_existing([out], force)
    plan = reading.planned(study, people)
    if out is not None:
        plan.write(out, overwrite=force)
        click.echo(f"wrote {out}", err=True)
    click.echo(plan.to_json() if as_json else plan.explain())
    if cite:
        click.echo("\n" + plan.cite())


@click.command("verify")
@click.argument("plan", type=FILE)
@click.option("--cap", callback=one(positive), help="Refuse a plan that loses more than this per record.")
@console.as_json
def verify_plan(plan: Path, cap: float | None, as_json: bool) -> None:
    """Recompute from a plan's integers alone what it gives away, and print it; or refuse the plan with the
    reason.
    """
    from deniable.plan import InvalidPlan

    read = reading.read_plan(plan)
    loss = read.verify()
    most = loss.record if loss.repeated is None else max(loss.record, loss.repeated.one_value_forever)
    if cap is not None and not most <= cap:
        raise InvalidPlan(
            f"{plan.name} is refused: it loses {most:.9g} per record, more than the cap of {cap:g}"
        )
    if as_json:
        again = None if loss.repeated is None else _finite(asdict(loss.repeated))
        units = [asdict(one) for one in loss.units]
        found = {
            "plan": read.id,
            "loss_record": loss.record,
            "loss_attribute": loss.attribute,
            "repeated": again,
            "cap": cap,
        }
        console.print_json(found if loss.rest is None else found | {"loss_rest": loss.rest, "units": units})
        return
    click.echo(f"plan {read.id}")
    metric = read.stated.metric
    for stated in () if metric is None else metric.units:
        click.echo(f"loss per {stated.unit:<11}{format_nanos(stated.loss)}  of {stated.name!r}")
    if metric is not None:
        click.echo(f"loss of the rest    {format_nanos(metric.rest)}")
        click.echo("in the worst case, whatever the distances:")
    click.echo(f"loss per record     {format_nanos(read.stated.record)}")
    click.echo(f"loss per attribute  {format_nanos(read.stated.attribute)}")
    if loss.repeated is not None:
        click.echo("asked again, per record:")
        click.echo("\n".join(f"  {line}" for line in loss.repeated.explain().splitlines()))
    click.echo(
        "OK: recomputed from the thresholds; nothing was changed, nothing is lost beyond what is stated"
    )


def _finite(losses: dict[str, float]) -> dict[str, float | None]:
    """As a plan states them: null where there is no bound."""
    return {name: None if math.isinf(loss) else loss for name, loss in losses.items()}


@click.command("privatize")
@click.argument("plan", type=FILE)
@click.argument("data", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The reports, a Parquet file.")
@click.option("--seed", type=click.IntRange(0), help="Simulate: reproducible words, which protect nobody.")
@click.option(
    "--round", "number", callback=one(round_number), help="Of a plan that asks again: which round this is."
)
@click.option(
    "--person",
    metavar="COLUMN",
    help="Of a plan that asks again: who a row is.  [default: row 1 is person 1]",
)
@click.option(
    "--separator", help="What is between the cells of a CSV file.  [default: a comma; in .tsv, a tab]"
)
@console.force
def privatize_file(
    plan: Path,
    data: Path,
    out: Path,
    seed: int | None,
    number: int | None,
    person: str | None,
    separator: str | None,
    force: bool,
) -> None:
    """Turn DATA, a CSV or Parquet file with a row per person, into reports.

    For data that you hold already, and for simulations; devices make their own reports, with a client. Random
    words come from the operating system. Nothing is written unless all of it is.
    """
    console.refuse_ending(out, [".parquet"], "a file of reports")
    console.refuse_existing([out], force)
    read = reading.read_plan(plan)
    again = read.content.rounds is not None
    if not again and (number, person) != (None, None):
        raise InvalidParameter("--round and --person are for plans that ask again; this one asks once")
    answers = Answers(read, data, separator, person)
    with console.progress("privatizing") as show:
        made = _again(answers, seed, number, show) if again else _once(answers, seed, show)
        n = read.write_reports(out, made, overwrite=force)
    click.echo(f"wrote {format_count(n, 'report')} to {out}", err=True)
    if answers.absent.total():
        where = ", ".join(f"{name} {absent:,}" for name, absent in answers.absent.items() if absent)
        missing = format_count(answers.absent.total(), "missing answer")
        click.echo(
            f"{missing} drawn at random, as the plan says ({where}); estimates count them like answers",
            err=True,
        )
    if seed is not None:
        click.echo("these reports were simulated: whoever knows the seed knows the answers", err=True)


def _once(answers: Answers, seed: int | None, show: Show) -> Iterator[Reports]:
    """Reports block by block."""
    from deniable.words import simulated

    source = None if seed is None else simulated.seeded(seed)
    for codes in answers.codes(show):
        yield answers.plan.privatize_codes(codes, source)


def _again(answers: Answers, seed: int | None, number: int | None, show: Show) -> Iterator[Reports]:
    """Reports of people who keep their first answers, all at once."""
    import numpy as np

    from deniable.words import simulated

    rounds = answers.plan.content.rounds
    if seed is None:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept on their own "
            "device; a file of people can only be simulated, with --seed"
        )
    if number is None or number > (rounds or 0):
        raise InvalidParameter(
            f"this plan asks again and again: say with --round which round this is, from 1 to {rounds}"
        )
    codes = np.concatenate(list(answers.codes(show)), axis=1)
    yield answers.plan.privatize_codes(codes, simulated.remembering(seed, round=number), answers.people())


COMMANDS = (write_example, make_plan, verify_plan, privatize_file)
"""What the command line offers from here."""
