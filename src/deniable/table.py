"""Tables of answers in, tables of reports out: dataframes of any library, CSV and Parquet files, block by block.

A file of reports is Parquet with a row per record and a column per attribute, and names the plan it was made for. An
attribute that a record does not report is null.

In a table of answers None, NaN and empty text are missing answers. So are empty cells of a CSV file, and cells that say
`nan`, as programs write it, unless that is the name of a value; every other cell is the text that it is.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import DeniableError, InvalidParameter, InvalidReport, InvalidValue, not_among
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


def _refuse_absent(names: Sequence[str], columns: Sequence[str], where: str = "the table") -> None:
    absent = [name for name in names if name not in columns]
    if not absent:
        return
    reason = not_among(absent[0], f"a column of {where}", columns)
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        reason += "; separate its cells with commas"
    elif len(absent) == len(names):
        reason += f"; the columns that are asked for: {', '.join(names)}"
    elif len(absent) > 1:
        reason += f"; also missing: {', '.join(absent[1:])}"
    raise InvalidValue(reason.replace("?;", "?"))


def require_pyarrow() -> None:
    """Refuse in one line where the library that reads and writes files is missing."""
    if find_spec("pyarrow") is None:
        raise DeniableError("files of reports need pyarrow; install it with: pip install 'deniable[frames]'")


def read_answers(path: Path, labels: Mapping[str, Container[str]], show: Show | None = None) -> Iterator[dict[str, Any]]:
    """The columns of a CSV or Parquet file that have these names, in blocks. The values' labels tell which are not missing."""
    require_pyarrow()
    import pyarrow as pa

    ending, names = path.suffix.lower(), list(labels)
    if ending not in (".csv", ".parquet"):
        raise InvalidParameter(f"answers are read from a file ending in .csv or .parquet, got {path.name!r}")
    rows = 0
    try:
        for batch, done, total in _csv_batches(path, names) if ending == ".csv" else _parquet_batches(path, names):
            columns = columns_of(pa.Table.from_batches([batch]), names)
            if ending == ".csv":
                columns = [_blanked(column, labels[name]) for name, column in zip(names, columns, strict=True)]
            yield dict(zip(names, columns, strict=True))
            rows += batch.num_rows
            if show is not None:
                show(done, total)
    except (pa.ArrowException, UnicodeDecodeError) as problem:
        text = "its text is not UTF-8; save it as CSV in UTF-8" if "utf" in str(problem).lower() else problem
        raise InvalidValue(f"cannot read {path.name}: {text}") from None
    if not rows:
        raise InvalidValue(f"there are no answers in {path.name}: it has names of columns, and no row below them")


def place_of(path: Path, row: int) -> str:
    """Where a row of a file of answers, counted from 0, is for who looks into the file."""
    if path.suffix.lower() != ".csv":
        return f"row {row + 1}"
    return f"line {next(islice(_lines(path), row + 1, None))[0]}"


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each row of a CSV file, the header being the first, with the line it begins on; for messages, since this is slow."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines, start, alone = csv.reader(file), 1, False
        for i, cells in enumerate(lines):
            if cells or alone:
                yield start, cells
            start = lines.line_num + 1
            alone = len(cells) == 1 if i == 0 else alone


def _blanked(column: list[str | None], labels: Container[str]) -> list[str | None]:
    """Cells that say `nan` are missing answers, unless a value is called that."""
    blank = {cell for cell in set(column) if cell is not None and cell.strip().lower() == "nan" and cell not in labels}
    return [None if cell in blank else cell for cell in column] if blank else column


def _csv_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    size = path.stat().st_size
    if not size:
        raise InvalidValue(f"{path.name} is empty; its first line must name the columns: {', '.join(names)}")
    try:
        with path.open("rb") as file, arrow.open_csv(file) as reader:
            header = reader.schema.names
        _refuse_absent(names, header, path.name)
        twice = [name for name in names if header.count(name) > 1]
        if twice:
            raise InvalidValue(f"the column {twice[0]!r} is there twice in {path.name}; remove one of them")
        options = arrow.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        # where there is one column, an empty line is an empty cell; elsewhere it is nothing
        parse = arrow.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(header) > 1)
        with path.open("rb") as file, arrow.open_csv(file, parse_options=parse, convert_options=options) as reader:
            for batch in reader:
                yield batch, size if file.closed else file.tell(), size
    except pa.ArrowInvalid:
        _refuse_uneven(path)
        raise


def _refuse_uneven(path: Path) -> None:
    """Refuse the first row that has more or fewer cells than there are columns."""
    rows = _lines(path)
    _, header = next(rows, (0, []))
    for line, cells in rows:
        if len(cells) != len(header):
            raise InvalidValue(
                f"{path.name}, line {line}: the number of cells is {len(cells)}, and that of columns {len(header)}; "
                "a cell with a comma in it needs quotes around it"
            )


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    from pyarrow import parquet

    with path.open("rb") as source, parquet.ParquetFile(source) as file:
        if PLAN_KEY in (file.schema_arrow.metadata or {}):
            raise InvalidValue(f"{path.name} holds reports, not answers; estimate reads reports")
        _refuse_absent(names, file.schema_arrow.names, path.name)
        done = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
            done += batch.num_rows
            yield batch, done, file.metadata.num_rows


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside the path, which takes its place once all went well; nothing half-written is ever left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None
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
    except pa.ArrowInvalid:
        raise InvalidReport(f"{path.name} is not a file of reports, or is damaged; privatize writes them, as Parquet") from None
    with file:
        schema = reports_schema(plan_id, names, parts)
        found = (file.schema_arrow.metadata or {}).get(PLAN_KEY)
        if found is None:
            raise InvalidReport(
                f"{path.name} does not say for which plan its reports were made; if it holds answers, privatize them first"
            )
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
