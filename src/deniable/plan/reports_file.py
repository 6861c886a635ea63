"""Writes reports to Parquet: a row per record, a column per attribute, and the name of the plan.

An attribute that a record does not report is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidReport, InvalidValue
from deniable.mechanisms import ExactMechanism
from deniable.plan.known import Known
from deniable.records import RecordMechanism, Records
from deniable.tables import PLAN_KEY, ROWS, Show, replacing, require_file, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


def write_reports(
    path: Path,
    plan_id: str,
    names: Sequence[str],
    parts: Sequence[ExactMechanism],
    blocks: Iterable[Records],
    known: Known | None = None,
) -> int:
    """Write blocks of reports to a Parquet file; how many records there were."""
    require_pyarrow()
    from pyarrow import parquet

    if path.suffix.lower() != ".parquet":
        raise InvalidValue(f"reports are written to a file ending in .parquet, got {path.name!r}")
    schema = reports_schema(plan_id, names, parts, known)
    n = 0
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        for records in blocks:
            writer.write_batch(_to_batch(records, schema))
            n += records.n
    return n


def read_reports(
    path: Path,
    plan_id: str,
    names: Sequence[str],
    mechanism: RecordMechanism,
    show: Show | None = None,
    known: Known | None = None,
) -> Iterator[Records]:
    """Blocks of reports from a Parquet file; a file that was not made for this plan is refused at once."""
    require_pyarrow()
    with _open_reports(path, plan_id, names, mechanism, known):
        pass
    return _read_blocks(path, plan_id, names, mechanism, show, known)


def _read_blocks(
    path: Path,
    plan_id: str,
    names: Sequence[str],
    mechanism: RecordMechanism,
    show: Show | None,
    known: Known | None,
) -> Iterator[Records]:
    with _open_reports(path, plan_id, names, mechanism, known) as file:
        total, done = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=ROWS):
            yield _from_batch(batch, mechanism, known)
            done += batch.num_rows
            if show is not None:
                show(done, total)


@contextmanager
def _open_reports(
    path: Path, plan_id: str, names: Sequence[str], mechanism: RecordMechanism, known: Known | None
) -> Iterator[parquet.ParquetFile]:
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
        schema = reports_schema(plan_id, names, mechanism.mechanisms, known)
        found = (file.schema_arrow.metadata or {}).get(PLAN_KEY)
        if found is None:
            raise InvalidReport(
                f"{path.name} does not say for which plan its reports were made; if it holds answers, "
                "privatize them first"
            )
        if found != plan_id.encode():
            made_for = found.decode("ascii", "replace")[:12]
            raise InvalidReport(
                f"the reports in {path.name} were made for plan {made_for}, this plan is {plan_id[:12]}"
            )
        if not file.schema_arrow.equals(schema, check_metadata=False):
            raise InvalidReport(f"the columns of {path.name} are not those of this plan's reports")
        yield file


def reports_schema(
    plan_id: str, names: Sequence[str], parts: Sequence[ExactMechanism], known: Known | None = None
) -> pa.Schema:
    """The columns of a file of reports; the number of the known group is the last one."""
    import pyarrow as pa

    fields = [pa.field(name, _column_type(part)) for name, part in zip(names, parts, strict=True)]
    if known is not None:
        fields.append(pa.field(known.name, pa.uint8()))
    return pa.schema(fields, metadata={PLAN_KEY: plan_id.encode()})


def _column_type(part: ExactMechanism) -> pa.DataType:
    import pyarrow as pa

    like = part.blank(0)
    if like.dtype.names is None:
        return _plain_type(like.dtype, like.shape[1:], not part.packed)
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
    if len(schema) > len(arrays):
        if records.groups is None:
            raise InvalidReport(f"these reports do not say which {schema.names[-1]!r} each is of")
        arrays.append(pa.array(records.groups.astype(np.uint8)))
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


def _from_batch(batch: pa.RecordBatch, mechanism: RecordMechanism, known: Known | None) -> Records:
    groups = None
    if known is not None:
        groups = _read_groups(batch.column(batch.num_columns - 1), known)
        batch = batch.select(list(range(batch.num_columns - 1)))
    here = np.array([np.asarray(column.is_valid()) for column in batch.columns])
    possible = mechanism.can_hold(here)
    if not possible.all():
        wrong = int(here.sum(axis=0)[~possible][0])
        raise InvalidReport(
            f"a record reports {mechanism.reported} of {mechanism.d} attributes, got one with {wrong}"
            f"{' others' if wrong == mechanism.reported else ''}"
        )
    columns = []
    for column, part in zip(batch.columns, mechanism.mechanisms, strict=True):
        made = part.blank(len(column) - column.null_count)
        _from_arrow(column.drop_null(), made)
        columns.append(made)
    reporters = None if mechanism.reports_all else tuple(np.flatnonzero(valid) for valid in here)
    return Records(batch.num_rows, tuple(columns), reporters, groups)


def _read_groups(column: pa.Array, known: Known) -> Integers:
    if column.null_count:
        raise InvalidReport(f"a report does not say which {known.name!r} it is of")
    found = column.to_numpy(zero_copy_only=False).astype(np.int64)
    if found.size and found.max() >= known.size:
        raise InvalidReport(
            f"{known.name!r} has {known.size} values, numbered from 0; a report has number {found.max()}"
        )
    return np.asarray(found)


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
            made[...] = np.frombuffer(content, dtype=np.uint8, offset=start, count=made.size).reshape(
                made.shape
            )
    elif pa.types.is_fixed_size_list(column.type):
        flat = column.flatten()
        if flat.null_count:
            raise InvalidReport("a report has a part that is missing")
        made[...] = flat.to_numpy(zero_copy_only=False).reshape(made.shape)
    else:
        made[...] = column.to_numpy(zero_copy_only=False)
