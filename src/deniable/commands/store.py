"""`deniable store`: checks and scrubs the reports that were collected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE, ROUND, InOrder
from deniable.commands.shared.stores import choose_plan, find_actor, open_existing, store_option
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.store.schedule import Round

_LOG_STAYS = (
    "sweeps clear the tables but not the log of the database, which has the order of all reports, and with "
    "plain invitations which one let a report in; the warnings say why it stays"
)


class Damaged(DeniableError):
    """A store whose tallies are not those of its reports."""


@click.group("store", cls=InOrder)
def manage_store() -> None:
    """Check or scrub collected reports."""


@manage_store.command("check")
@store_option
@console.as_json
def check_store(store: str, as_json: bool) -> None:
    """Count all reports again.

    The counts are compared with the tallies that estimates are made from. Scrubbed reports cannot be counted
    again: the count that was kept of them is added. A warning names each setting of PostgreSQL that tells
    more about arrivals than it must.
    """
    with open_existing(store) as opened:
        problems, exposures, name = opened.check(), opened.exposures(), opened.name
        plans = [stored.document.id for stored in opened.plans()]
        rounds = [(plan, part) for plan in plans for part in opened.rounds(plan)]
    for exposure in exposures:
        console.warn(exposure.text)
    keeps_log = any(exposure.keeps_log for exposure in exposures)
    if as_json:
        facts = [
            {"plan": plan, "round": part.number, "counted": part.counted, "scrubbed": part.scrubbed}
            for plan, part in rounds
        ]
        console.print_json({"rounds": facts, "problems": problems, "keeps_log": keeps_log})
    else:
        for plan, part in rounds:
            gone = f", {part.scrubbed:,} of them scrubbed and not counted again" if part.scrubbed else ""
            click.echo(f"plan {plan[:12]}, round {part.number}: {format_count(part.counted, 'report')}{gone}")
        for problem in problems:
            click.echo(f"wrong: {problem}")
    if problems:
        raise Damaged(
            f"the store is not in order ({len(problems)} problems); restore a backup, or ask for help"
        )
    if not as_json:
        if plans:  # where there is nothing, nothing is swept
            click.echo(_LOG_STAYS if keeps_log else "sweeps clear the tables and the log of the database")
        click.echo(_describe_order(name, plans, rounds))


def _describe_order(name: str, plans: Sequence[str], rounds: Sequence[tuple[str, Round]]) -> str:
    """What a store that is in order has to say; one without reports is no proof of anything."""
    if not plans:
        return f"there is nothing in {name}: no plan was ever served from it; is it the right --store?"
    if not any(part.counted for _, part in rounds):
        return f"no report was counted in {name} yet, so there is nothing to compare"
    total, gone = (
        sum(numbers) for numbers in zip(*((part.counted, part.scrubbed) for _, part in rounds), strict=True)
    )
    if gone == total:
        return (
            f"nothing could be counted again: what all {total:,} reports say is scrubbed. There are as many "
            "ids as were counted, and the tallies are those that were kept when the reports were scrubbed"
        )
    if gone:
        return (
            f"OK: the tallies are those of the {total - gone:,} reports that are left, and what was kept of "
            "those scrubbed"
        )
    return "OK: the tallies are those of the reports"


@manage_store.command("scrub")
@store_option
@click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
@click.option("--round", "number", type=ROUND, help="The round.")
@click.option("--yes", is_flag=True, help="Confirm the deletion.")
@click.option("--unfound", is_flag=True, help="Delete text, too, that nobody has searched yet.")
def scrub_store(store: str, plan_file: Path | None, number: int | None, yes: bool, unfound: bool) -> None:
    """Delete what the reports say.

    The tallies of PLAN stay, and with them all estimates; no report can be counted twice. Estimates that need
    the reports themselves cannot be made afterwards.
    """
    from deniable.collect.discovery import list_unfound
    from deniable.store.schedule import no_round

    with open_existing(store) as opened:
        plan = choose_plan(opened, plan_file)
        rounds = [stored for stored in opened.rounds(plan.id) if number in (None, stored.number)]
        if not rounds:
            raise (
                no_round(plan.document, number)
                if number
                else InvalidParameter("no round was opened yet, so there is nothing to scrub")
            )
        lost = [] if unfound else list_unfound(opened, plan, number)
        if lost:
            raise InvalidParameter(
                f"nobody has searched all reports for the values of {' and '.join(map(repr, lost))}, which "
                "only the reports hold: run deniable discover with the usual --alpha and --least, and with a "
                "list of words only where nothing else finds them, or say --unfound to delete them"
            )
        if not yes:
            remaining = sum(stored.counted - stored.scrubbed for stored in rounds)
            raise InvalidParameter(
                f"this deletes what {remaining:,} reports say, which cannot be undone (the tallies stay); "
                "repeat it with --yes"
            )
        gone = opened.scrub(plan.id, number, find_actor())
        keeps_log = any(exposure.keeps_log for exposure in opened.exposures())
    if keeps_log:
        console.warn("the log of the database still has what they said; see store check")
    click.echo(f"scrubbed {format_count(gone, 'report')}; the tallies are as they were")
