"""Turns columns of messages into tables of reports, inside engines: dataframes of Spark, and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.engines.databases import require
from deniable.engines.form import ID, TableForm
from deniable.engines.parquet import reports_schema, to_batch, write_ids
from deniable.engines.spark import list_kinds, map_messages
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.plan.document import PlanDocument
from deniable.wire.binary import Wire
from deniable.wire.messages import Messages
from deniable.wire.received import REASONS, decode

if TYPE_CHECKING:
    import pyarrow as pa

REFUSED, OTHER_REFUSED = "refused", "deniable.refused"
_OF_PLAN, _OF_ROUND = 1 + REASONS.index("plan"), 1 + REASONS.index("round")


def decode_frame(document: PlanDocument, frame: Any, column: str, beside: Sequence[str]) -> Any:
    """A dataframe of Spark with a row for each message of a column, in the table form."""
    form = document.table_form
    for name in (column, *beside):
        if name not in frame.columns:
            raise InvalidValue(not_among(name, "a column of the messages", list(frame.columns)))
    named = (*form.column_names, form.plan_column, form.round_column, ID, name_refused(form))
    clashes = {name.lower() for name in beside} & {name.lower() for name in named}
    if clashes or len(set(beside)) < len(beside):
        raise InvalidParameter(
            f"columns beside reports have names of their own, got {', '.join(beside)}; rename "
            f"{', '.join(sorted(clashes)) or 'one that is there twice'}"
        )
    work = partial(_decode_blocks, document.to_json())
    return map_messages(frame, (column, *beside), work, form, name_refused(form))


def name_refused(form: TableForm) -> str:
    """The column that says why a message is refused, whatever attributes are called."""
    taken = {name.lower() for name in (*form.column_names, *form.names)}
    return OTHER_REFUSED if REFUSED in taken else REFUSED


def _decode_blocks(text: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does."""
    import pyarrow as pa

    wire = Wire(PlanDocument.from_json(text))
    for batch in batches:
        arrays = [*decode_column(wire, batch.column(0)), *batch.columns[1:]]
        yield pa.RecordBatch.from_arrays(arrays, [f"r{i}" for i in range(len(arrays))])


def decode_column(wire: Wire, column: pa.Array) -> list[pa.Array]:
    """A row for each message: the columns of reports, the round, the id if it has a column, and why it is
    refused. A row that is refused has no numbers, so that whoever counts the table counts it as such.
    """
    import pyarrow as pa

    form = wire.document.table_form
    decoded = decode(wire, Messages.of_column(column))
    is_refused = decoded.reasons > 0
    batch = to_batch(decoded.records, form, reports_schema(form))
    if is_refused.any():
        batch = batch.take(pa.array(np.cumsum(~is_refused) - 1, mask=is_refused))
    rounds = np.where(is_refused & (decoded.reasons != _OF_ROUND), 1, decoded.rounds)
    ids = [write_ids(decoded.ids)] if ID in form.more_columns else []
    if ids and is_refused.any():
        ids = [pa.array(ids[0].to_pylist(), pa.string(), mask=is_refused)]
    reasons = pa.DictionaryArray.from_arrays(
        pa.array((decoded.reasons - 1).astype(np.int32), mask=~is_refused), pa.array(REASONS)
    )
    return [*batch.columns, pa.array(rounds), *ids, reasons.dictionary_decode()]


def add_function(document: PlanDocument, connection: Any, name: str) -> None:
    """Add a function to a connection of DuckDB, from the bytes of a report to its row in the table form."""
    require("duckdb", "duckdb")
    import pyarrow as pa
    from pyarrow import compute

    form, wire = document.table_form, Wire(document)
    fields = dict(zip(form.column_names, list_kinds(form), strict=True)) | {form.round_column: "BIGINT"}
    fields |= dict.fromkeys([ID] if ID in form.more_columns else [], "VARCHAR")
    fields |= {name_refused(form): "VARCHAR", form.plan_column: "VARCHAR"}

    def read(column: Any) -> Any:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        arrays = decode_column(wire, whole)
        is_other = compute.equal(arrays[-1], "plan").fill_null(False)
        plans = compute.if_else(is_other, pa.scalar(None, pa.string()), document.id)
        return pa.StructArray.from_arrays([*arrays, plans], list(fields))

    kind = connection.struct_type({field: connection.sqltype(of) for field, of in fields.items()})
    connection.create_function(name, read, ["BLOB"], kind, type="arrow", null_handling="special")
