"""`deniable store check`, `scrub`, `export`: look after the reports that were collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.console import FILE, round_number
from deniable.commands.shared.console import one as option
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.collect.store import Round, Store
    from deniable.plan import Plan, Reports

_where = click.option(
    "--store",
    "url",
    default="sqlite:///reports.db",
    show_default=True,
    help="Where reports are kept: sqlite:///FILE or postgresql://…",
)
_which = click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
_round = click.option("--round", "number", callback=option(round_number), help="One round.")


class Damaged(DeniableError):
    """A store whose tallies are not those of its reports."""


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    from deniable.collect.store import open_store

    store = open_store(url, create=False)
    try:
        yield store
    finally:
        store.close()


def _chosen(store: Store, plan_file: Path | None) -> Plan:
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


@click.group("store")
def manage_store() -> None:
    """Look after collected reports: count them again, delete what they say, write them to a file."""


@manage_store.command("check")
@_where
@console.as_json
def check_store(url: str, as_json: bool) -> None:
    """Count all reports again and compare with the tallies that estimates are made from.

    Where reports are scrubbed, those that are left are counted, and the count that was made of the others is
    added.
    """
    with _opened(url) as store:
        problems, name = store.check(), store.name
        plans = [each.plan.id for each in store.plans()]
        rounds = [(plan, part) for plan in plans for part in store.rounds(plan)]
    if as_json:
        facts = [
            {"plan": plan, "round": part.number, "counted": part.counted, "scrubbed": part.scrubbed}
            for plan, part in rounds
        ]
        console.print_json({"rounds": facts, "problems": problems})
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
        click.echo(_verdict(name, plans, rounds))


def _verdict(name: str, plans: Sequence[str], rounds: Sequence[tuple[str, Round]]) -> str:
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
@_where
@_which
@_round
@click.option("--yes", is_flag=True, help="Do it.")
def scrub_store(url: str, plan_file: Path | None, number: int | None, yes: bool) -> None:
    """Delete what the reports of PLAN say; their tallies, and so all estimates, stay, and none can be counted
    twice.

    Estimates that need the reports themselves can then not be made any more.
    """
    from deniable.collect.store import no_round

    with _opened(url) as store:
        plan = _chosen(store, plan_file)
        rounds = [each for each in store.rounds(plan.id) if number in (None, each.number)]
        if not rounds:
            raise (
                no_round(plan, number)
                if number
                else InvalidParameter("no round was opened yet, so there is nothing to scrub")
            )
        if not yes:
            held = sum(each.counted - each.scrubbed for each in rounds)
            raise InvalidParameter(
                f"this deletes for ever what {held:,} reports say (the tallies stay); repeat it with --yes"
            )
        gone = store.scrub(plan.id, number)
    click.echo(f"scrubbed {gone:,} reports; the tallies are as they were")


@manage_store.command("export")
@_where
@_which
@_round
@click.option("-o", "--out", type=FILE, required=True, help="The reports, a Parquet file.")
@console.force
def export_store(url: str, plan_file: Path | None, number: int | None, out: Path, force: bool) -> None:
    """Write the reports of PLAN in a round (1 unless given) to a file, in the order of their random ids."""
    console.refuse_ending(out, [".parquet"], "a file of reports")
    console.refuse_existing([out], force)
    from deniable.collect.store import no_round

    with _opened(url) as store:
        plan = _chosen(store, plan_file)
        found = {each.number: each for each in store.rounds(plan.id)}
        if (number or 1) not in found:
            raise no_round(plan, number or 1)
        n = plan.write_reports(out, _reports(store, plan, number or 1), overwrite=force)
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


def _reports(store: Store, plan: Plan, number: int) -> Iterator[Reports]:
    from deniable.wire import Wire

    wire = Wire(plan)
    return (wire.reports(bodies) for bodies in store.bodies(plan.id, number))
