"""Reports in whatever form an attacker has them: as the plan makes them, as they travel, or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from deniable.errors import InvalidReport
from deniable.plan import Plan, records_of
from deniable.records import Records
from deniable.wire import Report, Wire

Travelling = Report | bytes | bytearray
"""A report as a client sends it: itself, its bytes, or the bytes of its JSON form."""


def blocks_of(plan: Plan, reports: object) -> Iterator[Records]:
    """All reports, or blocks of them, which must have been made for this plan."""
    if isinstance(reports, str | Path):
        return (block.records for block in plan.read_reports(reports))
    if isinstance(reports, Travelling):
        return iter([_received(plan, [reports])])
    first, every = _begun(reports)
    if isinstance(first, Travelling):
        return iter([_received(plan, every)])
    return records_of(every, plan.id)  # type: ignore[arg-type]


def are_single(reports: object) -> bool:
    """Whether these are reports as they travel, one by one."""
    return isinstance(reports, Travelling) or (
        isinstance(reports, list | tuple) and bool(reports) and isinstance(reports[0], Travelling)
    )


def _begun(reports: object) -> tuple[object, object]:
    """The first of several reports, and all of them; what is none is passed on, to be refused."""
    if isinstance(reports, list | tuple):
        return (reports[0] if reports else None), reports
    if not isinstance(reports, Iterator):
        return None, reports
    some = list(islice(reports, 1))
    return (some[0], chain(some, reports)) if some else (None, [])


def _received(plan: Plan, reports: object) -> Records:
    assert isinstance(reports, Iterable)
    wire = Wire(plan)
    return wire.reports([_checked(wire, one).body for one in reports]).records


def _checked(wire: Wire, report: object) -> Report:
    if not isinstance(report, Travelling):
        raise InvalidReport(
            f"reports are all in one form, here as a client sends them, got {type(report).__name__} among "
            "them"
        )
    if isinstance(report, Report):
        return wire.check(report)
    raw = bytes(report)
    return wire.from_json(raw) if raw.startswith(b"{") else wire.check(Report.from_bytes(raw))
