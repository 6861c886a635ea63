"""Reads the results of a plan from a file of reports, a collector or its store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.commands.shared import console, reading
from deniable.errors import DeniableError, InvalidParameter

if TYPE_CHECKING:
    from deniable.plan import Plan, Result


def check_source(reports: Path | None, source: str | None) -> None:
    """Refuse reports from nowhere, and from two places."""
    if (reports is None) == (source is None):
        raise InvalidParameter(
            "reports come from a file, or with --from from a collector or its store; give one of both"
        )


def read_result(
    plan: Plan, reports: Path | None, source: str | None, number: int | None, token_file: Path | None
) -> Result:
    """What the reports of a file say, or those of a round at a collector."""
    if reports is None:
        return fetch_result(plan, str(source), number, reading.find_token(str(source), token_file))[1]
    with console.progress("counting") as show:
        return plan.estimate(reading.read_tallies(plan, reports, show))


def fetch_result(plan: Plan, source: str, number: int | None, token: str | None) -> tuple[int | None, Result]:
    """The round that a collector or a store was asked for, and what its reports say."""
    from deniable.collect.reading import fetch_tallies

    number, tallies = fetch_tallies(plan, source, number, token)
    if not tallies.n:
        raise DeniableError(f"there are no reports of plan {plan.id[:12]} yet at {source}")
    return number, plan.estimate(tallies)
