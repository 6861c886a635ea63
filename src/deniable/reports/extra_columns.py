"""Puts columns beside reports, such as the day, to count reports by them; nothing protects these columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.engines import parquet
from deniable.engines.parquet import Block
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.formatting import format_count
from deniable.frames import column_names, columns_of
from deniable.frames.files import refuse_existing
from deniable.reports.reports import Reports

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.plan.document import PlanDocument
    from deniable.randomness.words import Pseudonyms


def refuse_beside(
    document: PlanDocument, read: Sequence[str], beside: Sequence[str], columns: Sequence[str]
) -> None:
    """Refuse columns beside reports that hold answers, by whatever name, or that are not there."""
    for name in beside:
        if name in read or name in document.names:
            raise InvalidParameter(
                f"{name!r} holds answers, which reports protect: beside them it would stand as it is"
            )
        if name not in columns:
            raise InvalidValue(not_among(name, "a column of the table of answers", list(columns)))
    if len(set(beside)) < len(beside):
        raise InvalidParameter(f"a column is named twice beside reports: {', '.join(beside)}")


def align_blocks(blocks: Iterable[Reports], beside: object) -> Iterator[Block]:
    """Each block of reports with its rows of a table."""
    table = None if beside is None else _to_arrow(beside)
    start = 0
    for reports in blocks:
        rows = None if table is None else table.slice(start, reports.n)
        yield Block(reports.records, reports.round, rows, _choose_ids(reports), reports.plan_id)
        start += reports.n
    if table is not None and table.num_rows != start:
        raise InvalidValue(
            f"columns beside reports have a row for each, got {table.num_rows:,} rows for "
            f"{format_count(start, 'report')}"
        )


def _choose_ids(reports: Reports) -> Pseudonyms | None:
    return reports.ids if reports.people is None else reports.people


def write_blocks(
    path: Path,
    document: PlanDocument,
    blocks: Iterable[tuple[Reports, pa.Table | None]],
    overwrite: bool = False,
) -> int:
    """Write blocks of reports, each with the columns beside it, to a Parquet file; how many records."""
    refuse_existing(path, overwrite)
    parts = (
        Block(reports.records, reports.round, beside, _choose_ids(reports)) for reports, beside in blocks
    )
    return parquet.write_reports(path, [document.table_form], parts)


def _to_arrow(table: Any) -> pa.Table:
    """A dataframe, a dictionary of columns, or a list of dictionaries as a table of pyarrow."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    names = column_names(table)
    return pa.table(dict(zip(names, columns_of(table, names), strict=True)))
