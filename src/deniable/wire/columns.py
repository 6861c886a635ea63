"""Turns columns of messages into tables of reports, inside engines: dataframes of Spark, and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.engines.databases import require
from deniable.engines.form import ID, TableForm
from deniable.engines.parquet import fill_columns, join_forms, reports_schema, to_batch, write_ids
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
    forms = [plan.table_form for plan in document.plans_in_table]
    form, refused = forms[0], name_refused(forms)
    for name in (column, *beside):
        if name not in frame.columns:
            raise InvalidValue(not_among(name, "a column of the messages", list(frame.columns)))
    kind = dict(frame.dtypes)[column]
    if kind not in ("binary", "string"):
        raise InvalidValue(f"messages are bytes or text, and the column {column!r} is of type {kind}")
    of_reports = (name for form_of_plan in forms for name in form_of_plan.column_names)
    taken = (*of_reports, form.plan_column, form.round_column, ID, refused)
    clashes = {name.lower() for name in beside} & {name.lower() for name in taken}
    if clashes or len(set(beside)) < len(beside):
        raise InvalidParameter(
            f"columns beside reports have names of their own, got {', '.join(beside)}; rename "
            f"{', '.join(sorted(clashes)) or 'one that is there twice'}"
        )
    work = partial(_decode_blocks, document.to_json())
    return map_messages(frame, (column, *beside), work, forms, refused)


def name_refused(forms: Sequence[TableForm]) -> str:
    """The column that says why a message is refused, whatever attributes are called."""
    taken = {name.lower() for form in forms for name in (*form.column_names, *form.names)}
    return OTHER_REFUSED if REFUSED in taken else REFUSED


def _decode_blocks(text: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does."""
    import pyarrow as pa

    wires = list(map(Wire, PlanDocument.from_json(text).plans_in_table))
    for batch in batches:
        arrays = [*decode_column(wires, batch.column(0)), *batch.columns[1:]]
        yield pa.RecordBatch.from_arrays(arrays, [f"r{i}" for i in range(len(arrays))])


def decode_column(wires: Sequence[Wire], column: pa.Array) -> list[pa.Array]:
    """A row for each message: the columns of reports, the round, the id if it has a column, why it is
    refused, and its plan by its number. A row that is refused has no numbers, so that whoever counts the
    table counts it as such.
    """
    import pyarrow as pa

    forms = [wire.document.table_form for wire in wires]
    form, schema = forms[0], join_forms(forms)
    decoded = decode(wires, Messages.of_column(column))
    is_refused = decoded.reasons > 0
    batches = [
        fill_columns(to_batch(records, of_plan, reports_schema(of_plan)), schema)
        for records, of_plan in zip(decoded.records, forms, strict=True)
    ]
    places = np.zeros(len(column), np.int64)  # in the rows of all plans, one plan after the other
    sound = np.flatnonzero(~is_refused)
    places[sound[np.argsort(decoded.plans[sound], kind="stable")]] = np.arange(len(sound))
    rows = pa.Table.from_batches(batches).take(pa.array(places, mask=is_refused)).combine_chunks()
    rounds = np.where(is_refused & (decoded.reasons != _OF_ROUND), 1, decoded.rounds)
    ids = [write_ids(decoded.ids)] if ID in form.more_columns else []
    if ids and is_refused.any():
        ids = [pa.array(ids[0].to_pylist(), pa.string(), mask=is_refused)]
    reasons = pa.DictionaryArray.from_arrays(
        pa.array((decoded.reasons - 1).astype(np.int32), mask=~is_refused), pa.array(REASONS)
    )
    plans = pa.array(decoded.plans.astype(np.int16), mask=decoded.reasons == _OF_PLAN)
    columns = [column.combine_chunks() for column in rows.columns]
    return [*columns, pa.array(rounds), *ids, reasons.dictionary_decode(), plans]


def add_function(document: PlanDocument, connection: Any, name: str) -> None:
    """Add a function to a connection of DuckDB, from the bytes of a report to its row in the table form."""
    require("duckdb", "duckdb")
    import duckdb
    import pyarrow as pa

    is_connection = isinstance(connection, duckdb.DuckDBPyConnection)
    if not is_connection:
        raise InvalidParameter(
            f"a decoder is added to a connection, duckdb.connect(), got {type(connection).__name__}"
        )
    plans = document.plans_in_table
    forms, wires = [plan.table_form for plan in plans], list(map(Wire, plans))
    form, schema = forms[0], join_forms(forms)
    fields = dict(zip(schema.names, list_kinds(schema), strict=True)) | {form.round_column: "BIGINT"}
    fields |= dict.fromkeys([ID] if ID in form.more_columns else [], "VARCHAR")
    fields |= {name_refused(forms): "VARCHAR", form.plan_column: "VARCHAR"}
    names = pa.array([plan.id for plan in plans])

    def read(column: Any) -> Any:
        combined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        *arrays, numbers = decode_column(wires, combined)
        return pa.StructArray.from_arrays([*arrays, names.take(numbers)], list(fields))

    with suppress(duckdb.InvalidInputException):  # a new plan takes the place of an older one
        connection.remove_function(name)
    kind = connection.struct_type({field: connection.sqltype(of) for field, of in fields.items()})
    connection.create_function(name, read, ["BLOB"], kind, type="arrow", null_handling="special")
