"""`deniable store`: checks, scrubs and exports the reports that were collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, ROUND, InOrder
from deniable.commands.shared.stores import find_actor, store_option
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.collect.offers import Round
    from deniable.collect.store import Store
    from deniable.plan import Plan, Reports

_which = click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
_round = click.option("--round", "number", type=ROUND, help="The round.")


_LOG_STAYS = (
    "sweeps clear the tables but not the log of the database, which has the order of all reports, and with "
    "plain invitations which one let a report in; the warnings say why it stays"
)


class Damaged(DeniableError):
    """A store whose tallies are not those of its reports."""


@contextmanager
def _open_store(url: str) -> Iterator[Store]:
    from deniable.collect.store import open_store

    store = open_store(url, create=False)
    try:
        yield store
    finally:
        store.close()


def _choose_plan(store: Store, plan_file: Path | None) -> Plan:
    """The plan of a file, or the only one there is."""
    from deniable.collect.reading import unknown

    plans = {each.plan.id: each.plan for each in store.plans()}
    wanted = list(plans) if plan_file is None else [reading.read_plan(plan_file).id]
    if not wanted:
        raise InvalidParameter(
            f"{store.name} is empty: no plan was ever served from it; name another with --store"
        )
    if len(wanted) != 1:
        raise InvalidParameter(f"name the plan's file: {store.name} has {len(plans)} plans")
    if wanted[0] not in plans:
        raise unknown(store, wanted[0], plans)
    return plans[wanted[0]]


@click.group("store", cls=InOrder)
def manage_store() -> None:
    """Check, scrub or export collected reports."""


@manage_store.command("check")
@store_option
@console.as_json
def check_store(store: str, as_json: bool) -> None:
    """Count all reports again.

    The counts are compared with the tallies that estimates are made from. Scrubbed reports cannot be counted
    again: the count that was kept of them is added. A warning names each setting of PostgreSQL that tells
    more about arrivals than it must.
    """
    with _open_store(store) as opened:
        problems, exposures, name = opened.check(), opened.exposures(), opened.name
        plans = [each.plan.id for each in opened.plans()]
        rounds = [(plan, part) for plan in plans for part in opened.rounds(plan)]
    for exposure in exposures:
        click.echo(f"warning: {exposure.text}", err=True)
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
            click.echo(f"plan {plan[:12]}, round {part.number}: {part.counted:,} reports{gone}")
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
@_which
@_round
@click.option("--yes", is_flag=True, help="Confirm the deletion.")
def scrub_store(store: str, plan_file: Path | None, number: int | None, yes: bool) -> None:
    """Delete what the reports say.

    The tallies of PLAN stay, and with them all estimates; no report can be counted twice. Estimates that need
    the reports themselves cannot be made afterwards.
    """
    from deniable.collect.offers import no_round

    with _open_store(store) as opened:
        plan = _choose_plan(opened, plan_file)
        rounds = [each for each in opened.rounds(plan.id) if number in (None, each.number)]
        if not rounds:
            raise (
                no_round(plan, number)
                if number
                else InvalidParameter("no round was opened yet, so there is nothing to scrub")
            )
        if not yes:
            held = sum(each.counted - each.scrubbed for each in rounds)
            raise InvalidParameter(
                f"this deletes what {held:,} reports say, which cannot be undone (the tallies stay); "
                "repeat it with --yes"
            )
        gone = opened.scrub(plan.id, number, find_actor())
        keeps_log = any(exposure.keeps_log for exposure in opened.exposures())
    if keeps_log:
        click.echo("warning: the log of the database still has what they said; see store check", err=True)
    click.echo(f"scrubbed {gone:,} reports; the tallies are as they were")


@manage_store.command("export")
@store_option
@_which
@_round
@click.option("-o", "--out", type=FILE, required=True, help="Write the reports to this Parquet file.")
@console.force
def export_store(store: str, plan_file: Path | None, number: int | None, out: Path, force: bool) -> None:
    """Write the reports of a round to a file.

    The reports of PLAN are written in the order of their random ids; the round is 1 unless --round names
    another.
    """
    console.refuse_ending(out, [".parquet"], "a file of reports")
    console.refuse_existing([out], force)
    from deniable.collect.offers import no_round

    with _open_store(store) as opened:
        plan = _choose_plan(opened, plan_file)
        found = {each.number: each for each in opened.rounds(plan.id)}
        if (number or 1) not in found:
            raise no_round(plan, number or 1)
        opened.access.log(find_actor(), "exported reports", plan.id, f"round {number or 1}")
        n = plan.write_reports(out, _read_reports(opened, plan, number or 1), overwrite=force)
    gone = found[number or 1].scrubbed
    if gone and not n:
        click.echo(
            f"warning: {out} has no reports: what all {gone:,} say is scrubbed; estimates come from the "
            "tallies",
            err=True,
        )
        return
    click.echo(
        f"wrote {format_count(n, 'report')} to {out}" + (f"; {gone:,} others are scrubbed" if gone else ""),
        err=True,
    )


def _read_reports(store: Store, plan: Plan, number: int) -> Iterator[Reports]:
    from deniable.wire import Wire

    wire = Wire(plan)
    return (wire.reports(bodies) for bodies in store.bodies(plan.id, number))
