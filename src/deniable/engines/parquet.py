"""Writes reports to Parquet in the table form, and reads them back record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.arrays import Array
from deniable.engines.form import (
    ID,
    Column,
    TableForm,
    check_beside,
    explain_no_round,
    integer_type,
    refuse_other_plan,
    to_columns,
)
from deniable.engines.pieces import DamagedFile, check_footer, name_kind, plain_damage, read_folders
from deniable.engines.rows import RowReader
from deniable.errors import InvalidReport, InvalidValue
from deniable.formatting import format_count
from deniable.frames import PLAN_KEY, ROWS, Show, replacing, require_file, require_pyarrow
from deniable.randomness.words import PSEUDONYM, Pseudonyms
from deniable.records import Records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


_DIGITS = np.frombuffer(bytes(range(256)).hex().encode(), "<u2")
"""The two hexadecimal digits of each byte."""


class Block(NamedTuple):
    """Reports that are written at once: the round that they are of, and extra columns."""

    records: Records
    round: int | None
    beside: pa.Table | None = None
    ids: Pseudonyms | None = None
    """The ids of reports that were received; in a linked plan, these are the pseudonyms of people."""
    plan_id: str | None = None
    """The plan that they are of, where a file has the reports of several."""


def write_reports(path: Path, forms: Sequence[TableForm], blocks: Iterable[Block]) -> int:
    """Write blocks of reports to a Parquet file, with extra columns; returns the number of records.

    The header of a file names its plan. If there are several, a column does.
    """
    require_pyarrow()
    from pyarrow import parquet

    if path.suffix.lower() != ".parquet":
        raise InvalidValue(f"reports are written to a file ending in .parquet, got {path.name!r}")
    parts = iter(blocks)
    first = list(islice(parts, 1))  # whose columns are those of the file
    forms_by_plan = {form.plan_id: form for form in forms}
    is_alone, newest = len(forms) == 1, forms[0]
    has_ids = newest.has_people or (
        ID in newest.more_columns and any(block.ids is not None for block in first)
    )
    plain_schema = _file_schema(forms, has_ids)
    schema = plain_schema
    for block in first:
        if block.beside is not None:
            schema = _join_schemas(newest, plain_schema, block.beside.schema)
    n = 0
    # words of packed bits and ids are noise: to compress them only takes time
    columns = (column for form in forms for columns in form.columns for column in columns)
    plain = {column.name for column in columns if column.word is not None}
    plain |= {ID} if has_ids else set()
    writing = {
        "use_dictionary": [name for name in schema.names if name not in plain],
        "write_page_checksum": True,
        "compression": {name: "NONE" if name in plain else "SNAPPY" for name in schema.names},
    }
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema, **writing) as writer:
        for block in chain(first, parts):
            form = newest if is_alone else forms_by_plan[block.plan_id or newest.plan_id]
            batch = to_batch(block.records, form, reports_schema(form))
            batch = batch if is_alone and form.rounds == 1 else _add_round(batch, form, block.round)
            batch = _add_ids(batch, form, block.ids) if has_ids else batch
            batch = batch if is_alone else fill_columns(_add_plan(batch, form), plain_schema)
            if block.beside is not None:
                batch = _join_columns(batch, block.beside, schema)
            writer.write_batch(batch)
            n += block.records.n
    return n


def _add_round(batch: pa.RecordBatch, form: TableForm, number: int | None) -> pa.RecordBatch:
    """The rows with the round that they are of."""
    import pyarrow as pa

    if number is None and batch.num_rows:
        raise InvalidReport(
            f"these reports do not say of which round they are, and this plan has rounds 1 to {form.rounds}: "
            "make them with dn.remembering(seed, round=1), or say it: dataclasses.replace(reports, round=1)"
        )
    number = number or 1  # of no rows
    if not 1 <= number <= form.rounds:
        raise InvalidReport(f"reports are of round {number}, and this plan has rounds 1 to {form.rounds}")
    rounds = pa.array(np.full(batch.num_rows, number, dtype=np.int32))
    return batch.append_column(form.round_column, rounds)


def _add_ids(batch: pa.RecordBatch, form: TableForm, ids: Pseudonyms | None) -> pa.RecordBatch:
    """The rows with the id of each."""
    import pyarrow as pa

    if ids is None and batch.num_rows and form.has_people:
        raise InvalidReport(
            "this plan is linked, and these reports do not say whose they are: make them with "
            "dn.remembering(seed, round=1), or write them with deniable export"
        )
    if ids is None and batch.num_rows:
        raise InvalidReport("some of these reports have an id and others have none; write them to two files")
    return batch.append_column(ID, pa.array([], pa.string()) if ids is None else write_ids(ids))


def _add_plan(batch: pa.RecordBatch, form: TableForm) -> pa.RecordBatch:
    """The rows with the plan that they are of."""
    import pyarrow as pa

    return batch.append_column(form.plan_column, pa.array([form.plan_id] * batch.num_rows, pa.string()))


def fill_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with these columns, without numbers in those that they lack."""
    import pyarrow as pa

    names = set(batch.schema.names)
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def write_ids(ids: Pseudonyms) -> pa.Array:
    """A column of ids in hexadecimal digits."""
    import pyarrow as pa

    digits = _DIGITS[np.frombuffer(ids.tobytes(), np.uint8)]
    ends = np.arange(len(ids) + 1, dtype=np.int32) * (2 * ids.itemsize)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(ends), pa.py_buffer(digits))


def _join_schemas(form: TableForm, schema: pa.Schema, beside: pa.Schema) -> pa.Schema:
    """The columns of reports, then those beside them."""
    check_beside(form, {field.name: name_kind(field.type) for field in beside})
    for field in beside:
        schema = schema.append(field)
    return schema


def _join_columns(batch: pa.RecordBatch, beside: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    if beside.num_rows != batch.num_rows:
        raise InvalidValue(
            f"columns beside reports have a row for each, got {beside.num_rows:,} rows for "
            f"{format_count(batch.num_rows, 'report')}"
        )
    more = [column.combine_chunks() for column in beside.columns]
    return pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)


def is_flat(path: Path, form: TableForm) -> bool:
    """Whether a file is a plain table of reports: its rows, or its folder, say what a header says of files
    that `write_reports` wrote.
    """
    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        return False
    names = set(schema.names)
    if PLAN_KEY in (schema.metadata or {}):
        usual = {form.round_column, *([ID] if form.has_people else [])}
        return bool(names & (form.more_columns - usual))
    return form.plan_column in names or any(
        part.startswith(f"{form.plan_column}=") for part in path.parent.parts
    )


def read_reports(path: Path, form: TableForm, show: Show | None = None) -> Iterator[Block]:
    """Blocks of reports from a Parquet file, the round of each, and whose they are in a linked plan; a file
    that was not made for this plan is refused at once.
    """
    require_pyarrow()
    with _open_reports(path, form):
        pass
    return _read_blocks(path, form, show)


def _read_blocks(path: Path, form: TableForm, show: Show | None) -> Iterator[Block]:
    reader = RowReader(form)
    with _open_reports(path, form) as file:
        total, done = file.metadata.num_rows, 0
        names = list(form.column_names)
        names += [form.round_column] if form.round_column in file.schema_arrow.names else []
        names += [ID] if form.has_people and ID in file.schema_arrow.names else []
        for batch in _read_batches(file, names, path):
            for number, rows in _split_rounds(batch, form, path):
                people = _read_people(rows, path) if ID in names else None
                yield Block(reader.read_records(rows), number, ids=people)
            done += batch.num_rows
            if show is not None:
                show(done, total)


def _read_batches(file: parquet.ParquetFile, names: list[str], path: Path) -> Iterator[pa.RecordBatch]:
    """Blocks of rows, as many as the footer says; or the file is damaged."""
    rows = 0
    with plain_damage(path):
        for batch in file.iter_batches(batch_size=ROWS, columns=names):
            rows += batch.num_rows
            yield batch
    if rows != file.metadata.num_rows:
        raise DamagedFile(path, f"it has {rows:,} rows where its footer says {file.metadata.num_rows:,}")


def _split_rounds(
    batch: pa.RecordBatch, form: TableForm, path: Path
) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """The rows of each round, by the column that names it, or by the folder of the file."""
    import pyarrow as pa
    from pyarrow import compute

    if form.rounds == 1:
        yield 1, batch
        return
    in_rows = form.round_column in batch.schema.names
    folder = read_folders(path, form).get(form.round_column)
    rounds = batch.column(form.round_column) if in_rows else pa.array([folder])
    for number in rounds.unique().to_pylist():
        if not isinstance(number, int) or not 1 <= number <= form.rounds:
            raise InvalidReport(
                f"{path.name} has reports of round {number!r}, and this plan has rounds 1 to {form.rounds}"
            )
        yield number, batch.filter(compute.equal(rounds, number)) if in_rows else batch


def _read_people(batch: pa.RecordBatch, path: Path) -> Pseudonyms:
    """Whose reports these are, by the digits of their ids."""
    digits = batch.column(ID).cast("large_string").to_pylist()
    try:
        names = [bytes.fromhex(text) for text in digits]
        if any(len(name) != PSEUDONYM.itemsize for name in names):
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidReport(
            f"{path.name} has an id that is not {2 * PSEUDONYM.itemsize} hexadecimal digits"
        ) from None
    return np.frombuffer(b"".join(names), PSEUDONYM)


@contextmanager
def _open_reports(path: Path, form: TableForm) -> Iterator[parquet.ParquetFile]:
    """The file, if it holds reports of this plan."""
    import pyarrow as pa
    from pyarrow import parquet

    with require_file(path, "plan.write_reports, or `deniable privatize`, writes one").open("rb"):
        pass
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError):
        raise InvalidReport(
            f"{path.name} is not a file of reports, or is damaged; privatize writes them, as Parquet"
        ) from None
    with file:
        check_footer(path, file.metadata)
        plan_id = (file.schema_arrow.metadata or {}).get(PLAN_KEY)
        if plan_id is None:
            raise InvalidReport(
                f"{path.name} does not say for which plan its reports were made; if it holds answers, "
                "privatize them first"
            )
        refuse_other_plan(plan_id.decode("ascii", "replace"), form.plan_id, f"the reports in {path.name}")
        with plain_damage(path):
            found_columns = {field.name: field.type for field in file.schema_arrow}
        if any(found_columns.get(field.name) != field.type for field in reports_schema(form)):
            raise InvalidReport(f"the columns of {path.name} are not those of this plan's reports")
        has_round = form.round_column in found_columns or form.round_column in read_folders(path, form)
        if form.rounds > 1 and not has_round:
            raise InvalidReport(explain_no_round(form, path.name))
        yield file


def reports_schema(form: TableForm) -> pa.Schema:
    """The columns of a file of reports; the number of the known group is the last one."""
    import pyarrow as pa

    fields = [pa.field(column.name, _arrow_type(column)) for columns in form.columns for column in columns]
    if form.group is not None:
        fields.append(pa.field(form.group[0], pa.int16()))
    return pa.schema(fields, metadata={PLAN_KEY: form.plan_id.encode()})


def join_forms(forms: Sequence[TableForm]) -> pa.Schema:
    """The columns of a table of reports in several forms, which hold the numbers of all."""
    import pyarrow as pa

    if len(forms) == 1:
        return reports_schema(forms[0])
    schemas = [reports_schema(form).remove_metadata() for form in forms]
    return pa.unify_schemas(schemas, promote_options="permissive")


def _file_schema(forms: Sequence[TableForm], has_ids: bool) -> pa.Schema:
    """The columns of a file that this program writes: those of reports, the round where there are several,
    ids where these were received, and the plan where there are several.
    """
    import pyarrow as pa

    schema, newest, is_alone = join_forms(forms), forms[0], len(forms) == 1
    if newest.rounds > 1 or not is_alone:
        schema = schema.append(pa.field(newest.round_column, pa.int32()))
    schema = schema.append(pa.field(ID, pa.string())) if has_ids else schema
    return schema if is_alone else schema.append(pa.field(newest.plan_column, pa.string()))


def _arrow_type(column: Column) -> pa.DataType:
    import pyarrow as pa

    kind = pa.from_numpy_dtype(integer_type(column))
    return kind if column.length is None else pa.list_(kind)


def to_batch(records: Records, form: TableForm, schema: pa.Schema) -> pa.RecordBatch:
    """Records as rows of the table form."""
    import pyarrow as pa

    arrays = []
    for j, columns in enumerate(form.columns):
        who = None if records.reporters is None else records.reporters[j]
        for column, content in zip(columns, to_columns(records.columns[j], columns), strict=True):
            arrays.append(_to_arrow(content, column, records.n, who))
    if form.group is not None:
        if records.groups is None:
            raise InvalidReport(f"these reports do not say which {form.group[0]!r} each is of")
        arrays.append(pa.array(records.groups.astype(np.int16)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _to_arrow(content: Array, column: Column, n: int, who: Array | None) -> pa.Array:
    """A column of n rows, null but for those who report it."""
    import pyarrow as pa

    absent = None
    if who is not None:
        absent = np.ones(n, dtype=bool)
        absent[who] = False
    if column.length is None:
        filled = content
        if who is not None:
            filled = np.zeros(n, dtype=content.dtype)
            filled[who] = content
        return pa.array(filled, mask=absent)
    lengths = np.ones(n, dtype=np.int32) if absent is None else (~absent).astype(np.int32)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths * column.length)]).astype(np.int32), mask=None)
    flat = pa.array(np.ascontiguousarray(content).reshape(-1))
    mask = None if absent is None else pa.array(absent)
    return pa.ListArray.from_arrays(ends, flat, type=_arrow_type(column), mask=mask)
