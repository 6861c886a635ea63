"""Reads the results of a plan from a file or a table of reports, a collector or its store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.commands.shared import console, reading, sources

if TYPE_CHECKING:
    from deniable.study import Plan, Result


def read_result(
    plan: Plan,
    reports: Path | None,
    source: sources.Source | None,
    table: str | None,
    number: int | None,
    token_file: Path | None,
) -> Result:
    """What the reports of a file say, those of a table, or those of a round at a collector."""
    reports, source = sources.choose_reading(plan, reports, source, number is not None)
    if source is not None:
        return fetch_result(plan, source, table, number, reading.find_token(source, token_file))[1]
    assert reports is not None
    with console.progress("counting") as show:
        return plan.estimate(reading.read_tallies(plan, reports, show))


def fetch_result(
    plan: Plan, source: sources.Source, table: str | None, number: int | None, token: str | None
) -> tuple[int | None, Result]:
    """The round that a collector, a store or a table was asked for, and what its reports say."""
    number, tallies = sources.fetch_tallies(plan, source, table, number, token)
    return number, plan.estimate(tallies)
