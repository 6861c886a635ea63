"""Reads reports as clients send them, one by one: themselves, their bytes, or the bytes of their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import cast

from deniable.errors import InvalidReport
from deniable.plan.document import PlanDocument
from deniable.reports import Reports
from deniable.wire.binary import Report, Wire

Sent = Report | bytes | bytearray
"""A report as a client sends it: itself, its bytes, or the bytes of its JSON form."""

_BLOCK = 1 << 16


def are_sent(reports: object) -> bool:
    """Whether these are reports as clients send them, or one of them; an iterator is not looked into."""
    return isinstance(reports, Sent) or (
        isinstance(reports, list | tuple) and bool(reports) and isinstance(reports[0], Sent)
    )


def peek_sent(reports: object) -> tuple[Iterable[object] | None, object]:
    """Reports as clients send them, if these are; and all of them, since the first may have been taken."""
    if isinstance(reports, Iterator):
        first = list(islice(reports, 1))
        again = chain(first, reports)
        return (again if are_sent(first) else None), again
    if not are_sent(reports):
        return None, reports
    return ([reports] if isinstance(reports, Sent) else cast("Iterable[object]", reports)), reports


def check_sent(wire: Wire, report: object) -> Report:
    """Read a report; refuse another form, and one for another plan, or of a round that the plan lacks."""
    if not isinstance(report, Sent):
        raise InvalidReport(
            f"reports are all in one form, here as a client sends them, got {type(report).__name__} among "
            "them"
        )
    if isinstance(report, Report):
        return wire.check(report)
    raw = bytes(report)
    return wire.from_json(raw) if raw.startswith(b"{") else wire.check(Report.from_bytes(raw))


def gather_sent(document: PlanDocument, reports: Iterable[object]) -> Iterator[Reports]:
    """Blocks of reports of one round each; one that comes again in its round, by its id, is left out."""
    wire, pending, known = Wire(document), iter(reports), set[tuple[int, bytes]]()
    while block := [check_sent(wire, report) for report in islice(pending, _BLOCK)]:
        rounds: dict[int, list[Report]] = {}
        for report in block:
            if (report.round, report.id) not in known:
                known.add((report.round, report.id))
                rounds.setdefault(report.round, []).append(report)
        for number, new in rounds.items():
            yield wire.reports([report.body for report in new], number, [report.id for report in new])
