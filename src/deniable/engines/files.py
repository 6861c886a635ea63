"""Counts Parquet files of reports on this machine: in blocks, on all cores, in memory that does not grow.

Where files have ids, those that come twice are found on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.engines.form import ID, PLAN, Counted, TableForm, check_columns
from deniable.engines.repeats import Repeats
from deniable.engines.rows import COUNTED, REPEATED, RowReader, Rows, find_valid
from deniable.engines.words import Flags
from deniable.errors import InvalidReport
from deniable.tables import PLAN_KEY, ROWS, Show

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

Key = tuple[Hashable, ...]


@final
@dataclass(frozen=True)
class Piece:
    """A group of rows of a file, and what the names of its folders say of all of them (`round=2`)."""

    path: str
    metadata: parquet.FileMetaData
    group: int
    folders: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.metadata.row_group(self.group).num_rows)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks; one that folders name has the same value in all rows."""
        import pyarrow as pa
        from pyarrow import parquet

        here = [name for name in names if name not in self.folders]
        with parquet.ParquetFile(self.path, metadata=self.metadata) as file:
            for batch in file.iter_batches(_rows_at_once(len(here)), [self.group], here, use_threads=False):
                columns = {name: batch.column(name) for name in here}
                one = pa.array(np.zeros(batch.num_rows, dtype=np.int8))
                for name in names:
                    if name in self.folders:
                        label = pa.array([self.folders[name]])
                        columns[name] = pa.DictionaryArray.from_arrays(one, label, safe=False)
                yield pa.RecordBatch.from_pydict(columns)


@final
@dataclass(frozen=True)
class Frame:
    """A table in memory, or one that is computed as it is read."""

    batches: Callable[[], Iterator[pa.RecordBatch]]
    rows: int

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks."""
        for batch in self.batches():
            for start in range(0, batch.num_rows, ROWS):
                yield batch.select(list(names)).slice(start, ROWS)


@final
@dataclass(frozen=True)
class FilesCount:
    """Counts the reports in files: all of them, or those of each combination of keys by themselves."""

    form: TableForm
    pieces: tuple[Piece | Frame, ...]
    extra: frozenset[str]
    """Which of `plan`, `round` and `id` the files have."""
    keys: tuple[str, ...] = ()
    round: int | None = None
    skipped: int = 0
    """Rows of files that are of other plans altogether, which are not read."""

    def run(self, show: Show | None = None) -> dict[Key, Counted]:
        """Read everything once; twice the ids, where there are any."""
        if ID not in self.extra:
            return self._run(lambda batch: batch, show)
        with Repeats(sum(piece.rows for piece in self.pieces)) as repeats:
            repeats.find(batch.column(ID) for piece in self.pieces for batch in piece.read([ID]))
            found = self._run(repeats.part, show)
            for batch in repeats.read():
                _merge(found, self._count_repeated(batch))
        return found

    def _run(self, part: Callable[[pa.RecordBatch], pa.RecordBatch], show: Show | None) -> dict[Key, Counted]:
        """Count the part of each block that is not put aside."""
        found: dict[Key, Counted] = {}
        total, done, lock = sum(piece.rows for piece in self.pieces), 0, Lock()

        def work(piece: Piece | Frame) -> None:
            nonlocal done
            for batch in piece.read(self._names):
                counted = self._count(part(batch))
                with lock:
                    _merge(found, counted)
                    done += batch.num_rows
                    if show is not None:
                        show(done, total)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for one in [pool.submit(work, piece) for piece in self.pieces]:
                one.result()
        if self.skipped:
            other = Counted(0, self.form.mechanism.tally_nothing(), {PLAN: self.skipped})
            _merge(found, {(None,) * len(self.keys): other})
        return found

    @cached_property
    def _reader(self) -> RowReader:
        return RowReader(self.form, self.extra, self.round)

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys([*self._reader.names, *self.keys]))

    def _count(self, batch: pa.RecordBatch) -> dict[Key, Counted]:
        return self._tally(self._reader.read(batch), batch)

    def _tally(self, rows: Rows, batch: pa.RecordBatch) -> dict[Key, Counted]:
        if not self.keys:
            return {(): rows.tally(self.form)}
        return {key: rows.tally(self.form, here) for key, here in self._split(batch)}

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, Flags]]:
        """Each combination of keys, and its rows."""
        codes = np.zeros(batch.num_rows, dtype=np.int64)
        values: list[Key] = [()]
        for name in self.keys:
            here, labels = _code(batch.column(name))
            codes = codes * len(labels) + here
            values = [(*value, label) for value in values for label in labels]
        for code in np.unique(codes).tolist():
            yield values[code], codes == code

    def _count_repeated(self, batch: pa.RecordBatch) -> dict[Key, Counted]:
        """Of rows with one id and one state the first by its numbers is counted; engines order them alike."""
        rows = self._reader.read(batch)
        counted = np.flatnonzero(rows.states == COUNTED)
        some = batch.take(counted)
        ids, _ = _code(some.column(ID))
        order = np.lexsort([*self._rank(some)[::-1], ids])
        again = np.concatenate([[False], ids[order][1:] == ids[order][:-1]]) if len(ids) else order
        rows.states[counted[order[again]]] = REPEATED
        return self._tally(rows, batch)

    def _rank(self, batch: pa.RecordBatch) -> list[Array]:
        """What sound rows are ordered by: numbers by column, then what they are counted by."""
        ranks: list[Array] = []
        for column in (one for columns in self.form.columns for one in columns):
            here = find_valid(batch.column(column.name))
            ranks.append(~here)
            numbers = np.zeros((batch.num_rows, column.length or 1), dtype=np.int64)
            held = batch.column(column.name).drop_null()
            flat = held if column.length is None else held.flatten()
            numbers[here] = np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, numbers.shape[1])
            ranks += list(numbers.T)
        of_group = [] if self.form.group is None else [self.form.group[0]]
        for name in dict.fromkeys((*self.keys, *of_group)):
            codes, labels = _code(batch.column(name))
            digests = list(map(_digest, labels))
            places = {digest: i for i, digest in enumerate(sorted(digests))}
            ranks.append(np.array([places[one] for one in digests])[codes])
        return ranks


def _code(array: pa.Array) -> tuple[Integers, list[Any]]:
    """The values of a column, none of them too, and for each row which of them it has."""
    import pyarrow as pa

    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    coded = plain.dictionary_encode(null_encoding="encode")
    return coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()


def _rows_at_once(columns: int) -> int:
    """Many rows of few columns, so that what a block costs by itself is little."""
    return max(ROWS, min(4 * ROWS, 32 * ROWS // (columns + 1)))


def _digest(value: object) -> str:
    """What orders values alike in every engine, whatever its collation; no value comes last."""
    return "~" if value is None else md5(str(value).encode(), usedforsecurity=False).hexdigest()


def open_files(
    form: TableForm, paths: Sequence[Path], keys: tuple[str, ...] = (), number: int | None = None
) -> FilesCount:
    """Count these files, whose rows or names of folders must have all columns of the table form."""
    import pyarrow as pa
    from pyarrow import dataset as ds

    try:
        files = ds.dataset([str(path) for path in paths], format="parquet", partitioning="hive")
        opened = [_open_fragment(fragment) for fragment in files.get_fragments()]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise InvalidReport(f"these are not files of reports, or one is damaged: {problem}") from None
    theirs = [one.plan not in (None, form.plan_id) and PLAN in form.more_columns for one in opened]
    mine = [one for one, other in zip(opened, theirs, strict=True) if not other]
    skipped = sum(one.rows for one, other in zip(opened, theirs, strict=True) if other)
    for one in mine:
        check_columns(form, one.kinds, keys)
    extra = form.more_columns & {name for one in mine for name in one.kinds}
    for one in mine:
        for name in sorted(extra - set(one.kinds)):
            raise InvalidReport(
                f"{one.path} has no column {name!r}, and other files have; count files that are alike"
            )
    pieces = tuple(piece for one in mine for piece in one.list_pieces())
    return FilesCount(form, pieces, extra, keys, number, skipped)


@final
@dataclass(frozen=True)
class _File:
    """A file that is opened."""

    path: str
    metadata: parquet.FileMetaData
    kinds: Mapping[str, str]
    """What each column holds, also those that folders name."""
    folders: Mapping[str, Any]
    plan: str | None
    """The plan of all of its rows, if it says so in its header or its folder."""

    @property
    def rows(self) -> int:
        return int(self.metadata.num_rows)

    def list_pieces(self) -> Iterator[Piece]:
        """Its groups of rows."""
        for group in range(self.metadata.num_row_groups):
            yield Piece(self.path, self.metadata, group, self.folders)


def _open_fragment(fragment: Any) -> _File:
    """What a file says of itself; its plan stands in its header, if nowhere else."""
    from pyarrow import dataset as ds

    schema = fragment.physical_schema
    folders = dict(ds.get_partition_keys(fragment.partition_expression))
    fragment.ensure_complete_metadata()
    header = (schema.metadata or {}).get(PLAN_KEY)
    if PLAN not in schema.names and PLAN not in folders and header is not None:
        folders[PLAN] = header.decode("ascii", "replace")
    kinds = {name: _name_kind(schema.field(name).type) for name in schema.names}
    named = {name: "integer" if isinstance(value, int) else "other" for name, value in folders.items()}
    plan = folders.get(PLAN)
    return _File(
        fragment.path, fragment.metadata, kinds | named, folders, None if plan is None else str(plan)
    )


def open_frame(
    form: TableForm, frame: Any, keys: tuple[str, ...] = (), number: int | None = None
) -> FilesCount:
    """Count a dataframe: of pandas, of pyarrow, or of Polars, also a lazy one."""
    import narwhals as nw

    given = nw.from_native(frame)
    if isinstance(given, nw.LazyFrame) and hasattr(frame, "collect_batches"):
        schema = given.head(0).collect("pyarrow").to_arrow().schema

        def batches() -> Iterator[pa.RecordBatch]:
            for some in frame.collect_batches():
                yield from some.to_arrow().to_batches()

        one = Frame(batches, 0)
    else:
        table = (given.collect("pyarrow") if isinstance(given, nw.LazyFrame) else given).to_arrow()
        table = _read_integers(table, form)
        schema, one = table.schema, Frame(lambda: iter(table.to_batches()), table.num_rows)
    check_columns(form, {name: _name_kind(schema.field(name).type) for name in schema.names}, keys)
    return FilesCount(form, (one,), form.more_columns & set(schema.names), keys, number)


def _read_integers(table: pa.Table, form: TableForm) -> pa.Table:
    """The same table with integers where pandas, for want of a null, has floats."""
    import pyarrow as pa

    for column in (one for columns in form.columns for one in columns):
        at = table.schema.get_field_index(column.name)
        # a float above 2^53 may have been another integer
        if at < 0 or column.limit > 1 << 53 or not pa.types.is_floating(table.schema.field(at).type):
            continue
        floats = table.column(at).to_numpy(zero_copy_only=False)
        whole = np.isfinite(floats) & (np.floor(floats) == floats) & (np.abs(floats) < 1 << 53)
        numbers = np.where(whole, floats, -1).astype(np.int64)  # what is no number of a report is refused
        table = table.set_column(at, column.name, pa.array(numbers, mask=np.isnan(floats)))
    return table


def _name_kind(kind: pa.DataType) -> str:
    """What a column holds: integers, lists of them, or something else."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return "list" if pa.types.is_integer(kind.value_type) else "other"
    return "other"


def _merge(found: dict[Key, Counted], more: Mapping[Key, Counted]) -> None:
    for key, one in more.items():
        found[key] = found[key] + one if key in found else one
