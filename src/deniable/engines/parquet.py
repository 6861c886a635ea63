"""Writes reports to Parquet in the table form, and reads them back record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Array
from deniable.engines.form import Column, TableForm, integer_type, to_columns
from deniable.engines.rows import RowReader
from deniable.errors import InvalidReport, InvalidValue
from deniable.records import Records
from deniable.tables import PLAN_KEY, ROWS, Show, replacing, require_file, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


def write_reports(path: Path, form: TableForm, blocks: Iterable[Records]) -> int:
    """Write blocks of reports to a Parquet file; how many records there were."""
    require_pyarrow()
    from pyarrow import parquet

    if path.suffix.lower() != ".parquet":
        raise InvalidValue(f"reports are written to a file ending in .parquet, got {path.name!r}")
    schema = reports_schema(form)
    n = 0
    # words of packed bits are noise: to compress them only takes time
    plain = {column.name for columns in form.columns for column in columns if column.word is not None}
    writing = {
        "use_dictionary": [name for name in schema.names if name not in plain],
        "compression": {name: "NONE" if name in plain else "SNAPPY" for name in schema.names},
    }
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema, **writing) as writer:
        for records in blocks:
            writer.write_batch(to_batch(records, form, schema))
            n += records.n
    return n


def read_reports(path: Path, form: TableForm, show: Show | None = None) -> Iterator[Records]:
    """Blocks of reports from a Parquet file; a file that was not made for this plan is refused at once."""
    require_pyarrow()
    with _open_reports(path, form):
        pass
    return _read_blocks(path, form, show)


def _read_blocks(path: Path, form: TableForm, show: Show | None) -> Iterator[Records]:
    reader = RowReader(form)
    with _open_reports(path, form) as file:
        total, done = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=ROWS):
            yield reader.read_records(batch)
            done += batch.num_rows
            if show is not None:
                show(done, total)


@contextmanager
def _open_reports(path: Path, form: TableForm) -> Iterator[parquet.ParquetFile]:
    """The file, if it holds reports of this plan."""
    import pyarrow as pa
    from pyarrow import parquet

    with require_file(path, "plan.write_reports, or `deniable privatize`, writes one").open("rb"):
        pass
    try:
        file = parquet.ParquetFile(path)
    except pa.ArrowInvalid:
        raise InvalidReport(
            f"{path.name} is not a file of reports, or is damaged; privatize writes them, as Parquet"
        ) from None
    with file:
        found = (file.schema_arrow.metadata or {}).get(PLAN_KEY)
        if found is None:
            raise InvalidReport(
                f"{path.name} does not say for which plan its reports were made; if it holds answers, "
                "privatize them first"
            )
        if found != form.plan_id.encode():
            made_for = found.decode("ascii", "replace")[:12]
            raise InvalidReport(
                f"the reports in {path.name} were made for plan {made_for}, this plan is {form.plan_id[:12]}"
            )
        if not file.schema_arrow.equals(reports_schema(form), check_metadata=False):
            raise InvalidReport(f"the columns of {path.name} are not those of this plan's reports")
        yield file


def reports_schema(form: TableForm) -> pa.Schema:
    """The columns of a file of reports; the number of the known group is the last one."""
    import pyarrow as pa

    fields = [pa.field(column.name, _arrow_type(column)) for columns in form.columns for column in columns]
    if form.group is not None:
        fields.append(pa.field(form.group[0], pa.int16()))
    return pa.schema(fields, metadata={PLAN_KEY: form.plan_id.encode()})


def _arrow_type(column: Column) -> pa.DataType:
    import pyarrow as pa

    one = pa.from_numpy_dtype(integer_type(column))
    return one if column.length is None else pa.list_(one)


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
        whole = content
        if who is not None:
            whole = np.zeros(n, dtype=content.dtype)
            whole[who] = content
        return pa.array(whole, mask=absent)
    here = np.ones(n, dtype=np.int32) if absent is None else (~absent).astype(np.int32)
    ends = pa.array(np.concatenate([[0], np.cumsum(here * column.length)]).astype(np.int32), mask=None)
    flat = pa.array(np.ascontiguousarray(content).reshape(-1))
    mask = None if absent is None else pa.array(absent)
    return pa.ListArray.from_arrays(ends, flat, type=_arrow_type(column), mask=mask)
