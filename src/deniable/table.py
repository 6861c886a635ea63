"""Tables of answers in, tables of reports out: dataframes of any library, CSV and Parquet files, block by block.

A file of reports is Parquet with a row per record and a column per attribute, and names the plan it was made for. An
attribute that a record does not report is null.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import DeniableError, InvalidReport, InvalidValue, not_among
from deniable.mechanism import Array
from deniable.shape import Encoder
from deniable.shapes import Subset
from deniable.share import Records

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 16
"""Rows that are worked on at a time."""

PLAN_KEY = b"deniable.plan"
"""Under which a file of reports names its plan."""

Show = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


def columns_of(table: object, names: Sequence[str]) -> list[Any]:
    """The named columns, of one length, from a dataframe, a dictionary of columns, or a list of dictionaries."""
    if isinstance(table, Mapping):
        _refuse_absent(names, list(map(str, table)))
        columns = [table[name] for name in names]
        for name, column in zip(names, columns, strict=True):
            if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
                raise InvalidValue(f"the column {name!r} must be a list of values, got {column!r}")
        lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
        if len(set(lengths.values())) > 1:
            raise InvalidValue(f"columns must have one length, got {lengths}")
        return columns
    if isinstance(table, list | tuple):
        return _columns_of_records(table, names)
    return _columns_of_frame(table, names)


def column_names(table: object) -> list[str]:
    """The names of a table's columns."""
    if isinstance(table, Mapping):
        return list(map(str, table))
    if isinstance(table, list | tuple):
        return list(dict.fromkeys(name for record in table for name in record))
    return list(_frame(table).columns)


def _columns_of_records(records: Sequence[object], names: Sequence[str]) -> list[Any]:
    for record in records:
        if not isinstance(record, Mapping):
            raise InvalidValue(f"a list of records has a dictionary for each, got {record!r}")
    if records:
        _refuse_absent(names, column_names(records))
    return [[record.get(name) for record in records if isinstance(record, Mapping)] for name in names]


def _columns_of_frame(table: object, names: Sequence[str]) -> list[Any]:
    frame = _frame(table)
    _refuse_absent(names, frame.columns)
    columns = []
    for name in names:
        column = frame[name]
        plain = column.dtype.is_numeric() and not column.is_null().any()
        columns.append(column.to_numpy() if plain else column.to_list())
    return columns


def _frame(table: object) -> Any:
    import narwhals as nw

    if hasattr(table, "to_batches") is False and hasattr(table, "to_struct_array") and hasattr(table, "schema"):
        import pyarrow as pa

        table = pa.Table.from_batches([table])
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        hint = "collect it first" if hasattr(table, "collect") else "give a dataframe, a dictionary or a list of dictionaries"
        raise InvalidValue(f"{type(table).__name__} is not a table that can be read; {hint}")
    return frame


def _refuse_absent(names: Sequence[str], columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            raise InvalidValue(not_among(name, "a column of the table", columns))


def require_pyarrow() -> None:
    """Refuse in one line where the library that reads and writes files is missing."""
    if find_spec("pyarrow") is None:
        raise DeniableError("files of reports need pyarrow; install it with: pip install 'deniable[frames]'")


def read_answers(path: Path, names: Sequence[str], show: Show | None = None) -> Iterator[dict[str, Any]]:
    """The named columns of a CSV or Parquet file, in blocks; CSV cells are text, and empty ones are missing."""
    require_pyarrow()
    import pyarrow as pa

    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InvalidValue(f"answers are read from a file ending in .csv or .parquet, got {path.name!r}")
    try:
        for batch, done, total in _csv_batches(path, names) if ending == ".csv" else _parquet_batches(path, names):
            columns = columns_of(pa.Table.from_batches([batch]), names)
            yield dict(zip(names, columns, strict=True))
            if show is not None:
                show(done, total)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as problem:
        raise InvalidValue(f"cannot read {path.name}: {problem}") from None


def _csv_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as file, csv.open_csv(file) as reader:
        header = reader.schema.names
    _refuse_absent(names, header)
    twice = [name for name in names if header.count(name) > 1]
    if twice:
        raise InvalidValue(f"the column {twice[0]!r} is there twice in {path.name}")
    options = csv.ConvertOptions(
        include_columns=list(names),
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    size = path.stat().st_size
    with path.open("rb") as file, csv.open_csv(file, convert_options=options) as reader:
        for batch in reader:
            yield batch, size if file.closed else file.tell(), size


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    from pyarrow import parquet

    with path.open("rb") as source, parquet.ParquetFile(source) as file:
        _refuse_absent(names, file.schema_arrow.names)
        done = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
            done += batch.num_rows
            yield batch, done, file.metadata.num_rows


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside the path, which takes its place once all went well; nothing half-written is ever left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_reports(path: Path, plan_id: str, names: Sequence[str], parts: Sequence[Encoder], blocks: Iterable[Records]) -> int:
    """Write blocks of reports to a Parquet file; how many records there were."""
    require_pyarrow()
    from pyarrow import parquet

    if path.suffix.lower() != ".parquet":
        raise InvalidValue(f"reports are written to a file ending in .parquet, got {path.name!r}")
    schema = reports_schema(plan_id, names, parts)
    n = 0
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        for records in blocks:
            writer.write_batch(_to_batch(records, schema))
            n += records.n
    return n


def read_reports(
    path: Path, plan_id: str, names: Sequence[str], parts: Sequence[Encoder], drawn: int | None, show: Show | None = None
) -> Iterator[Records]:
    """Blocks of reports from a Parquet file that was made for this plan. `drawn` of the attributes are there, or all."""
    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    with path.open("rb"):
        pass
    try:
        file = parquet.ParquetFile(path)
    except pa.ArrowInvalid as problem:
        raise InvalidReport(f"{path.name} is not a file of reports: {problem}") from None
    with file:
        schema = reports_schema(plan_id, names, parts)
        found = (file.schema_arrow.metadata or {}).get(PLAN_KEY)
        if found is None:
            raise InvalidReport(f"{path.name} does not say for which plan its reports were made")
        if found != plan_id.encode():
            made_for = found.decode("ascii", "replace")[:8]
            raise InvalidReport(f"reports were made for plan {made_for}…, this plan is {plan_id[:8]}…")
        if not file.schema_arrow.equals(schema, check_metadata=False):
            raise InvalidReport(f"the columns of {path.name} are not those of this plan's reports")
        total, done = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=ROWS):
            yield _from_batch(batch, parts, drawn)
            done += batch.num_rows
            if show is not None:
                show(done, total)


def reports_schema(plan_id: str, names: Sequence[str], parts: Sequence[Encoder]) -> pa.Schema:
    """The columns of a file of reports."""
    import pyarrow as pa

    fields = [pa.field(name, _column_type(part)) for name, part in zip(names, parts, strict=True)]
    return pa.schema(fields, metadata={PLAN_KEY: plan_id.encode()})


def _column_type(part: Encoder) -> pa.DataType:
    import pyarrow as pa

    like = part.blank(0)
    if like.dtype.names is None:
        return _plain_type(like.dtype, like.shape[1:], isinstance(part, Subset))
    fields = []
    for name in like.dtype.names:
        inner = like.dtype[name]
        fields.append(pa.field(name, _plain_type(inner.base, inner.shape, name != "bits")))
    return pa.struct(fields)


def _plain_type(dtype: np.dtype[Any], shape: tuple[int, ...], members: bool) -> pa.DataType:
    """An integer; or several, which are members of a set, or else packed bits."""
    import pyarrow as pa

    if not shape:
        return pa.from_numpy_dtype(dtype)
    return pa.list_(pa.from_numpy_dtype(dtype), shape[0]) if members else pa.binary(shape[0])


def _to_batch(records: Records, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = []
    for j, column in enumerate(records.columns):
        if records.reporters is None:
            arrays.append(_to_arrow(column, schema.field(j).type, None))
            continue
        whole = np.zeros((records.n, *column.shape[1:]), dtype=column.dtype)
        absent = np.ones(records.n, dtype=bool)
        whole[records.reporters[j]] = column
        absent[records.reporters[j]] = False
        arrays.append(_to_arrow(whole, schema.field(j).type, absent))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _to_arrow(column: Array, kind: pa.DataType, absent: Array | None) -> pa.Array:
    import pyarrow as pa

    mask = None if absent is None else pa.array(absent)
    if pa.types.is_struct(kind):
        inner = [_to_arrow(np.ascontiguousarray(column[field.name]), field.type, None) for field in kind]
        return pa.StructArray.from_arrays(inner, fields=list(kind), mask=mask)
    if pa.types.is_fixed_size_binary(kind):
        here = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little").tobytes())
        content = pa.py_buffer(np.ascontiguousarray(column).tobytes())
        return pa.FixedSizeBinaryArray.from_buffers(kind, len(column), [here, content])
    if pa.types.is_fixed_size_list(kind):
        flat = pa.array(np.ascontiguousarray(column).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, type=kind, mask=mask)
    return pa.array(column, mask=absent)


def _from_batch(batch: pa.RecordBatch, parts: Sequence[Encoder], drawn: int | None) -> Records:
    here = [np.asarray(column.is_valid()) for column in batch.columns]
    reported = np.sum(here, axis=0)
    wanted = len(parts) if drawn is None else drawn
    if (reported != wanted).any():
        wrong = int(reported[reported != wanted][0])
        raise InvalidReport(f"a record reports {wanted} of {len(parts)} attributes, got one with {wrong}")
    columns = []
    for column, part in zip(batch.columns, parts, strict=True):
        made = part.blank(len(column) - column.null_count)
        _from_arrow(column.drop_null(), made)
        columns.append(made)
    reporters = None if drawn is None else tuple(np.flatnonzero(valid) for valid in here)
    return Records(batch.num_rows, tuple(columns), reporters)


def _from_arrow(column: pa.Array, made: Array) -> None:
    import pyarrow as pa

    if column.null_count:
        raise InvalidReport("a report has a part that is missing")
    if pa.types.is_struct(column.type):
        for field, inner in zip(column.type, column.flatten(), strict=True):
            _from_arrow(inner, made[field.name])
    elif pa.types.is_fixed_size_binary(column.type):
        content = column.buffers()[1]
        start = column.offset * column.type.byte_width
        if made.size:
            made[...] = np.frombuffer(content, dtype=np.uint8, offset=start, count=made.size).reshape(made.shape)
    elif pa.types.is_fixed_size_list(column.type):
        flat = column.flatten()
        if flat.null_count:
            raise InvalidReport("a report has a part that is missing")
        made[...] = flat.to_numpy(zero_copy_only=False).reshape(made.shape)
    else:
        made[...] = column.to_numpy(zero_copy_only=False)
