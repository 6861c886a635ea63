"""`deniable verify`: recomputes what a plan gives away, from its integers alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, POSITIVE
from deniable.formatting import format_nanos, format_nats, keep_finite

if TYPE_CHECKING:
    from deniable.plan.losses import Stated
    from deniable.plan.texts import Texts


@click.command("verify")
@click.argument("plan", type=FILE)
@click.option(
    "--cap",
    type=POSITIVE,
    help="Refuse a plan that loses more per record, over all rounds, with the plans that it continues.",
)
@console.as_json
def verify_plan(plan: Path, cap: float | None, as_json: bool) -> None:
    """Recompute what a plan gives away.

    The losses are computed from the plan's integers alone, and printed. A plan that gives away more than it
    states is refused.
    """
    from deniable.explain.continued import explain_continued
    from deniable.explain.questions import explain_questions
    from deniable.plan import InvalidPlan

    read = reading.read_plan(plan)
    loss = read.verify()
    together = loss.chained.counted
    if cap is not None and not together <= cap:
        lost = f"loses {together:.9g}" if math.isfinite(together) else "has no bound on what it loses"
        changing = "" if loss.repeated is None else " over all rounds if answers change"
        if loss.chain is not None:
            changing = " with the plans that it continues, if answers change"
        raise InvalidPlan(
            f"{plan.name} is refused: it {lost} per record{changing}, more than the cap of {cap:g}"
        )
    if as_json:
        again = None  # for losses without a bound as well, as a plan states them
        if loss.repeated is not None:
            again = {name: keep_finite(figure) for name, figure in asdict(loss.repeated).items()}
        facts = {
            "plan": read.id,
            "loss_record": loss.record,
            "loss_attribute": loss.attribute,
            "protects": read.protection.level,
            "best_pick": read.protection.guess,
            "loss_counted": keep_finite(loss.counted),
            "repeated": again,
            "cap": cap,
        }
        if loss.chain is not None:
            facts["chain"] = {name: keep_finite(figure) for name, figure in asdict(loss.chain).items()}
        if loss.answer is not None:
            facts["loss_answer"] = loss.answer
        if read.document.texts is not None:
            facts["texts"] = read.document.texts.to_dict()
        if read.document.ask != "all":
            facts["ask"] = read.document.ask
        if read.document.maps:
            facts["maps"] = {name: str(cell_map) for name, cell_map in read.document.maps}
        if read.document.known is not None:
            facts["known"] = list(read.document.known.names)
        if read.document.linked:
            facts["linked"] = True
        if loss.rest is not None:
            facts |= {"loss_rest": loss.rest, "units": [asdict(unit) for unit in loss.units]}
        console.print_json(facts)
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
    if loss.answer is not None:
        click.echo(f"loss per answer     {format_nats(loss.answer)}")
    if loss.repeated is not None:
        click.echo(
            f"loss of all rounds  {_format_counted(read.stated)}  even if answers change: what devices count"
        )
        if loss.chain is not None:
            chained = _format_counted(read.stated.chained)
            click.echo(f"loss of all plans   {chained}  what devices count that answered those before it")
        click.echo("asked again, per record:")
        click.echo("\n".join(f"  {line}" for line in loss.repeated.explain().splitlines()))
    if loss.chain is not None:
        click.echo(explain_continued(read.document))
    click.echo(f"the plan {read.protection}")
    for line in explain_questions(read.document):
        click.echo(line)
    _print_texts(read.document.texts)
    for name, cell_map in read.document.maps:
        click.echo(f"under the cells of {name!r}: {cell_map}")
    if read.document.ask == "sampled":
        click.echo("a device asks only the questions that it has drawn for its report")
    if read.document.linked:
        click.echo(
            "all reports of a person carry one pseudonym: they tell which are one person's, and in which "
            "rounds a person answered"
        )
    known = read.document.known
    if known is not None:
        click.echo(
            f"known and sent as it is: {known.describe()}; no loss counts it, and all losses compare people "
            f"of the same {known.name}"
        )
    beside = "" if known is None else f", beside {known.name!r}, which every report names"
    click.echo(
        "OK: recomputed from the integers of the plan; nothing was changed, nothing is lost beyond what "
        f"is stated{beside}"
    )
    keyed = () if read.document.ticket_key is None else ("--ticket-key", "FILE")
    console.say_next("serve", plan, *keyed)


def _format_counted(stated: Stated) -> str:
    return "no bound" if stated.counted is None else format_nanos(stated.counted)


def _print_texts(texts: Texts | None) -> None:
    """What the survey says, in each of its languages."""
    for language in () if texts is None else texts.languages:
        click.echo(f"what people read, in {language}:")
        for name, text in _flatten(texts.to_dict() if texts else {}):
            if language in text:
                said = text[language]
                words = ", ".join(said) if isinstance(said, list) else said
                click.echo("  " + f"{name}: {words}".replace("\n", "\n    "))
    for name in () if texts is None else texts.other:
        click.echo(f"the last answer to {name!r} is for all that are not listed; a note of it is never sent")


def _flatten(texts: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, text in texts.items():
        if name == "attributes":
            yield from (
                (f"{kind} of {attribute!r}", said)
                for attribute, kinds in text.items()
                for kind, said in kinds.items()
                if kind != "other"
            )
        elif name not in ("language", "pages"):
            yield name.replace("_", " "), text
