"""Reads reports as clients send them, one by one: themselves, their bytes, or the bytes of their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import cast

from deniable.plan.document import PlanDocument
from deniable.reports import Reports
from deniable.wire.binary import Report, Wire
from deniable.wire.messages import block_messages, to_message
from deniable.wire.received import Received, read_report

Sent = Report | bytes | bytearray
"""A report as a client sends it: itself, its bytes, or the bytes of its JSON form."""


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
    return read_report(wire, to_message(report))


def gather_sent(document: PlanDocument, reports: Iterable[object]) -> Iterator[Reports]:
    """Blocks of reports of one round each; one that comes again in its round, by its id, is left out, and one
    that is not sound is refused.
    """
    wire = Wire(document)

    def refuse(raw: bytes, _: str) -> None:
        wire.reports([read_report(wire, raw).body])

    return iter(Received((document,), block_messages(reports), refuse, None))
