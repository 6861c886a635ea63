"""`deniable plan`: makes a plan of a study, and explains it."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, POSITIVE, people_expected
from deniable.errors import InvalidParameter


@click.command("plan")
@click.argument("study", type=FILE)
@people_expected
@click.option(
    "--influence", type=POSITIVE, help="The most people that one fake report may count for, such as 5."
)
@click.option(
    "--ticket-key",
    type=FILE,
    help="Let invitations be exchanged for unlinkable tickets; a new file for the key of this plan.",
)
@click.option("-o", "--out", type=FILE, help="Write the plan to this JSON file.")
@click.option("--cite", is_flag=True, help="Also print BibTeX entries for what the plan uses.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan itself, in JSON.")
@console.force
def make_plan(
    study: Path,
    people: int,
    influence: float | None,
    ticket_key: Path | None,
    out: Path | None,
    cite: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Make a plan of a study, and explain it.

    Deniable chooses protocols and the record mechanism by their exact expected error, unless the study names
    them.
    """
    if cite and as_json:
        raise InvalidParameter("--cite and --json do not go together: BibTeX is not JSON")
    if out is not None:
        console.refuse_ending(out, [".json"], "a plan")
        console.refuse_existing([out], force)
    plan = reading.plan_study(study, people, influence)
    if ticket_key is not None:
        from deniable.commands.shared.ticket_keys import add_ticket_key

        plan = add_ticket_key(plan, ticket_key)
    if out is not None:
        plan.write(out, overwrite=force)
        console.note(f"wrote {out}")
    click.echo(plan.to_json() if as_json else plan.explain())
    if cite:
        click.echo("\n" + plan.cite())
    keyed = () if ticket_key is None else ("--ticket-key", ticket_key)
    capped = () if influence is None else ("--influence", influence)
    if out is not None and not as_json:
        console.say_next("serve", out, *keyed)
    elif not as_json:
        new = console.free_name("plan.json")
        console.say_next("plan", study, "--people", people, *capped, *keyed, "-o", new)
