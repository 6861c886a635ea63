"""Compares a table in two rounds by the two reports of each person, whose noise partly cancels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Floats
from deniable.cross import TableChange
from deniable.cross.counted import Counted
from deniable.errors import InvalidParameter
from deniable.explain.question_pairs import find_margins, sum_source
from deniable.records import Records
from deniable.reports.reports import Reports, records_of_round, tally_reports
from deniable.results.crossing import cross_estimates, list_sources
from deniable.results.unbiased import estimate_tallies

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument
    from deniable.results.estimates import Estimates

_BLOCK = 1 << 14  # people whose reports are in memory at once


def compare_linked(
    document: PlanDocument,
    earlier: Reports | Iterable[Reports],
    later: Reports | Iterable[Reports],
    of: str,
    by: str,
    level: float,
) -> TableChange:
    """The change of a table; row i of both rounds is person i."""
    if document.known is not None and {of, by} & set(document.known.names):
        raise InvalidParameter(
            f"a table by {document.known.name!r}, which is known, is compared from round to round by its "
            "results: later.change(earlier), in the shell without --people linked"
        )
    rounds = [
        Records.stack(list(records_of_round(reports, document.id, document.table_form.rounds)))
        for reports in (earlier, later)
    ]
    if rounds[0].n != rounds[1].n:
        raise InvalidParameter(
            f"row i of both rounds is person i, and there are {rounds[0].n:,} and {rounds[1].n:,} rows; "
            "leave out who did not answer both times, or compare results: later.change(earlier), in the "
            "shell without --people linked"
        )
    results = [
        estimate_tallies(document, tally_reports(document, Reports(document.id, records)), smooth=False)
        for records in rounds
    ]
    tables = [cross_estimates(estimates, of, by, level) for estimates in results]
    size = tables[0].own.size
    influences = [
        _list_influences(estimates, records, of, by, table.own.ravel())
        for estimates, records, table in zip(results, rounds, tables, strict=True)
    ]
    squares = np.zeros((2 * size, 2 * size))
    for both in zip(*influences, strict=True):
        moved = np.concatenate(both, axis=1)
        squares += moved.T @ moved
    before, after = (
        replace(
            table,
            cells=table.own,
            covariance=squares[start : start + size, start : start + size],
            counted=Counted(),
        )
        for table, start in zip(tables, (0, size), strict=True)
    )
    return TableChange(before, after, "linked", squares[:size, size:])


def _list_influences(
    estimates: Estimates, records: Records, of: str, by: str, cells: Floats
) -> Iterator[Floats]:
    """How much each person's report moves the cells, in blocks of people; nothing, where it has neither."""
    document = estimates.document
    assert document is not None
    margins, columns = find_margins(document, of, by), [one.columns for one in document.attributes]
    held = []
    for source in list_sources(estimates):
        if {of, by} <= set(source.names):
            j, sums = columns.index(source.names), sum_source(margins, source, of, by)
            who = np.arange(records.n) if records.reporters is None else records.reporters[j]
            held.append((j, who, sums, estimates.shares[document.names[j]].law.gain))
    n = sum(len(who) for _, who, _, _ in held)
    for start in range(0, records.n, _BLOCK):
        found = np.zeros((min(_BLOCK, records.n - start), cells.size))
        for j, who, sums, gain in held:
            first, last = np.searchsorted(who, [start, start + _BLOCK])
            support = document.mechanism.mechanisms[j].support(records.columns[j][first:last])
            even = sums.mean(axis=1)
            # a total that is fixed takes from all cells alike, so that a report's blind supports cancel
            added = support.astype(np.float64) @ (sums - even[:, None]).T / gain
            found[who[first:last] - start] += (added + even - cells) / n
        yield found
