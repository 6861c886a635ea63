"""Finds out where reports are: in a file, a collector, its store, or a table of reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.reading import read_tallies
from deniable.errors import FileMissing, InvalidParameter, InvalidReport

if TYPE_CHECKING:
    from deniable.reports import Reports, Tallies
    from deniable.results.kept_tallies import KeptTallies
    from deniable.results.windows import Windows
    from deniable.study import Plan

VARIABLE = "DENIABLE_FROM"
"""The environment variable that may hold the address of --from: a command line is seen by others."""

_COLLECTORS = ("http://", "https://", "sqlite:")
_DATABASES = ("postgresql://", "postgres://")

Source = str | tuple[str, ...]
"""An address, or several files, folders and patterns."""


def by_option(text: str) -> Callable[[Any], Any]:
    """An option that names columns, whose values are windows."""
    return options.name_option("--by", f"{text}: day, or day,region.")


by = by_option("Estimate each window by itself, such as each day, from a table of reports")
table = click.option(
    "--table",
    metavar="NAME",
    help="The table of reports, with --from postgresql://…, spark://… or file.duckdb; of Spark also a path.",
)


def find_source(reports: Path | None, source: Source | None) -> Source | None:
    """The address that is named, or the one in the environment; refuses reports from nowhere, or from two."""
    if reports is None and source is None:
        source = os.environ.get(VARIABLE) or None
    if (reports is None) == (source is None):
        command = f"deniable {click.get_current_context().info_name} plan.json"
        raise InvalidParameter(
            f"reports come from a file ({command} reports.parquet), or from a collector, its store or a "
            f"table of reports ({command} --from http://127.0.0.1:8000); give one of both"
        )
    from deniable.engines.databases import hide_password, is_address

    for address in source if isinstance(source, tuple) else ():
        is_other = "://" in address or address.startswith(_COLLECTORS) or address.endswith(".json")
        if is_other or is_address(address):
            raise InvalidParameter(
                "several --from are files of reports, which are counted together, got "
                f"{hide_password(address)}; ask collectors, databases and files of tallies one at a time"
            )
    return source


def choose_reading(
    plan: Plan, reports: Path | None, source: Source | None, windows: bool
) -> tuple[Path | None, Source | None]:
    """A file as a table, where it does not have the form that `privatize` writes, or windows are asked for.

    Files in that form are read record by record, which tells more: their health, and whole reports.
    """
    from deniable.engines.parquet import is_flat

    if reports is None or not (windows or is_flat(reports, plan.table_form)):
        return reports, source
    return None, str(reports)


def is_table(source: Source | None, table: str | None) -> bool:
    """Whether a source is a table of reports, which is counted here; a collector has counted its own."""
    if isinstance(source, tuple):
        return True
    if source is None or source.startswith(_COLLECTORS):
        if table is not None:
            raise InvalidParameter(
                "--table names a table of a database: --from postgresql://… --table reports"
            )
        return False
    return table is not None or not source.startswith(_DATABASES)


class NoReports(InvalidReport):
    """A round or a table has no reports yet."""


def fetch_tallies(
    plan: Plan,
    source: Source,
    table: str | None,
    number: int | None,
    token: str | None,
    newest: Plan | None = None,
    choose: str = "",
) -> tuple[int | None, Tallies]:
    """The tallies of a round at a collector or in its store, or of a table of reports; and the round.

    A file of tallies may be kept of the `newest` plan, which continues this one. An error where several
    rounds have reports says how to `choose` one: by --round unless it is said.
    """
    if isinstance(source, str) and not is_table(source, table):
        from deniable.engines.databases import hide_password
        from deniable.store.reading import CHOOSE, fetch_tallies

        number, tallies = fetch_tallies(plan.document, source, number, token, choose or CHOOSE)
        if not tallies.n:
            where = "" if number is None else f" in round {number}"
            raise NoReports(
                f"there are no reports of plan {plan.id[:12]}{where} yet at {hide_password(source)}"
            )
        return number, tallies
    kept = _read_kept(newest or plan, source, number, plan.id)
    with console.progress("counting") as show:
        tallies = plan.tally(source, table, number=number, show=show) if kept is None else kept.tally()
    _report(plan, source, number, tallies.n, tallies.refused)
    return number, tallies


def fetch_rounds(
    plan: Plan, source: Source, table: str | None, first: int, token: str | None
) -> dict[int, Tallies]:
    """The tallies of a round and of all later ones that have reports, or enough to be shown."""
    from deniable.store.reading import TooFew, list_opened

    rounds = {first: fetch_tallies(plan, source, table, first, token)[1]}
    opened: Iterable[int] = range(1, (plan.document.rounds or 1) + 1)
    if isinstance(source, str) and not is_table(source, table):
        opened = list_opened(plan.document, source, token)
    for number in (number for number in opened if number > first):
        with suppress(NoReports, TooFew):
            rounds[number] = fetch_tallies(plan, source, table, number, token)[1]
    return rounds


def fetch_reports(
    plan: Plan, source: Source, table: str | None, number: int, token: str | None
) -> list[Reports]:
    """The reports of a round at a collector or in its store; none of tables, which stay where they are."""
    from deniable.store.reading import fetch_reports

    if is_table(source, table) or not isinstance(source, str):
        return []
    return fetch_reports(plan.document, source, number, token)


def tally_file(plan: Plan, path: Path, number: int | None = None) -> Tallies:
    """The tallies of a file of reports, or of a table in one; of one round, where it is named."""
    reports, source = choose_reading(plan, path, None, number is not None)
    if source is not None:
        return fetch_tallies(plan, source, None, number, None)[1]
    assert reports is not None
    with console.progress("counting") as show:
        return read_tallies(plan, reports, show)


def choose_plan(plan: Plan, path: Path) -> Plan:
    """The plan that a file of reports was made for: this one, or one of those that it continues."""
    from deniable.engines.sources import find_plan

    named = find_plan(plan.table_form, path) if plan.document.continues else None
    before = next((document for document in plan.document.continues if document.id == named), None)
    return plan if before is None else replace(plan, document=before)


def tally_windows(
    plan: Plan, source: Source, table: str | None, number: int | None, by: Sequence[str]
) -> Windows:
    """The tallies of each window of a table of reports."""
    kept = _read_kept(plan, source, number)
    with console.progress("counting") as show:
        if kept is None:
            windows = plan.tally(source, table, by=by, number=number, show=show)
        else:
            windows = kept.tally_windows(by)
    _report(plan, source, number, sum(windows.records.values()), windows.refused)
    return windows


def tally_chain(plan: Plan, source: Source, table: str | None, number: int | None, by: str) -> list[Windows]:
    """The tallies of each window of a table of reports, of a plan and of those that it continues."""
    from deniable.results.windows import join_refused, tally_chain

    kept = _read_kept(plan, source, number)
    with console.progress("counting") as show:
        if kept is None:
            windows = tally_chain(plan.document, source, table, by, number, show)
        else:
            windows = kept.list_windows(by)
    n = sum(tallies.n for each in windows for tallies in each.values())
    _report(plan, source, number, n, join_refused(plan.id, windows))
    return windows


def _read_kept(
    plan: Plan, source: Source, number: int | None, plan_id: str | None = None
) -> KeptTallies | None:
    """The tallies in a file that `deniable tally` keeps, of all plans or of one; None of other sources."""
    if isinstance(source, tuple) or not source.endswith(".json"):
        return None
    from deniable.results.kept_tallies import KeptTallies

    if not Path(source).is_file():
        raise FileMissing(f"there is no file {source}; deniable tally --keep makes one")
    kept = KeptTallies.read(source, plan.document)
    if plan_id is not None:
        kept = next(part for part in kept.chain if part.document.id == plan_id)
    return kept if number is None else kept.choose_round(number)


def _report(plan: Plan, source: Source, number: int | None, n: int, refused: Mapping[str, int]) -> None:
    from deniable.engines.databases import hide_password
    from deniable.results.windows import describe_refused

    if refused:
        console.note(describe_refused(refused))
    if not n:
        where = "" if number is None else f" of round {number}"
        addresses = " and ".join(map(hide_password, (source,) if isinstance(source, str) else source))
        raise NoReports(f"there are no reports of plan {plan.id[:12]}{where} in {addresses}")
