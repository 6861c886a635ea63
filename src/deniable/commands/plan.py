"""`deniable plan`: makes a plan of a study, and explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import (
    FILE,
    POSITIVE,
    argument,
    as_request,
    option,
    people_expected,
    plan_continued,
    taken,
)
from deniable.errors import InvalidParameter
from deniable.formatting import fill_paragraph, format_nanos, format_up

if TYPE_CHECKING:
    from deniable.study import Plan

_MOST_TOLD = math.log(1e6)  # beyond a million times likelier no number helps


@dataclass(frozen=True)
class PlanRequest:
    """The study of `deniable plan`, what it is planned for, and where the plan goes."""

    study: Path = argument("study", type=FILE)
    people: int = taken(people_expected)
    influence: float | None = option(
        "--influence", type=POSITIVE, help="The most people that one fake report may count for, such as 5."
    )
    ticket_key: Path | None = option(
        "--ticket-key",
        type=FILE,
        help="Let invitations be exchanged for unlinkable tickets; a new file for the key of this plan.",
    )
    continues: Path | None = taken(plan_continued)
    out: Path | None = option("-o", "--out", type=FILE, help="Write the plan to this JSON file.")
    cite: bool = option("--cite", is_flag=True, help="Also print BibTeX entries for what the plan uses.")
    as_json: bool = option("--json", "as_json", is_flag=True, help="Print the plan itself, in JSON.")
    force: bool = taken(console.force)


@click.command("plan")
@as_request(PlanRequest)
def make_plan(request: PlanRequest) -> None:
    """Make a plan of a study, and explain it.

    Deniable chooses protocols and the record mechanism by their exact expected error, unless the study names
    them. Where some questions are asked once and others again, both are plans: plan.json has a
    plan-repeated.json beside it.
    """
    study, people, continues = request.study, request.people, request.continues
    if request.cite and request.as_json:
        raise InvalidParameter("--cite and --json do not go together: BibTeX is not JSON")
    if request.out is not None:
        console.refuse_ending(request.out, [".json"], "a plan")
        console.refuse_existing([request.out], request.force)
    plans = reading.plan_study(study, people, request.influence, continues)
    files, keys = _list_files(request.out, plans), _list_files(request.ticket_key, plans)
    if continues is not None and any(file.exists() and file.samefile(continues) for file in files):
        raise InvalidParameter(
            f"{continues} is the plan that devices have, and it stays in use while they change: name another "
            "file for the new plan with -o"
        )
    console.refuse_existing(files, request.force)
    if keys:
        from deniable.commands.shared.ticket_keys import add_ticket_key

        plans = tuple(add_ticket_key(plan, key) for plan, key in zip(plans, keys, strict=True))
    for plan, file in zip(plans, files, strict=False):
        plan.write(file, overwrite=request.force)
        console.note(f"wrote {file}")
    if request.as_json:
        texts = [plan.to_json() for plan in plans]
        click.echo(texts[0] if len(plans) == 1 else f"[{','.join(texts)}]")
        return
    click.echo("\n\n".join(plan.explain() for plan in plans))
    if len(plans) > 1:
        _explain_together(plans)
    for plan in plans if request.cite else ():
        click.echo("\n" + plan.cite())
    if any(precision.use == "noise" for plan in plans for precision in plan.precisions()):
        console.say_next("advise", study, "--people", people, before="to see what would make it useful: ")
    capped = () if request.influence is None else ("--influence", request.influence)
    is_for_warehouse = any(
        row.objective.counted_in == "warehouse" for plan in plans for row in plan.considered
    )
    if files and is_for_warehouse and not keys:  # tickets need a collector
        before = (
            "give the plan to devices, and read what your queue or log holds of them (docs/pipeline.md): "
        )
        console.say_next("decode", files[-1], "reports.bin", "-o", "reports.parquet", before=before)
    elif files:
        served = [*files] if continues is None else [continues, *files]  # both, for as long as devices change
        console.say_next("serve", *served, *(word for key in keys for word in ("--ticket-key", key)))
    else:
        new = console.free_name("plan.json")
        keyed = () if request.ticket_key is None else ("--ticket-key", request.ticket_key)
        followed = () if continues is None else ("--continues", continues)
        console.say_next("plan", study, "--people", people, *capped, *keyed, *followed, "-o", new)


def _list_files(file: Path | None, plans: Sequence[Plan]) -> list[Path]:
    """A file for each plan: of what is asked once, and beside it of what is asked again."""
    if file is None:
        return []
    return [file, file.with_stem(f"{file.stem}-repeated")][: len(plans)]


def _explain_together(plans: Sequence[Plan]) -> None:
    """What the reports to both plans give away together, as the survey page says it."""
    from deniable.explain.device_limit import warn_together
    from deniable.plan.losses import NANO, Protection

    documents = [plan.document for plan in plans]
    protection = Protection.together(documents)
    rounds = max(plan.document.rounds or 1 for plan in plans)
    click.echo(f"\nWhat all reports give away together, of what is asked once and in {rounds} rounds:")
    if protection.loss is None:
        click.echo("  no bound, if answers change from round to round")
    else:
        click.echo(f"  {format_nanos(protection.loss)} per record, even if answers change")
        loss = protection.loss / NANO
        times = "e^" + format_up(loss) if loss > _MOST_TOLD else format_up(math.exp(loss), 3)
        click.echo(
            f"  no reports of all rounds are more than {times} times likelier from one person than another"
        )
    click.echo(indent(fill_paragraph(f"the survey {protection}"), "  "))
    limit = warn_together(documents)
    if limit is not None:
        console.warn(limit)
